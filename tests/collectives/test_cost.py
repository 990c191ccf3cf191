"""The formulas count what the trace counts, and say the seconds that the simulator says."""

import math
from functools import partial

import numpy as np
import pytest
import torch

from course_lib import Link, Network, collectives, simulate
from course_lib.collectives import (
    ALL_REDUCE_COSTS,
    ALL_REDUCE_SECONDS,
    ALL_REDUCES,
    all_gather,
    all_gather_cost,
    all_to_all,
    all_to_all_cost,
    barrier,
    barrier_cost,
    broadcast,
    broadcast_cost,
    chunk_bytes,
    direct_all_reduce_cost,
    double_tree_all_reduce,
    double_tree_all_reduce_seconds,
    gather,
    gather_cost,
    hierarchical_all_reduce_cost,
    pipelined_ring_all_reduce_cost,
    reduce,
    reduce_cost,
    reduce_scatter,
    reduce_scatter_cost,
    ring_all_reduce,
    ring_all_reduce_cost,
    scatter,
    scatter_cost,
    winner,
)

WORLD_SIZES = range(1, 10)
LENGTHS = (0, 1, 3, 7, 24, 1000)
DIVISIBLE = 20160  # by 1 to 10, by 12, 14, 16 and 18
EVERY_WORLD_SIZE = range(1, 18)
BY_EVERY_WORLD_SIZE = 2 * math.lcm(*EVERY_WORLD_SIZE)  # two segments a chunk
LINKS = Network(latency_s=3e-6, bytes_per_s=1e9)
LINKS_AND_ADDING = Network(latency_s=3e-6, bytes_per_s=1e9, reduce_s_per_byte=3e-10)
OPTIONS = {
    **{name: (name, {}) for name in ALL_REDUCES},
    "hierarchical, nodes of 3": ("hierarchical", {"ranks_per_node": 3}),
    "pipelined ring, many segments": ("pipelined ring", {"segment_bytes": 64}),
    **{f"pipelined ring, {n} ahead": ("pipelined ring", {"segment_bytes": 64, "look_ahead": n}) for n in (2, 3, 99)},
    "double tree, many segments": ("double tree", {"segment_bytes": 64}),
}
EXACT = [
    "direct",
    "central",
    "ring",
    "tree",
    "recursive doubling",
    "halving-doubling",
    "hierarchical",
    "pipelined ring",
]
OF_WHOLE_TENSORS = ["direct", "central", "tree", "recursive doubling"]  # exact for every length


def split_over(comm, length: int) -> list[torch.Tensor]:
    return list(torch.empty(length, device="meta").tensor_split(comm.world_size))


def run_scatter(comm, length, root):
    scatter(comm, split_over(comm, length)[comm.rank], split_over(comm, length) if comm.rank == root else None, root)


def run_gather(comm, length, root):
    gather(comm, split_over(comm, length)[comm.rank], split_over(comm, length) if comm.rank == root else None, root)


def run_all_gather(comm, length, _):
    all_gather(comm, split_over(comm, length), split_over(comm, length)[comm.rank])


def run_reduce_scatter(comm, length, _):
    reduce_scatter(comm, split_over(comm, length)[comm.rank], split_over(comm, length))


def run_all_to_all(comm, length, _):
    mine = split_over(comm, length)[comm.rank]
    all_to_all(comm, [torch.empty_like(mine) for _ in range(comm.world_size)], split_over(comm, length))


OTHERS = {
    "broadcast": (lambda comm, length, root: broadcast(comm, torch.empty(length, device="meta"), root), broadcast_cost),
    "reduce": (lambda comm, length, root: reduce(comm, torch.empty(length, device="meta"), root), reduce_cost),
    "scatter": (run_scatter, scatter_cost),
    "gather": (run_gather, gather_cost),
    "all_gather": (run_all_gather, all_gather_cost),
    "reduce_scatter": (run_reduce_scatter, reduce_scatter_cost),
    "all_to_all": (run_all_to_all, all_to_all_cost),
}
ROOT_NAMES = {"broadcast": "src", "scatter": "src", "reduce": "dst", "gather": "dst"}


def all_reduce(comm, name: str, length: int, options: dict) -> None:
    ALL_REDUCES[name](comm, torch.empty(length, device="meta"), **options)


def simulated(name: str, world_size: int, length: int, network: Network, **options):
    return simulate(all_reduce, world_size, (name, length, options), network=network)


