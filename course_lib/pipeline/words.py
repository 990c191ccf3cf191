"""Schedules of one stage a rank as words, such as "F0 F1 B0 B1": as short as one writes them by hand."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.pipeline.schedule import Operation, Schedule

__all__ = ["from_words", "words_of"]


def words_of(schedule: Schedule) -> list[str]:
    """For each rank its operations in words.

    Raises:
        ValueError: if a rank has several stages, which these words cannot tell apart.

    >>> from course_lib.pipeline.schedules import gpipe
    >>> words_of(gpipe(2, 2))
    ['F0 F1 B1 B0', 'F0 F1 B1 B0']
    """
    if schedule.stages != schedule.world_size:
        raise ValueError(f"words are for a stage a rank, got {schedule.stages} stages on {schedule.world_size} ranks")
    return [" ".join(f"{kind}{number}" for kind, _, number in operations) for operations in schedule.ranks]


def from_words(orders: Sequence[str], name: str = "own") -> Schedule:
    """The schedule that these words say, rank r with stage r; whether it can be carried out is not looked at.

    Raises:
        ValueError: if there is no rank, or a word is not one of F, B, W and the number of a micro-batch.

    >>> str(from_words(["F0 B0", "F0 B0"]).ranks[1][0])
    'F0 of stage 1'
    """
    ranks = []
    for rank, words in enumerate(orders):
        for word in words.split():
            if word[0] not in "FBW" or not word[1:].isdecimal():
                raise ValueError(f"a word is F, B or W and a number, such as F3, got {word!r} on rank {rank}")
        ranks.append(tuple(Operation(word[0], rank, int(word[1:])) for word in words.split()))
    numbers = [operation.micro_batch for operations in ranks for operation in operations]
    if not numbers:
        raise ValueError("there must be a rank and a word, got none")
    return Schedule(name, len(ranks), max(numbers) + 1, tuple(ranks))
