"""Some of the ranks as a communicator of their own: the whole contract, on every executor."""

import math
import sys

import cloudpickle
import pytest
import torch

from course_lib import DeadlockError, MismatchError, Network, RankError, UnmatchedError, run, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.comm.transport.communicator import code_of

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook

SLOW = Network(latency_s=1e-3)
EXECUTORS = {
    "greenlets": lambda program, world_size: simulate(program, world_size, network=SLOW, ranks="greenlets"),
    "threads": lambda program, world_size: simulate(program, world_size, network=SLOW, ranks="threads"),
    "processes": lambda program, world_size: run(program, world_size, timeout_s=30),
    "emulated": lambda program, world_size: run(program, world_size, network=SLOW, timeout_s=30),
}
EVERYWHERE = pytest.mark.parametrize("on", EXECUTORS.values(), ids=EXECUTORS)
SIMULATED = pytest.mark.parametrize("on", [EXECUTORS["greenlets"], EXECUTORS["threads"]], ids=["greenlets", "threads"])


def one(value: float = 0.0) -> torch.Tensor:
    return torch.tensor([float(value)])


def row_and_column(comm, width: int):
    """The two groups of a rank in a grid whose rows have `width` ranks."""
    row = comm.rank // width
    return (
        comm.group(range(row * width, (row + 1) * width)),
        comm.group(range(comm.rank % width, comm.world_size, width)),
    )


# Who is in it, and under which number.


@EVERYWHERE
def test_a_group_numbers_its_ranks_from_zero_in_the_order_given(on):
    def program(comm):
        if comm.rank not in (1, 3, 0):
            return None
        group = comm.group([3, 0, 1])
        return group.rank, group.world_size, group.ranks

    assert on(program, 4).results == [(1, 3, (3, 0, 1)), (2, 3, (3, 0, 1)), None, (0, 3, (3, 0, 1))]


@EVERYWHERE
def test_sums_along_the_rows_and_then_the_columns_of_a_grid_are_the_sum_of_all(on):
    def program(comm):
        row, column = row_and_column(comm, 2)
        tensor = torch.tensor([10**comm.rank])
        ring_all_reduce(row, tensor)
        in_row = tensor.item()
        ring_all_reduce(column, tensor)
        return in_row, tensor.item()

    assert on(program, 6).results == [(11, 111111)] * 2 + [(1100, 111111)] * 2 + [(110000, 111111)] * 2


@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
def test_a_group_of_all_ranks_does_what_the_program_does(world_size):
    def program(comm, grouped):
        comm = comm.group(range(comm.world_size)) if grouped else comm
        tensor = torch.arange(5) * 10**comm.rank
        ring_all_reduce(comm, tensor)
        comm.barrier()
        return tensor.tolist(), comm.now()

    alone, grouped = (simulate(program, world_size, (which,), network=SLOW) for which in (False, True))
    assert (alone.results, alone.trace.messages) == (grouped.results, grouped.trace.messages)


@EVERYWHERE
def test_a_group_of_a_group_is_the_group_of_the_same_ranks(on):
    def program(comm):
        if comm.rank == 0:
            return None
        odd = comm.group([3, 2, 1])
        if comm.rank == 2:
            return None
        inner = odd.group([0, 2])  # ranks 3 and 1
        if comm.rank == 3:
            inner.send(one(7), 1)
            return inner.ranks
        same, got = comm.group([3, 1]), one()
        return inner.ranks, same.recv(got, 0), float(got)

    assert on(program, 4).results == [None, ((3, 1), 0, 7.0), None, (3, 1)]


# Its messages meet no others.


@EVERYWHERE
def test_messages_of_groups_of_the_program_and_of_barriers_never_meet(on):
    def program(comm):
        pair = comm.group([0, 1])
        if comm.rank == 0:
            works = [comm.isend(one(1), 1), comm.group([1, 0]).isend(one(3), 0)]
            pair.barrier()
            pair.send(torch.empty(0), 1)
            works.append(pair.isend(one(2), 1))
            return [work.wait() for work in works]
        got, empty = [one(), one(), one()], torch.empty(0)
        first = pair.irecv(empty, 0)  # of a barrier's own shape
        works = [comm.group([1, 0]).irecv(got[0], 1), pair.irecv(got[1], 0), comm.irecv(got[2], 0)]
        pair.barrier()
        for work in (first, *works):
            work.wait()
        return [float(tensor) for tensor in got]

    assert on(program, 2).results[1] == [3.0, 2.0, 1.0]