def assert_same_counts(cost, trace) -> None:
    assert cost.steps == trace.steps
    assert cost.messages == len(trace.messages)
    assert list(cost.bytes_sent) == trace.bytes_sent
    assert cost.total_bytes == trace.total_bytes


def test_the_cost_of_a_ring_of_four_with_ten_elements_counted_by_hand() -> None:
    # Chunks of 3, 3, 2, 2 elements. First circle: all chunks but the rank's own; second: all but the right neighbor's.
    cost = ring_all_reduce_cost(10 * 4, world_size=4)
    first, second = (7, 7, 8, 8), (7, 8, 8, 7)
    assert cost.bytes_sent == tuple(4 * (a + b) for a, b in zip(first, second, strict=True))
    assert (cost.steps, cost.messages, cost.total_bytes) == (6, 24, 240)


@pytest.mark.parametrize("world_size", WORLD_SIZES)
@pytest.mark.parametrize("case", OPTIONS)
def test_an_all_reduce_costs_what_its_formula_counts(case: str, world_size: int) -> None:
    name, options = OPTIONS[case]
    for length in LENGTHS:
        cost = ALL_REDUCE_COSTS[name](4 * length, world_size=world_size, **options)
        assert_same_counts(cost, simulated(name, world_size, length, LINKS, **options).trace)


@pytest.mark.parametrize("world_size", [16, 17, 31, 64])
@pytest.mark.parametrize("name", ALL_REDUCES)
def test_counts_hold_for_more_ranks_too(name: str, world_size: int) -> None:
    cost = ALL_REDUCE_COSTS[name](4 * 1000, world_size=world_size)
    assert_same_counts(cost, simulated(name, world_size, 1000, LINKS).trace)


