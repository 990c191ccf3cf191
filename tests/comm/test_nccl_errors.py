"""simulate(rules="nccl"): in which words it says what would hang, and with which lines."""

import inspect
import sys

import cloudpickle
import nccl_programs
import pytest
import torch
from nccl_programs import (
    PROGRAMS,
    behind_one_that_has_ended,
    collectives_of_two_groups,
    one,
    ring_without_a_batch,
    two_works,
)

from course_lib import DeadlockError, MismatchError, RankError, UnmatchedError, simulate
from course_lib.comm.errors import Pending, deadlock_error

for module in (nccl_programs, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(module)  # as if these programs were written in a notebook

FILE = nccl_programs.__file__
BOTH = pytest.mark.parametrize("ranks", ["greenlets", "threads"])


def line_of(program, text):
    lines, first = inspect.getsourcelines(program)
    return first + next(number for number, line in enumerate(lines) if text in line)


def test_a_deadlock_names_the_line_that_waits_and_the_line_that_stands_before_it():
    with pytest.raises(DeadlockError) as caught:
        simulate(ring_without_a_batch, 3, rules="nccl")
    text = str(caught.value)
    for rank in range(3):
        right, left = (rank + 1) % 3, (rank - 1) % 3
        waits = f"rank {rank} waits in recv from {left}, {FILE}, line {line_of(ring_without_a_batch, 'recv(')}: comm"
        before = f"    and before that, in its stream, in isend to {right}, {FILE}, line "
        before += f"{line_of(ring_without_a_batch, 'isend(')}: sent ="
        assert f"{waits}.recv(one(), left)\n{before}" in text
    assert text.endswith("the circle: 0 -> 1 -> 2 -> 0")
    assert caught.value.pending[0].behind.peer == 1


def test_what_a_rank_left_behind_is_named_though_its_program_has_ended():
    with pytest.raises(DeadlockError) as caught:
        simulate(behind_one_that_has_ended, 3, rules="nccl")
    text = str(caught.value)
    assert "rank 0, whose program has ended, waits in isend to 1, " in text
    assert "finished already: rank 0" in text
    assert text.endswith("the circle: 0 -> 1 -> 2 -> 0")


def test_a_started_function_that_stands_before_is_named_by_the_line_of_its_start():
    with pytest.raises(DeadlockError) as caught:
        simulate(PROGRAMS["collectives of two groups, two orders"][0], 2, rules="nccl")
    text = str(caught.value)
    start = line_of(collectives_of_two_groups, "work = there.start")
    assert f"and before that, in its stream, for a function it started, {FILE}, line {start}: work = " in text
    assert f"rank 0, in a function it started, waits in recv from 1, {FILE}, line {start}: work = " in text
    assert "\n  the circle: 0 -> 1 -> 0\n" in text


def test_a_rank_behind_a_blocked_one_leads_to_the_circle():
    waits = {
        0: Pending("recv", 2, "a", behind=Pending("isend", 1, "b")),
        1: Pending("recv", 0, "c", behind=Pending("join", None, "d")),
    }
    error = str(deadlock_error(waits, [2], {1: Pending("recv", 0, "e")}, {2: Pending("isend", 0, "f")}))
    assert error == (
        "no rank can go on:\n"
        "  rank 0 waits in recv from 2, a\n    and before that, in its stream, in isend to 1, b\n"
        "  rank 1 waits in recv from 0, c\n    and before that, in its stream, for a function it started, d\n"
        "  rank 1, in a function it started, waits in recv from 0, e\n"
        "  rank 2, whose program has ended, waits in isend to 0, f\n"
        "  finished already: rank 2\n"
        "  the circle: 0 -> 1 -> 0"
    )


def test_a_plain_deadlock_is_named_as_under_gloo():
    def program(comm):
        comm.recv(one(), 1 - comm.rank)

    texts = set()
    for rules in ("gloo", "nccl"):
        with pytest.raises(DeadlockError) as caught:
            simulate(program, 2, rules=rules)
        texts.add(str(caught.value))
    assert len(texts) == 1


@pytest.mark.parametrize("receive", ["recv", "irecv"])
def test_a_receive_from_anyone_is_refused(receive):
    def program(comm):
        comm.send(one(), 1) if comm.rank == 0 else getattr(comm, receive)(one())

    with pytest.raises(RankError, match=r"rank 1 raised ValueError: NCCL cannot receive from anyone: name the sender"):
        simulate(program, 2, rules="nccl")


def test_what_never_came_to_its_turn_is_left_over_with_its_line():
    def program(comm):
        if comm.rank == 0:
            comm.isend(one(), 1)
            comm.isend(one(), 1)
        comm.compute(1.0)

    with pytest.raises(UnmatchedError) as caught:
        simulate(program, 2, rules="nccl")
    lines = str(caught.value).splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == ["  rank 0: isend to 1"] * 2
    assert all("comm.isend(one(), 1)" in line for line in lines)


@BOTH
def test_two_sides_that_disagree_are_named_with_their_lines_though_others_posted_them(ranks):
    def program(comm):
        if comm.rank == 0:
            works = [comm.isend(one(), 1), comm.isend(torch.zeros(2), 2)]
            return [work.wait() for work in works]
        if comm.rank == 1:
            return comm.compute(1.0), comm.recv(one(), 0)
        return comm.irecv(torch.zeros(3), 0).wait()

    with pytest.raises(MismatchError) as caught:
        simulate(program, 3, ranks=ranks, rules="nccl")
    assert "works = [comm.isend(one(), 1), comm.isend(torch.zeros(2), 2)]" in str(caught.value)
    assert "return comm.irecv(torch.zeros(3), 0).wait()" in str(caught.value)


def test_other_rules_are_refused():
    with pytest.raises(ValueError, match='rules must be "gloo" or "nccl", got \'mpi\''):
        simulate(two_works, 2, rules="mpi")