@EVERYWHERE
def test_a_receive_from_anyone_takes_only_what_is_sent_inside_and_says_who_sent(on):
    def program(comm):
        group = comm.group([2, 1, 0])
        if comm.rank == 2:
            comm.send(one(5), 0)
            group.send(one(6), 2)
        elif comm.rank == 0:
            inside, outside = one(), one()
            work = group.irecv(inside)
            comm.recv(outside, 2)
            work.wait()
            return work.source_rank(), float(inside), float(outside)
        return None

    assert on(program, 3).results[0] == (0, 6.0, 5.0)


@EVERYWHERE
def test_a_barrier_inside_holds_back_its_members_alone(on):
    def program(comm):
        if comm.rank == 2:
            comm.barrier()
            return None
        group = comm.group([0, 1])
        comm.compute(0.01 * comm.rank)
        group.barrier()
        after_s = comm.now()
        comm.barrier()
        return after_s

    first_s, second_s, _ = on(program, 3).results
    assert min(first_s, second_s) >= 0.01


# The clock, spans and started functions pass through.


@SIMULATED
def test_clock_spans_and_work_are_the_ranks_own(on):
    def program(comm):
        group = comm.group([1, 0])
        with group.span("inside"):
            group.compute(2.0, "busy")
        return comm.now(), group.now(), group.network == comm.network

    report = on(program, 2)
    assert report.results == [(2.0, 2.0, True)] * 2
    assert sorted({(s.rank, s.label) for s in report.trace.spans}) == [
        (0, "busy"),
        (0, "inside"),
        (1, "busy"),
        (1, "inside"),
    ]


@EVERYWHERE
def test_a_function_started_inside_runs_beside_the_program_and_knows_its_group(on):
    def program(comm):
        row, column = row_and_column(comm, 2)
        numbers = [torch.tensor([10**comm.rank]), torch.tensor([10**comm.rank])]
        works = [group.start(add_up, number) for group, number in zip((row, column), numbers, strict=True)]
        tensor = torch.tensor([comm.rank])
        ring_all_reduce(row, tensor)  # meets nothing of what runs beside it
        for work in works:
            work.wait()
        return tensor.item(), [number.item() for number in numbers], works[0].result

    results = on(program, 4).results
    assert [result[0] for result in results] == [1, 1, 5, 5]
    assert [result[1] for result in results] == [[11, 101], [11, 1010], [1100, 101], [1100, 1010]]
    assert [result[2] for result in results] == [(0, 2), (1, 2), (0, 2), (1, 2)]


def add_up(group, tensor):
    ring_all_reduce(group, tensor)
    return group.rank, group.world_size


@SIMULATED
def test_what_a_group_starts_overlaps_as_in_the_program(on):
    def program(comm, inside):
        comm = comm.group(range(comm.world_size)) if inside else comm
        work = comm.start(add_up, torch.ones(4))
        comm.compute(6e-3)
        work.wait()
        return comm.now()

    for inside in (False, True):
        assert on(lambda comm, inside=inside: program(comm, inside), 4).results == [pytest.approx(6e-3)] * 4


@EVERYWHERE
def test_an_exception_in_a_started_function_that_nobody_waits_for_is_reported(on):
    def program(comm):
        group = comm.group([0, 1])

        def fails(inside):
            raise ValueError(f"member {inside.rank}")

        if comm.rank == 1:
            group.start(fails)  # nobody waits

    with pytest.raises(RankError, match=r"(?s)rank 1 raised ValueError: member 1.*in a function that rank 1 started"):
        on(program, 2)


@EVERYWHERE
def test_an_exception_in_a_started_function_explains_why_another_rank_waits_in_vain(on):
    def program(comm):
        group = comm.group([0, 1])

        def fails(inside):
            raise ValueError(f"member {inside.rank}")

        if comm.rank == 1:
            group.start(fails)
        group.recv(one(), 1 - group.rank)

    with pytest.raises(RankError, match="rank 1 raised ValueError: member 1"):
        on(program, 2)


# What goes wrong is told with the student's own line and the program's numbers.


@EVERYWHERE
def test_a_deadlock_inside_names_the_programs_ranks_and_lines(on):
    def program(comm):
        if comm.rank:
            group = comm.group([2, 1])
            group.recv(one(), 1 - group.rank)  # both wait

    with pytest.raises(DeadlockError) as error:
        on(program, 3)
    text = str(error.value)
    assert f"rank 1 waits in recv from 2, {__file__}" in text
    assert "group.recv(one(), 1 - group.rank)  # both wait" in text
    assert "the circle: 1 -> 2 -> 1" in text