@pytest.mark.parametrize("world_size", WORLD_SIZES)
@pytest.mark.parametrize("name", OTHERS)
def test_a_collective_costs_what_its_formula_counts(name: str, world_size: int) -> None:
    program, cost_of = OTHERS[name]
    for root in {0, world_size // 2}:
        options = {ROOT_NAMES[name]: root} if name in ROOT_NAMES else {}
        for length in LENGTHS:
            cost = cost_of(4 * length, world_size=world_size, **options)
            assert_same_counts(cost, simulate(program, world_size, (length, root), network=LINKS).trace)


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_a_barrier_costs_what_its_formula_counts(world_size: int) -> None:
    report, cost = simulate(barrier, world_size, network=LINKS), barrier_cost(world_size=world_size)
    assert_same_counts(cost, report.trace)
    assert report.seconds == pytest.approx(cost.seconds(LINKS), rel=1e-9)


def test_elements_of_another_size_are_cut_elsewhere() -> None:
    assert chunk_bytes(24, 4, element_bytes=8) == [8, 8, 8, 0]
    program = partial(ALL_REDUCES["ring"], tensor=torch.empty(3, dtype=torch.float64, device="meta"))
    cost = ring_all_reduce_cost(24, world_size=4, element_bytes=8)
    assert list(cost.bytes_sent) == simulate(program, 4).trace.bytes_sent


@pytest.mark.parametrize("network", [LINKS, LINKS_AND_ADDING], ids=["links", "links and adding"])
@pytest.mark.parametrize("name", EXACT)
def test_seconds_of_the_formula_are_those_of_the_simulator_for_every_number_of_ranks(name, network) -> None:
    for world_size in EVERY_WORLD_SIZE:
        for length in (BY_EVERY_WORLD_SIZE, *((0, 97) if name in OF_WHOLE_TENSORS else ())):
            seconds = ALL_REDUCE_COSTS[name](4 * length, world_size=world_size).seconds(network)
            assert simulated(name, world_size, length, network).seconds == pytest.approx(seconds, rel=1e-9)


FORMULAS = {name: getattr(collectives, name) for name in vars(collectives) if name.endswith("_seconds")}


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_says_for_which_numbers_of_ranks_it_is_exact(name) -> None:
    said = " ".join((FORMULAS[name].__doc__ or "").split())
    assert ("Exact for every p" in said) is (name != "double_tree_all_reduce_seconds")
    assert ("An estimate" in said) is (name == "double_tree_all_reduce_seconds")


@pytest.mark.parametrize("name", OTHERS)
def test_seconds_of_the_other_collectives_are_those_of_the_simulator_for_every_number_of_ranks(name: str) -> None:
    program, cost_of = OTHERS[name]
    for world_size in EVERY_WORLD_SIZE:
        report = simulate(program, world_size, (BY_EVERY_WORLD_SIZE, 0), network=LINKS_AND_ADDING)
        seconds = cost_of(4 * BY_EVERY_WORLD_SIZE, world_size=world_size).seconds(LINKS_AND_ADDING)
        assert report.seconds == pytest.approx(seconds, rel=1e-9)


@pytest.mark.parametrize("world_size", [*WORLD_SIZES, 13, 17])
@pytest.mark.parametrize("name", ["ring", "halving-doubling", "hierarchical", "pipelined ring"])
def test_uneven_chunks_cost_at_most_one_element_more_in_each_message(name: str, world_size: int) -> None:
    for length in LENGTHS:
        cost = ALL_REDUCE_COSTS[name](4 * length, world_size=world_size)
        report = simulated(name, world_size, length, LINKS_AND_ADDING)
        formula_s, in_a_row = cost.seconds(LINKS_AND_ADDING), max(report.trace.messages_sent)
        one_more_s = in_a_row * 4 * (1 / LINKS_AND_ADDING.bytes_per_s + LINKS_AND_ADDING.reduce_s_per_byte)
        assert formula_s * (1 - 1e-9) <= report.seconds <= (formula_s + one_more_s) * (1 + 1e-9)


def test_each_with_each_takes_a_turn_for_each_other_rank_if_everybody_begins_with_its_neighbor() -> None:
    def in_order_of_rank(comm):
        others = [rank for rank in range(comm.world_size) if rank != comm.rank]
        tensor = torch.empty(1000, device="meta")
        works = [work for rank in others for work in (comm.irecv(tensor, rank), comm.isend(tensor, rank))]
        for work in works:
            work.wait()

    turn_s = LINKS.seconds(0, 1, 4000)
    for world_size in EVERY_WORLD_SIZE:
        turns = round(simulated("direct", world_size, 1000, LINKS).seconds / turn_s, 6)
        assert turns == world_size - 1
        assert round(simulate(in_order_of_rank, world_size, network=LINKS).seconds / turn_s, 6) >= turns
    assert round(simulate(in_order_of_rank, 5, network=LINKS).seconds / turn_s, 6) == 7


@pytest.mark.parametrize("world_size", [4, 5, 8, 9, 16, 24, 32, 33])
@pytest.mark.parametrize("count", [1, 4, 16, 64])
def test_the_double_tree_takes_about_as_long_as_estimated(world_size: int, count: int) -> None:
    options = {"segment_bytes": 4000}
    report = simulated("double tree", world_size, 2000 * count, LINKS, **options)
    estimate_s = double_tree_all_reduce_seconds(8000 * count, world_size, LINKS, **options)
    assert 0.9 * report.seconds <= estimate_s <= 1.58 * report.seconds


@pytest.mark.parametrize("world_size", [2, 3])
def test_the_double_tree_of_few_ranks_takes_less_than_estimated(world_size: int) -> None:
    estimate_s = double_tree_all_reduce_seconds(8000, world_size, LINKS)
    assert 0.3 * estimate_s <= simulated("double tree", world_size, 2000, LINKS).seconds <= estimate_s


def nodes_of(ranks_per_node: int) -> Network:
    return Network(1e-6, 1e10, ranks_per_node, Link(1e-5, 1e9))


@pytest.mark.parametrize(("ranks_per_node", "world_size"), [(2, 8), (4, 8), (4, 16), (8, 8), (16, 8), (1, 8)])
@pytest.mark.parametrize("name", EXACT[1:-1])
def test_on_nodes_the_formula_is_exact_for_powers_of_two(name: str, ranks_per_node: int, world_size: int) -> None:
    network, options = nodes_of(ranks_per_node), {}
    if name == "hierarchical":
        options = {"ranks_per_node": ranks_per_node}
    seconds = ALL_REDUCE_COSTS[name](4 * DIVISIBLE, world_size=world_size, **options).seconds(network)
    assert simulated(name, world_size, DIVISIBLE, network).seconds == pytest.approx(seconds, rel=1e-9)


@pytest.mark.parametrize("name", ["halving-doubling", "recursive doubling"])
def test_on_nodes_where_adding_takes_time_the_formula_is_a_little_high(name: str) -> None:
    network = Network(1e-5, 1e9, 2, Link(1e-4, 1e8), reduce_s_per_byte=1e-9)
    estimate_s = ALL_REDUCE_COSTS[name](4 * DIVISIBLE, world_size=8).seconds(network)
    assert 1 < estimate_s / simulated(name, 8, DIVISIBLE, network).seconds < 1.04


@pytest.mark.parametrize("ranks_per_node", [1, 2, 3, 4, 8])
def test_on_nodes_the_port_of_a_node_bounds_the_direct_exchange(ranks_per_node: int) -> None:
    network = nodes_of(ranks_per_node)
    for world_size in EVERY_WORLD_SIZE:
        per_node = min(ranks_per_node, world_size)
        min_s = per_node * (world_size - per_node) * network.outside.seconds(4000)
        formula_s = direct_all_reduce_cost(4000, world_size=world_size).seconds(network)
        seconds = simulated("direct", world_size, 1000, network).seconds
        assert min_s * (1 - 1e-9) <= seconds <= formula_s * (1 + 1e-9) <= 1.1 * seconds + 1e-12


@pytest.mark.parametrize("ranks_per_node", [2, 3, 4, 8])
@pytest.mark.parametrize("name", ["recursive doubling", "halving-doubling"])
def test_on_nodes_of_any_size_doubling_takes_no_longer_than_its_formula(name: str, ranks_per_node: int) -> None:
    network, exact = nodes_of(ranks_per_node), ranks_per_node != 3
    for world_size in EVERY_WORLD_SIZE:
        seconds = ALL_REDUCE_COSTS[name](4 * BY_EVERY_WORLD_SIZE, world_size=world_size).seconds(network)
        report = simulated(name, world_size, BY_EVERY_WORLD_SIZE, network)
        assert report.seconds <= seconds * (1 + 1e-9)
        assert not exact or report.seconds == pytest.approx(seconds, rel=1e-9)


def test_nodes_of_two_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="network has 4 ranks per node, ranks_per_node is 2"):
        hierarchical_all_reduce_cost(400, world_size=8, ranks_per_node=2).seconds(nodes_of(4))


