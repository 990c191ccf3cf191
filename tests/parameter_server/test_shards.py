"""Plans of shards, what servers carry by their number, the tree, and copies that keep in step."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Network, RankError, simulate
from course_lib.collectives import all_to_all, ring_all_reduce_cost
from course_lib.parameter_server import (
    SHARD_RULES,
    Aggregator,
    CommMailbox,
    Message,
    Server,
    Sgd,
    Worker,
    copies_bytes,
    put,
    run_actor,
    serve_a_copy,
    shard_length,
    shard_plan,
    synchronous,
    take,
    work_for_a_copy,
)
from course_lib.parameter_server.actor import HEADER_BYTES
from course_lib.parameter_server.experiments import Topology, machine_bytes, measure_load, server_bytes
from course_lib.parameter_server.several_servers import own_workers
from course_lib.parameter_server.shards import Piece

LENGTHS = st.lists(st.integers(0, 50), min_size=1, max_size=12)


def test_three_plans_for_four_tensors_are_as_drawn() -> None:
    # tensors:  0 ------- 90 - 100 ---- 160 --- 200
    assert shard_plan([90, 10, 60, 40], 2, "even") == ((Piece(0, 100),), (Piece(100, 200),))
    assert shard_plan([90, 10, 60, 40], 2, "tensor") == (
        (Piece(0, 90), Piece(100, 160)),
        (Piece(90, 100), Piece(160, 200)),
    )
    assert shard_plan([90, 10, 60, 40], 2, "size") == (
        (Piece(0, 90), Piece(90, 100)),
        (Piece(100, 160), Piece(160, 200)),
    )


@pytest.mark.parametrize("by", SHARD_RULES)
@given(lengths=LENGTHS, servers=st.integers(1, 6))
@settings(max_examples=40)
def test_every_number_lies_on_exactly_one_server(by: str, lengths: list[int], servers: int) -> None:
    plan = shard_plan(lengths, servers, by)
    assert len(plan) == servers
    held = [index for shard in plan for piece in shard for index in range(piece.start, piece.stop)]
    assert sorted(held) == list(range(sum(lengths)))


@pytest.mark.parametrize("by", SHARD_RULES)
@given(lengths=LENGTHS, servers=st.integers(1, 6))
@settings(max_examples=40)
def test_what_was_taken_apart_is_put_together_again(by: str, lengths: list[int], servers: int) -> None:
    row = torch.arange(sum(lengths))
    again = torch.full_like(row, -1)
    for shard in shard_plan(lengths, servers, by):
        numbers = take(row, shard)
        assert numbers.numel() == shard_length(shard)
        put(again, shard, numbers)
    assert torch.equal(again, row)


@given(lengths=LENGTHS, servers=st.integers(1, 6))
@settings(max_examples=60)
def test_each_rule_keeps_its_promise(lengths: list[int], servers: int) -> None:
    even = [shard_length(shard) for shard in shard_plan(lengths, servers, "even")]
    assert max(even) - min(even) <= 1
    sized = [shard_length(shard) for shard in shard_plan(lengths, servers, "size")]
    # Whoever got the last tensor of the fullest shard had least before: Graham's list scheduling.
    assert max(sized) <= sum(lengths) / servers + max(lengths)
    starts = {sum(lengths[:place]) for place in range(len(lengths) + 1)}
    for by in ("tensor", "size"):
        assert {edge for shard in shard_plan(lengths, servers, by) for piece in shard for edge in piece} <= starts


@pytest.mark.parametrize(("servers", "by"), [(0, "even"), (2, "color")])
def test_a_plan_that_cannot_be_is_refused(servers: int, by: str) -> None:
    with pytest.raises(ValueError, match="at least 1 server and a rule"):
        shard_plan([1, 2], servers, by)


def test_a_shard_takes_as_many_numbers_as_it_holds() -> None:
    with pytest.raises(ValueError, match="a shard of 3 numbers cannot take 1"):
        put(torch.zeros(3), (Piece(0, 3),), torch.ones(1))
    with pytest.raises(ValueError, match="length 1 must be at least 0, got -2"):
        shard_plan([3, -2], 2)


@pytest.mark.parametrize(("workers", "servers"), [(4, 1), (4, 2), (4, 4), (6, 3), (1, 1), (2, 4)])
def test_a_server_carries_its_shard_from_and_to_every_worker(workers: int, servers: int) -> None:
    updates, numbers = 3, 1200
    load = measure_load(Topology(workers, servers), parameters=numbers, updates=updates)
    shard_bytes = server_bytes(4 * numbers, workers=workers, servers=servers)
    # Each worker: one push and one pull for an update, one pull more at the beginning, and a goodbye to each server.
    headers_in = (2 * updates + 2) * workers * HEADER_BYTES
    headers_out = (updates + 1) * workers * HEADER_BYTES
    for rank in range(servers):
        assert load.bytes_in[rank] * updates == pytest.approx(updates * shard_bytes + headers_in)
        assert load.bytes_out[rank] * updates == pytest.approx(updates * shard_bytes + headers_out)
    for rank in range(servers, servers + workers):
        payload = load.bytes_in[rank] - (updates + 1) * servers * HEADER_BYTES / updates
        assert payload == pytest.approx(4 * numbers)  # all of it, however many servers there are


def test_with_as_many_servers_as_workers_it_is_an_all_to_all() -> None:
    def twice_all_to_all(comm, numbers):
        for _ in range(2):  # gradients to their servers, parameters back
            rows = list(torch.zeros(4, numbers // 4))
            all_to_all(comm, [torch.empty_like(row) for row in rows], rows)

    numbers = 400_000
    between = machine_bytes(measure_load(Topology(workers=4, servers=4), parameters=numbers))
    wanted = simulate(twice_all_to_all, 4, (numbers,)).trace.link_bytes
    for src in range(4):
        for dst in range(4):
            assert between[src][dst] == pytest.approx(wanted[src][dst], rel=1e-3)
    ring = ring_all_reduce_cost(4 * numbers, world_size=4).bytes_sent[0]
    assert sum(between[0]) == pytest.approx(ring, rel=1e-3)  # as many bytes as the ring, in fewer and larger messages


def test_more_servers_make_an_update_faster_until_the_workers_are_the_limit() -> None:
    seconds = [measure_load(Topology(8, servers)).seconds_per_update for servers in (1, 2, 4, 8)]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] / seconds[-1] > 4
    assert measure_load(Topology(8, 16)).seconds_per_update > 0.9 * seconds[-1]


def test_a_tree_takes_the_load_off_the_root() -> None:
    flat, tree = (measure_load(Topology(12, aggregators=aggregators)) for aggregators in (0, 3))
    assert flat.busiest_server_bytes / tree.busiest_server_bytes == pytest.approx(4, rel=1e-3)
    assert max(tree.bytes_in[1:4]) == pytest.approx(5 * 4_000_000, rel=1e-3)  # four gradients, and the parameters


@pytest.mark.parametrize("topology", [(5, 2, 2), (4, 2, 4)])
def test_a_tree_that_does_not_come_out_even_is_refused(topology: tuple) -> None:
    workers, servers, aggregators = topology
    with pytest.raises(ValueError, match="aggregators need one server"):
        Topology(workers, servers, aggregators)


def test_a_load_of_nothing_is_refused() -> None:
    for topology in ({"workers": 0}, {"workers": 2, "servers": 0}):
        with pytest.raises(ValueError, match="a topology needs a worker and a server, got Topology"):
            Topology(**topology)
    with pytest.raises(ValueError, match="updates must be at least 1, got 0"):
        measure_load(Topology(2), updates=0)


def test_an_aggregator_refuses_messages_that_are_not_for_it() -> None:
    with pytest.raises(ValueError, match="aggregator 1 cannot handle a message of kind 'portion'"):
        Aggregator(1, parent=0, children=[2]).handle(Message("portion", 0))


def tree_program(comm, levels, updates):
    """Rank 0 is the server; `levels` says how many children each actor of a level has; workers are the last level."""
    parents, first, level = {}, 1, [0]
    for children in levels:
        below = range(first, first + children * len(level))
        parents |= {rank: level[place // children] for place, rank in enumerate(below)}
        first, level = below.stop, list(below)
    mine = [rank for rank, parent in parents.items() if parent == comm.rank]
    mailbox = CommMailbox(comm)
    if comm.rank == 0:
        server = Server(0, torch.zeros(3), synchronous(len(level)), mine, Sgd(-1.0), updates=updates)
        run_actor(mailbox, server)
        return server.parameters
    if mine:
        return run_actor(mailbox, Aggregator(comm.rank, parents[comm.rank], mine))

    def gradient(row, clock):
        mailbox.compute(comm.rank % 3 + 1.0)
        return row + comm.rank * clock

    run_actor(mailbox, Worker(comm.rank, {parents[comm.rank]: (Piece(0, 3),)}, gradient))
    return level


@pytest.mark.parametrize("levels", [(4,), (2, 2), (1, 4), (2, 1, 2), (4, 1)])
def test_a_tree_of_servers_makes_the_updates_that_one_server_makes(levels: tuple[int, ...]) -> None:
    world_size, width = 1, 1
    for children in levels:
        width *= children
        world_size += width
    results = simulate(tree_program, world_size, (levels, 4), network=Network(latency_s=0.1), ranks="greenlets").results
    workers = results[-1]
    wanted = 0.0
    for clock in range(1, 5):
        wanted += wanted + sum(workers) * clock / len(workers)  # exact: quarters of whole numbers
    assert results[0].tolist() == [wanted] * 3


def copies_program(comm, servers, updates):
    parameters = torch.zeros(5)
    if comm.rank < servers:
        serve_a_copy(comm, servers, parameters, updates=updates, rate=-1.0)
    else:

        def gradient(row, number):
            comm.compute(0.1 * comm.rank)
            return row + comm.rank * number

        work_for_a_copy(comm, servers, parameters, updates=updates, gradient=gradient)
    return parameters


@pytest.mark.parametrize(("servers", "workers"), [(1, 4), (2, 4), (4, 4), (3, 4), (2, 8)])
def test_copies_are_equal_and_take_the_step_of_all_workers(servers: int, workers: int) -> None:
    report = simulate(copies_program, servers + workers, (servers, 3), ranks="greenlets")
    mean, wanted = sum(range(servers, servers + workers)) / workers, 0.0
    for number in (1, 2, 3):
        wanted += wanted + mean * number
    assert all(torch.equal(row, torch.full((5,), wanted)) for row in report.results)


@pytest.mark.parametrize(("servers", "workers"), [(1, 4), (2, 4), (4, 8)])
def test_copies_cost_what_the_formula_says(servers: int, workers: int) -> None:
    def program(comm, servers, numbers):
        row = torch.zeros(numbers)
        if comm.rank < servers:
            serve_a_copy(comm, servers, row, updates=1, rate=1.0)
        else:
            work_for_a_copy(comm, servers, row, updates=1, gradient=lambda row, number: row)

    trace = simulate(program, servers + workers, (servers, 800), ranks="greenlets").trace
    wanted = copies_bytes(3200, workers=workers, servers=servers)
    assert trace.bytes_received[:servers] == trace.bytes_sent[:servers] == [wanted] * servers


def test_copies_without_a_worker_are_refused() -> None:
    with pytest.raises(RankError, match="2 servers of 2 ranks leave no rank for a worker"):
        simulate(copies_program, 2, (2, 1))


@given(servers=st.integers(1, 5), workers=st.integers(1, 12))
def test_every_worker_has_one_server(servers: int, workers: int) -> None:
    served = [rank for server in range(servers) for rank in own_workers(server, servers, workers)]
    assert served == list(range(servers, servers + workers))
