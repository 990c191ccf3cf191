"""What several exercises of chapter 1 use: the cost of all-reduces, and empty ranks.

Sums are of whole numbers, exact in any order; what is averaged with rounding is positive, so that a relative tolerance
is fair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from course_lib.comm.trace import Trace
from course_lib.grading import rules
from course_lib.grading.exercise import Case, Outcome, Rule
from course_lib.grading.exercises.diagnoses import alone, deadlocked, global_collective, no_such_method
from course_lib.grading.rules import Limit

__all__ = [
    "FAILURES",
    "Judge",
    "PERTURBED",
    "all_reduces",
    "form_of",
    "in_float32",
    "not_a_number",
    "numbers_in",
    "shown",
    "some_messages",
    "words_of",
]

# Cases

Judge = Callable[[Any], str | None]


def numbers_in(value: Any) -> list:
    """The entries of a tensor, an array, a list or a tuple.

    Raises:
        TypeError: if it is something else.
    """
    if hasattr(value, "tolist"):
        return list(value.tolist())
    if not isinstance(value, (list, tuple)):
        raise TypeError("neither a tensor nor a list")
    return list(value)


def form_of(value: Any) -> str:
    """What something is that is no row of numbers."""
    if value is None:
        return "nothing (None)"
    if hasattr(value, "tolist"):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}, and not all of its entries are numbers"
    name = getattr(value, "type_name", type(value).__name__)
    return f"a {name}"


def shown(numbers: list) -> str:
    words = [f"{number:g}" for number in numbers]
    return "[" + ", ".join(words[:6] + ["…"] * (len(words) > 6)) + "]"


# The numbers of the cases in which messages are changed. No rank is empty there: a right answer may pass over what came
# from an empty one, and then nothing shows the change.
PERTURBED = (2, 3)


def words_of(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


# Rules


def some_messages(count: Limit = lambda case: 1) -> Rule:
    """No more messages than `count` all-reduces by two rings of chunks each: far more than one all-reduce needs."""
    return rules.max_messages(lambda case: 4 * case.world_size * (case.world_size - 1) * count(case))


def all_reduces(elements: Limit, because: str, count: Limit = lambda case: 1, costs: float | None = 1) -> Rule:
    """At most `count` all-reduces of so many elements: in steps like those through one rank, in bytes like those of
    each with each, both in float64 at most."""

    def check(case: Case, trace: Trace) -> str | None:
        others, times = case.world_size - 1, int(count(case))
        steps, max_bytes = 2 * others * times, 8 * case.world_size * others * int(elements(case)) * times
        if trace.steps > steps:
            one = "one all-reduce takes" if times == 1 else f"{times} all-reduces take"
            return f"it took {trace.steps} steps on the wire, {one} {steps}: {because}"
        if trace.total_bytes > max_bytes:
            return f"all ranks together sent {trace.total_bytes} bytes, {max_bytes} are plenty: {because}"
        return None

    return Rule(check, costs)


# Diagnoses


def empty_rank_left(case: Case, outcome: Outcome) -> str | None:
    """A deadlock, because a rank without examples goes home."""
    counts, failure = case.about.get("counts", ()), outcome.failure
    if 0 not in counts or failure is None or failure.kind != "deadlock":
        return None
    rank = counts.index(0)
    if rank not in failure.finished:
        return None
    home = f"rank {rank} has no examples and went home; the others wait for it forever. It must send its zeros"
    return f"{home}\n{failure.text}"


def not_a_number(case: Case, outcome: Outcome) -> str | None:
    """Not a number, from a rank that has no examples."""
    counts = case.about.get("counts", ())
    if outcome.failure is not None or 0 not in counts:
        return None
    for rank, value in enumerate(outcome.values):
        if any(torch.isnan(each).any() for each in (value if isinstance(value, (list, tuple)) else [value])):
            return (
                f"rank {rank} holds nan: rank {counts.index(0)} has no examples, the mean of nothing is 0/0, and 0 × "
                "nan is nan as well. What it must contribute is zeros"
            )
    return None


def in_float32(case: Case, outcome: Outcome) -> str | None:
    """Right to the rounding of float32, where float64 was asked for."""
    if outcome.failure is not None:
        return None
    for rank, (came, right) in enumerate(zip(outcome.values, case.expected, strict=True)):
        if came.shape != right.shape or not torch.allclose(came.double(), right, rtol=1e-4, atol=1e-4):
            return None
        if not torch.allclose(came.double(), right, rtol=1e-6, atol=1e-9):
            return (
                f"rank {rank} is off by {(came - right).abs().max().item():.1g}: that is rounding, of float32. The "
                "numbers are float64; torch.zeros and torch.tensor make float32 unless told dtype=torch.float64"
            )
    return None


# Failures

FAILURES = (global_collective, no_such_method, alone, empty_rank_left, deadlocked)
