"""What several exercises of chapter 6 use: schedules as lists of words."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.grading.exercise import Case, Outcome
from course_lib.pipeline.schedule import Operation, Schedule

__all__ = ["MANY", "TWO_DIGITS", "Words", "as_schedule", "taken_apart", "words_of"]

MANY = 12  # micro-batches, so that some have a number of two digits
TWO_DIGITS = 'The number of a micro-batch may have two digits: parts("F12") is ("F", 12)'
Words = list[list[str]]  # for each rank its operations, as in [["F0", "B0"], ["F0", "B0"]]; rank r has stage r


def words_of(schedule: Schedule) -> Words:
    """A schedule with a stage a rank as lists of words."""
    return [[f"{kind}{number}" for kind, _, number in operations] for operations in schedule.ranks]


def as_schedule(words: Sequence[Sequence[str]], micro_batches: int) -> Schedule:
    """And back."""
    ranks = (tuple(Operation(word[0], rank, int(word[1:])) for word in each) for rank, each in enumerate(words))
    return Schedule("", len(words), micro_batches, tuple(ranks))


def taken_apart(case: Case, outcome: Outcome) -> str | None:
    """A word that was unpacked into two, as `kind, number = word` does."""
    text = outcome.failure.text if outcome.failure else ""
    return f"{TWO_DIGITS}. {text}" if "too many values to unpack" in text else None