def test_textbook_formulas_as_printed() -> None:
    # α = 5 µs, β = 0.08 ns/byte, γ = 0.1 ns/byte, p = 64, n = 100 MB.
    alpha, beta, gamma, p, n = 5e-6, 8e-11, 1e-10, 64, 100e6
    network = Network(alpha, 1 / beta, reduce_s_per_byte=gamma)
    printed = {
        "direct": (p - 1) * (alpha + n * beta + n * gamma),
        "central": 2 * (p - 1) * (alpha + n * beta) + (p - 1) * n * gamma,
        "ring": 2 * (p - 1) * alpha + 2 * n * (p - 1) / p * beta + n * (p - 1) / p * gamma,
        "tree": 2 * 6 * (alpha + n * beta) + 6 * n * gamma,
        "recursive doubling": 6 * (alpha + n * beta + n * gamma),
        "halving-doubling": 2 * 6 * alpha + 2 * n * (p - 1) / p * beta + n * (p - 1) / p * gamma,
    }
    for name, seconds in printed.items():
        assert ALL_REDUCE_SECONDS[name](n, p, network) == pytest.approx(seconds, rel=1e-12)


def test_no_all_reduce_sends_less_than_the_ring() -> None:
    for world_size in WORLD_SIZES:
        least = 2 * 4 * DIVISIBLE * (world_size - 1) / world_size
        for cost_of in ALL_REDUCE_COSTS.values():
            assert max(cost_of(4 * DIVISIBLE, world_size=world_size).bytes_sent) >= least


@pytest.mark.parametrize("look_ahead", [2, 3, 4, 8])
@pytest.mark.parametrize(
    "reduce_s_per_byte", [0, 1e-9, 2e-9, 5e-9]
)  # a byte is sent in 1e-9 s, with latency in 1.75e-9
def test_a_ring_in_segments_takes_what_its_formula_says_where_adding_is_slow_too(
    reduce_s_per_byte: float, look_ahead: int
) -> None:
    network = Network(latency_s=3e-6, bytes_per_s=1e9, reduce_s_per_byte=reduce_s_per_byte)
    options = {"segment_bytes": 4000, "look_ahead": look_ahead}
    for world_size, count in ((1, 4), (2, 2), (2, 8), (3, 4), (5, 3), (8, 8)):
        length = 1000 * world_size * count
        cost = pipelined_ring_all_reduce_cost(4 * length, world_size=world_size, **options)
        report = simulated("pipelined ring", world_size, length, network, **options)
        assert report.seconds == pytest.approx(cost.seconds(network), rel=1e-9)


