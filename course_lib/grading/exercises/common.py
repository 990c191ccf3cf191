"""What exercises of several chapters use: whole matrices, limits of an all-reduce, and what a mistake would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case, Diagnosis, Outcome, Rule, whole_numbers
from course_lib.grading.exercises.diagnoses import FAILURES
from course_lib.grading.verdict import difference

__all__ = ["FAILURES", "Mistakes", "all_reduced", "matrix", "mistaken", "other_call"]


def matrix(rng: np.random.Generator, *shape: int) -> torch.Tensor:
    """Whole numbers, none of them 0, small enough that sums of products are exact."""
    return whole_numbers(rng, int(np.prod(shape)), most=30).reshape(shape)


def all_reduced(elements: Callable[[Case], int], because: str) -> tuple[Rule, Rule]:
    """What one all-reduce of so many elements may send and how often, in any of the usual ways."""
    return (
        rules.total_bytes(lambda case: 4 * elements(case) * case.world_size * (case.world_size - 1), because),
        rules.most_messages(lambda case: 4 * case.world_size * (case.world_size - 1)),
    )


Mistakes = Iterator[tuple[str, Sequence[object]]]  # what went wrong, and what each rank (each call) would give then


def mistaken(mistakes: Callable[[Case], Mistakes], tolerance: float = 1e-9) -> Diagnosis:
    """A diagnosis that compares what the ranks gave with what these mistakes would give."""

    def diagnose(case: Case, outcome: Outcome) -> str | None:
        if outcome.failure is not None:
            return None
        pairs = list(zip(outcome.values, case.expected, strict=True))
        off = [rank for rank, (came, right) in enumerate(pairs) if difference(right, came, tolerance)]
        for text, candidates in mistakes(case):
            if off and all(difference(candidates[rank], outcome.values[rank], tolerance) is None for rank in off):
                return f"rank {off[0]} {text}"
        return None

    return diagnose


def other_call(name: str, reasons: Callable[..., Iterator[tuple[str, object]]], tolerance: float = 1e-9) -> Diagnosis:
    """The same for calls of a function without ranks: `reasons(*arguments)` yields what a mistake would return."""

    def diagnose(case: Case, outcome: Outcome) -> str | None:
        if outcome.failure is not None:
            return None
        for call, right, came in zip(case.inputs, case.expected, outcome.values, strict=True):
            if difference(right, came, tolerance):
                why = next((text for text, value in reasons(*call) if difference(value, came, tolerance) is None), "")
                arguments = ", ".join(map(str, call))
                return f"{name}({arguments}) is {right}, you gave {came}" + f". {why}" * bool(why)
        return None

    return diagnose
