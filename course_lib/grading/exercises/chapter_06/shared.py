"""What several exercises of chapter 6 use: schedules as lists of words, and what a mistake would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from course_lib.grading.exercise import Case, Diagnosis, Outcome
from course_lib.grading.verdict import difference
from course_lib.pipeline.schedule import Operation, Schedule

__all__ = ["Reasons", "Words", "as_schedule", "explained", "words_of"]

Words = list[list[str]]  # for each rank its operations, as in [["F0", "B0"], ["F0", "B0"]]; rank r has stage r
Reasons = Iterator[tuple[str, object]]  # what went wrong, and what the call would give then


def words_of(schedule: Schedule) -> Words:
    """A schedule with a stage a rank as lists of words."""
    return [[f"{kind}{number}" for kind, _, number in operations] for operations in schedule.ranks]


def as_schedule(words: Sequence[Sequence[str]], micro_batches: int) -> Schedule:
    """And back."""
    ranks = (tuple(Operation(word[0], rank, int(word[1:])) for word in each) for rank, each in enumerate(words))
    return Schedule("", len(words), micro_batches, tuple(ranks))


def explained(name: str, reasons: Callable[..., Reasons]) -> Diagnosis:
    """A diagnosis that shows the first wrong call, and which mistake gives these values in all calls, or in this one.

    `reasons(*arguments)` yields what each mistake would return.
    """

    def diagnose(case: Case, outcome: Outcome) -> str | None:
        if outcome.failure is not None:
            return None
        calls = list(zip(case.inputs, case.expected, outcome.values, strict=True))
        wrong = next((each for each in calls if not _same(*each[1:])), None)
        if wrong is None:
            return None
        call, right, came = wrong
        found = [[text for text, value in reasons(*call) if _same(value, came)] for call, _, came in calls]
        here = found[next(number for number, each in enumerate(calls) if each is wrong)]
        why = next((text for text in here if all(text in each for each in found)), here[0] if here else "")
        arguments = ", ".join(map(repr, call))
        return f"{name}({arguments}) is {_shown(right)}, you gave {_shown(came)}" + f". {why}" * bool(why)

    return diagnose


def _same(one: object, other: object) -> bool:
    return difference(one, other, tolerance=1e-9) is None


def _shown(value: object) -> str:
    """A value as Python shows it, fractions to six digits."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