@EVERYWHERE
def test_a_send_in_the_program_does_not_meet_a_receive_inside(on):
    def program(comm):
        group = comm.group([0, 1])
        if comm.rank == 0:
            comm.send(one(), 1)
        else:
            group.recv(one(), 0)

    with pytest.raises(DeadlockError, match=r"(?s)rank 0 waits in send to 1.*rank 1 waits in recv from 0"):
        on(program, 2)


@EVERYWHERE
def test_messages_left_over_inside_are_named_with_their_line(on):
    def program(comm):
        group = comm.group([1, 0])
        if comm.rank == 0:
            group.irecv(one(), 0)  # nobody sends this

    with pytest.raises(UnmatchedError, match=r"rank 0: irecv from 1, [^\n]*test_group.py.*# nobody sends this"):
        on(program, 2)


@EVERYWHERE
def test_sides_that_disagree_inside_are_named_with_both_lines(on):
    def program(comm):
        group = comm.group([1, 0])
        if comm.rank == 1:
            group.send(torch.ones(3), 1)  # three
        else:
            group.recv(torch.ones(2), 0)  # two

    with pytest.raises(MismatchError) as error:
        on(program, 2)
    text = str(error.value)
    assert "rank 1 sends torch.float32 of shape (3,) to 0" in text
    assert "group.send(torch.ones(3), 1)  # three" in text
    assert "group.recv(torch.ones(2), 0)  # two" in text


# What is refused.

REFUSED = {
    "a stranger": (lambda comm: comm.group([1, 2]), r"ValueError: rank 0 is none of the group's ranks \[1, 2\]"),
    "nobody": (lambda comm: comm.group([]), r"ValueError: rank 0 is none of the group's ranks \[\]"),
    "a negative rank": (
        lambda comm: comm.group([0, -1]),
        r"ValueError: a group's ranks must be from 0 to 2, rank 0 got -1 in \[0, -1\]",
    ),
    "a rank too many": (
        lambda comm: comm.group([0, 3]),
        r"ValueError: a group's ranks must be from 0 to 2, rank 0 got 3 in \[0, 3\]",
    ),
    "a rank twice": (
        lambda comm: comm.group([0, 1, 0]),
        r"ValueError: a group has each of its ranks once, rank 0 got \[0, 1, 0\]",
    ),
    "half a rank": (
        lambda comm: comm.group([0, 0.5]),
        r"TypeError: a group's ranks must be a list of whole numbers, rank 0 got \[0, 0.5\]",
    ),
    "one number": (
        lambda comm: comm.group(2),
        "TypeError: a group's ranks must be a list of whole numbers, rank 0 got",
    ),
    "a rank outside the inner group": (
        lambda comm: comm.group([1, 0]).group([1, 2]),
        "ValueError: a group's ranks must be from 0 to 1, rank 1 got 2",
    ),
    "a negative receiver": (
        lambda comm: comm.group([1, 0]).send(one(), -1),
        r"ValueError: dst must be a rank from 0 to 1, rank 1 of the group \[1, 0\] got -1",
    ),
    "a sender who is no member": (
        lambda comm: comm.group([1, 0]).recv(one(), 2),
        r"ValueError: src must be a rank from 0 to 1, rank 1 of the group \[1, 0\] got 2",
    ),
    "oneself": (lambda comm: comm.group([1, 0]).irecv(one(), 1), "ValueError: src is rank 1 itself"),
    "no tensor": (lambda comm: comm.group([0, 1]).isend(1.0, 1), "TypeError: rank 0: a message must be a torch.Tensor"),
    "no function": (lambda comm: comm.group([0, 1]).start(3), "TypeError: start needs a function"),
}


@pytest.mark.parametrize(("say", "error"), REFUSED.values(), ids=REFUSED)
def test_what_no_group_can_be_or_do_is_refused_with_what_was_given(say, error):
    with pytest.raises(RankError, match=f"rank 0 raised {error}") as caught:
        simulate(lambda comm: say(comm) if comm.rank == 0 else None, 3)
    assert f"\n  {__file__}, line" in str(caught.value)


def test_groups_of_one_pair_of_ranks_have_codes_of_their_own():
    grids = [(width, height) for width in range(2, 17) for height in range(2, 17)]
    rows = {tuple(range(r * w, r * w + w)) for w, h in grids for r in range(h)}
    columns = {tuple(range(c, w * h, w)) for w, h in grids for c in range(w)}
    channels = [(ranks,) for ranks in rows | columns]
    channels += [("barrier", *channel) for channel in channels]
    assert len({code_of(channel) for channel in channels}) == len(channels) == 2 * len(rows | columns)
    assert math.log2(max(map(code_of, channels))) < 29
