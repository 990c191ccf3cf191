"""What goes wrong in the exercises of chapter 3 without messages: the rule of slack, n-softsync."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from course_lib.grading.exercise import Case, Outcome

__all__ = ["other_rule", "other_softsync"]

Rule = Callable[[list[float], int, int], bool]


def other_rule(case: Case, outcome: Outcome) -> str | None:
    """Which other rule of slack gives these answers."""
    if outcome.failure is not None:
        return None
    strange = next((value for value in outcome.values if not _is_truth(value)), None)
    if strange is not None:
        return f"the answer is True or False; yours is {_value_or_type(strange)}"
    came = [bool(value) if value is not None else None for value in outcome.values]
    for number, (call, right, value) in enumerate(zip(case.inputs, case.expected, came, strict=True)):
        if value == right:
            continue
        clocks, worker, slack = call
        if value is None:
            return "the answer is True or False; your function returns nothing"
        ahead = clocks[worker] - min(clocks)
        text = (
            f"may_go_on({_clocks(clocks)}, worker={worker}, slack={slack}) gave {value}: the worker's clock is "
            f"{clocks[worker]:g}, {ahead:g} ahead of the slowest, so it may {'' if right else 'not '}go on"
        )
        reasons = [reason for reason, rule in OTHER_RULES.items() if came == _answers(case, rule)]
        return text + "".join(f". {reason}" for reason in reasons[:1]) + f" (question {number + 1})"
    return None


def _is_truth(value: Any) -> bool:
    """Whether this is None, True or False, or a number or tensor that says the same."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return True
    value = value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value
    return isinstance(value, (int, float)) and value in (0, 1)


def _value_or_type(value: Any) -> str:
    return f"{value!r}" if isinstance(value, (str, int, float)) else str(getattr(value, "type_name", type(value)))


def _answers(case: Case, rule: Rule) -> list[bool]:
    return [rule(*call) for call in case.inputs]


def _finite(clocks: Sequence[float]) -> list[float]:
    return [clock for clock in clocks if clock != math.inf]


OTHER_RULES: dict[str, Rule] = {
    "Exactly slack ahead is allowed": lambda clocks, worker, slack: clocks[worker] - min(clocks) < slack,
    "You let a worker go one further than that": lambda clocks, worker, slack: (
        clocks[worker] - min(clocks) <= slack + 1
    ),
    "You look at the fastest and the slowest; then the slowest waits, too, and nobody ever comes after": (
        lambda clocks, worker, slack: max(_finite(clocks)) - min(clocks) <= slack
    ),
    "Infinity is the clock of those who are not there: you look at the largest clock": (
        lambda clocks, worker, slack: max(clocks) - min(clocks) <= slack
    ),
    "You measure how far behind the fastest it is: that holds back the slow ones": (
        lambda clocks, worker, slack: max(_finite(clocks)) - clocks[worker] <= slack
    ),
    "You compare with the mean; the slowest is what counts": lambda clocks, worker, slack: (
        clocks[worker] - sum(_finite(clocks)) / len(_finite(clocks)) <= slack
    ),
    "That lets everybody go on, as an asynchronous server does": lambda clocks, worker, slack: True,
    "You leave the server's infinity out and take the second smallest: the smallest clock is the slowest already": (
        lambda clocks, worker, slack: clocks[worker] - sorted(clocks)[1] <= slack
    ),
    "You look at the clock before this worker's: the list has an entry for the server, so clocks[worker] is right": (
        lambda clocks, worker, slack: clocks[worker - 1] - min(clocks) <= slack
    ),
    "You compare with a slack of your own, not with the one that is given": lambda clocks, worker, slack: (
        clocks[worker] - min(clocks) <= 2
    ),
    "You compare with the median; the slowest is what counts": lambda clocks, worker, slack: (
        clocks[worker] - statistics.median(clocks) <= slack
    ),
    "You compare with worker 1, not with the slowest": lambda clocks, worker, slack: (
        clocks[worker] - clocks[1] <= slack
    ),
    "That lets only the slowest go on": lambda clocks, worker, slack: clocks[worker] == min(clocks),
}


def _clocks(clocks: Sequence[float]) -> str:
    return "[" + ", ".join(f"{clock:g}" for clock in clocks) + "]"


# n-softsync


def other_softsync(case: Case, outcome: Outcome) -> str | None:
    """Which of three numbers is off, and what it would be right for."""
    if outcome.failure is not None:
        return None
    for call, (c, updates, mean), came in zip(case.inputs, case.expected, outcome.values, strict=True):
        if not isinstance(came, (list, tuple, torch.Tensor, np.ndarray)) or len(came) != 3:
            gave = f"{len(came)} values" if isinstance(came, list | tuple) else getattr(came, "type_name", came)
            return f"three numbers are asked for: gradients_per_update, updates, mean_staleness; you gave {gave}"
        came = [float(value) for value in came]
        workers, n, gradients = call
        if came[:2] == [updates, c]:
            return f"softsync_numbers{call} gave {came[0]:g} and {came[1]:g}: first gradients_per_update, then updates"
        reasons = (
            ("gradients_per_update", c, came[0], _why_c(workers, n)),
            ("updates", updates, came[1], _why_updates(workers, n, gradients, c)),
            ("mean_staleness", mean, came[2], _why_mean(workers, n, c)),
        )
        for name, right, value, others in reasons:
            if not math.isclose(value, right, rel_tol=1e-9):
                why = "".join(f". {text}" for text, other in others if math.isclose(value, other, rel_tol=1e-9))
                return f"softsync_numbers{call}: {name} is {right:g}, you gave {value:g}" + why
    return None


def _why_c(workers: int, n: int) -> list[tuple[str, float]]:
    return [
        ("Nobody can wait for part of a gradient: round down", workers / n),
        ("Round down, not up", float(-(-workers // n))),
        ("n says how many updates there are while everybody pushes once, not how many gradients are in one", float(n)),
    ]


def _why_updates(workers: int, n: int, gradients: int, c: int) -> list[tuple[str, float]]:
    return [
        ("Each gradient is an update only if c = 1", float(gradients)),
        ("An update that is not full is none: round down", gradients / c),
        ("An update that is not full is none: round down, and add none for the rest", gradients // c + 1.0),
        (
            "n updates come of c * n gradients, and that is fewer than one of each worker if n does not divide",
            (float(gradients * n // workers)),
        ),
        ("Each worker's gradient counts by itself: count gradients, not rounds", float(gradients // workers)),
    ]


def _why_mean(workers: int, n: int, c: int) -> list[tuple[str, float]]:
    return [
        ("That is the rule of thumb; the exact mean is a little different", float(n)),
        ("Do not round a mean", float((workers - 1) // c)),
        ("Close: count how many pushes of others come in between, and how many of them are an update", n - 1.0),
        ("A worker does not overtake itself: only the others' pushes make its gradient old", workers / c),
        ("Staleness counts updates, not gradients: each update takes c of them", float(workers - 1)),
        ("Divide by the gradients in an update", (workers - 1) / n),
        (
            "Half of it would be right if a pull fell somewhere between two pushes of the others at random",
            ((workers - 1) / c / 2),
        ),
    ]