def test_segments_hide_the_additions() -> None:
    plain = ring_all_reduce_cost(4 * DIVISIBLE, world_size=4)
    segments = pipelined_ring_all_reduce_cost(4 * DIVISIBLE, world_size=4)
    slow_adding = Network(bytes_per_s=1e9, reduce_s_per_byte=1e-9)
    assert plain.seconds(slow_adding) == pytest.approx(1.5 * segments.seconds(slow_adding))


@pytest.mark.parametrize("network", [LINKS_AND_ADDING, nodes_of(8)], ids=["flat", "nodes"])
def test_the_map_of_winners_is_the_winner_at_each_of_its_points(network: Network) -> None:
    sizes, worlds = np.geomspace(1e2, 1e9, 15), np.unique(np.geomspace(1, 1024, 12).astype(int))[:, None]
    names = winner(sizes, worlds, network)
    assert names.shape == (len(worlds), len(sizes))
    for (row, column), name in np.ndenumerate(names):
        n, p = float(sizes[column]), int(worlds[row, 0])
        assert name == winner(n, p, network)
        seconds = {other: float(formula(n, p, network)) for other, formula in ALL_REDUCE_SECONDS.items()}
        assert seconds[name] == min(seconds.values())


def test_latency_favors_few_steps_and_bandwidth_small_pieces() -> None:
    links = Network(latency_s=5e-6, bytes_per_s=12.5e9)
    classics = ["ring", "tree", "recursive doubling", "halving-doubling"]
    assert winner(1_000, 64, links, classics) == "recursive doubling"
    assert winner(100_000_000, 64, links, classics) == "halving-doubling"
    assert winner(100_000_000, 65, links, classics) == "ring"  # one rank too many for halving
    assert winner(100_000_000, 1, links, classics) == "ring"  # all take no time: the first one named


def test_on_nodes_one_speaker_for_each_saves_latency() -> None:
    assert winner(10_000, 64, nodes_of(8), ["ring", "halving-doubling", "recursive doubling", "hierarchical"]) == (
        "hierarchical"
    )
    assert winner(100_000_000, 64, nodes_of(8), ["ring", "halving-doubling", "hierarchical"]) == "halving-doubling"


def test_the_double_tree_beats_the_ring_where_ranks_are_many_and_messages_medium() -> None:
    links = Network(latency_s=5e-6, bytes_per_s=12.5e9)
    program = partial(double_tree_all_reduce, segment_bytes=1 << 17)
    report = simulate(program, 128, (torch.empty(1 << 20, device="meta"),), network=links)
    assert report.seconds < ring_all_reduce_cost(4 << 20, world_size=128).seconds(links)


REFUSED = {
    "no rank": ({"world_size": 0}, "world_size must be at least 1, got 0"),
    "half an element": (
        {"world_size": 2, "element_bytes": 3},
        "message_bytes must be a multiple of element_bytes=3, got 400",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("name", ALL_REDUCES)
def test_impossible_costs_are_refused(name: str, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ALL_REDUCE_COSTS[name](400, **arguments)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2), (3, 5), (4, 1), (4, 8)])
def test_on_a_torus_each_dimension_in_turn_gives_the_sum_in_fewer_steps_and_no_more_bytes(rows, columns):
    def torus(comm, tensor):
        row, column = ([r for r in range(rows * columns) if same(r) == same(comm.rank)] for same in (by_row, by_column))
        parts = [part.clone() for part in tensor.chunk(columns)]
        mine = torch.empty_like(parts[0])
        reduce_scatter(comm.group(row), mine, parts)
        ring_all_reduce(comm.group(column), mine)
        all_gather(comm.group(row), parts, mine)
        return torch.cat(parts)

    by_row, by_column = (lambda rank: rank // columns), (lambda rank: rank % columns)
    tensor = torch.arange(float(rows * columns * 2))
    report = simulate(torus, rows * columns, args=(tensor,), network=Network(latency_s=1.0))
    flat = ring_all_reduce_cost(tensor.numel() * 4, world_size=rows * columns)
    assert all(torch.equal(result, tensor * rows * columns) for result in report.results)
    assert report.seconds == 2 * (rows - 1) + 2 * (columns - 1) <= flat.steps
    assert report.trace.bytes_sent == list(flat.bytes_sent)
