"""What several exercises of chapter 6 use: schedules as lists of words."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.pipeline.schedule import Operation, Schedule

__all__ = ["Words", "as_schedule", "words_of"]

Words = list[list[str]]  # for each rank its operations, as in [["F0", "B0"], ["F0", "B0"]]; rank r has stage r


def words_of(schedule: Schedule) -> Words:
    """A schedule with a stage a rank as lists of words."""
    return [[f"{kind}{number}" for kind, _, number in operations] for operations in schedule.ranks]


def as_schedule(words: Sequence[Sequence[str]], micro_batches: int) -> Schedule:
    """And back."""
    ranks = (tuple(Operation(word[0], rank, int(word[1:])) for word in each) for rank, each in enumerate(words))
    return Schedule("", len(words), micro_batches, tuple(ranks))
