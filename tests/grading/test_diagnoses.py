"""What is said about programs that do not come to their end, from a failure's fields, and of sums that are wrong."""

from dataclasses import replace

import pytest
import torch

from course_lib.comm.errors import Pending, deadlock_error, mismatch_error
from course_lib.comm.trace import Trace
from course_lib.grading.exercise import Case, Failure, Outcome
from course_lib.grading.exercises.chapter_01.shared import empty_rank_left
from course_lib.grading.exercises.chapter_03.shared import SERVED
from course_lib.grading.exercises.diagnoses import FAILURES, deadlocked, ingredients


def _stopped(failure: Failure, world_size: int) -> Outcome:
    return Outcome([None] * world_size, Trace(world_size, []), failure)


def _deadlock(pending: dict[int, tuple[str, int | None]], finished: tuple[int, ...] = ()) -> Outcome:
    waits = {rank: Pending(verb, peer, "a line") for rank, (verb, peer) in pending.items()}
    failure = Failure.of(deadlock_error(waits, finished), "deadlock")
    return _stopped(failure, len(pending) + len(finished))


def _case(world_size: int, **about: object) -> Case:
    return Case(world_size, [(torch.ones(2),)] * world_size, [torch.ones(2)] * world_size, about=about)


@pytest.mark.parametrize(
    ("pending", "finished", "words"),
    [
        ({0: ("send", 1), 1: ("isend", 0)}, (), "everybody sends and nobody receives"),
        ({0: ("wait for isend", 1), 1: ("send", 0)}, (), "everybody sends and nobody receives"),
        ({0: ("recv", 1), 1: ("irecv", 0)}, (), "start that with isend before"),
        ({0: ("recv", 1), 1: ("send", 2), 2: ("join", None)}, (), "some ranks wait for messages that nobody"),
        ({1: ("recv", 0), 2: ("recv", 0)}, (0,), "rank 1 waits for a message from rank 0, which has ended"),
        ({1: ("send", 0)}, (0,), "rank 1 sends to rank 0, which has ended without receiving it"),
    ],
)
def test_the_reason_of_a_deadlock_fits_who_waits_for_whom(pending, finished, words):
    said = str(deadlocked(_case(3), _deadlock(pending, finished)))
    assert words in said
    assert "no rank can go on" in said


def test_what_is_said_of_failures_names_no_sum():
    alone = _stopped(Failure("exception", "rank 0 raised ZeroDivisionError", 0, cause="ZeroDivisionError"), 1)
    for outcome in (alone, _deadlock({0: ("recv", 1), 1: ("recv", 0)}), _deadlock({1: ("send", 0)}, (0,))):
        (said, *_) = filter(None, (look(_case(len(outcome.values)), outcome) for look in FAILURES))
        assert "sum" not in said


def test_ranks_beyond_those_that_the_text_names_are_known():
    # Forty workers wait for the server; rank 20, which the text leaves out, has no examples and went home.
    outcome = _deadlock(dict.fromkeys(range(20), ("recv", 0)), tuple(range(20, 40)))
    assert outcome.failure is not None
    assert set(outcome.failure.pending) == set(range(20))
    assert outcome.failure.finished == tuple(range(20, 40))
    case = _case(40, counts=[1] * 39 + [0])
    assert "rank 39 has no examples and went home" in str(empty_rank_left(case, outcome))


def test_no_diagnosis_of_a_server_reads_the_text():
    row = "torch.float32 of shape (5,)"
    mismatch = Failure.of(mismatch_error(0, "torch.int64 of shape (1,)", "", 1, row, ""), "mismatch")
    stopped = [
        _deadlock({0: ("recv", None)}, (1, 2)),
        _deadlock({0: ("recv", None), 1: ("recv", 0)}, (2,)),
        _deadlock({0: ("send", 1), 1: ("send", 0)}),
        _deadlock({1: ("send", 0), 2: ("recv", 0)}, (0,)),
        _stopped(mismatch, 2),
    ]
    for outcome in stopped:
        assert outcome.failure is not None
        untold = replace(outcome, failure=replace(outcome.failure, text="*"))
        said, still = ([look(_case(3), each) for look in SERVED] for each in (outcome, untold))
        assert any(said)
        assert [text and text.split("\n")[0] for text in said] == [text and text.split("\n")[0] for text in still]


def test_sums_are_taken_apart_only_where_the_sum_of_all_is_asked_for():
    inputs = [(torch.tensor([3.0, 1, 7, 20, 4, 9, 8, 2]),), (torch.tensor([11.0, 5, 2, 6, 1, 3, 7, 5]),)]
    total = inputs[0][0] + inputs[1][0]
    wrong = Outcome([2 * inputs[0][0], total], Trace(2, []), None)
    whole, running = Case(2, inputs, [total, total]), Case(2, inputs, [inputs[0][0], total])
    assert "2 × rank 0 + 0 × rank 1" in str(ingredients(whole, wrong))
    assert ingredients(running, wrong) is None
