"""Exercise 03c: the rule of slack, a function without messages."""

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.common import function_exercise

# The rule itself: what is expected here, and what exercise d is judged with.
MAY_GO_ON = """
def may_go_on(clocks, worker, slack):
    return clocks[worker] <= min(clocks) + slack
"""
SlackRule = Callable[[list[float], int, int], bool]


def questions_of_slack(rng: np.random.Generator) -> Iterator[Case]:
    """Clocks, a worker, a slack: may it begin its next gradient? Those who left, and the server, are at infinity."""
    calls: list[tuple] = [([float("inf"), 3, 3], 1, 0), ([float("inf"), 4, 3], 1, 0), ([float("inf"), 4, 3], 2, 0)]
    calls.append(([float("inf"), 7], 1, 0))
    for workers in (2, 3, 3, 4, 4, 8):
        slack = int(rng.integers(1, 5))
        slowest = int(rng.integers(0, 30))
        others = [slowest + int(ahead) for ahead in rng.integers(0, slack + 2, workers - 2)]
        for ahead in (slack - 1, slack, slack + 1):
            clocks: list[Any] = [slowest, *others, slowest + ahead]
            order = rng.permutation(workers)
            shuffled = [float("inf"), *(clocks[place] for place in order)]
            me, last = 1 + int(np.argmax(order == workers - 1)), 1 + int(np.argmax(order == 0))
            calls += [(shuffled, me, slack), (shuffled, last, slack)]
        calls.append(([float("inf"), slowest, float("inf"), slowest + slack + 2], 3, slack))
    # These tell apart what is mistaken: everybody, the median, the second smallest, worker 1, a slack of 2.
    calls += [([float("inf"), 0, 0, 0, 0, 9], 5, 1), ([float("inf"), 0, 0, 5, 5, 5], 3, 1)]
    calls += [([float("inf"), 9, 3, 9], 3, 1), ([float("inf"), 3, 0], 1, 4)]
    right: dict[str, Any] = {}
    exec(MAY_GO_ON, right)
    expected = [right["may_go_on"](*call) for call in calls]
    yield Case(1, calls, expected, label="the rule")


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


def _answers(case: Case, rule: SlackRule) -> list[bool]:
    return [rule(*call) for call in case.inputs]


def _finite(clocks: Sequence[float]) -> list[float]:
    return [clock for clock in clocks if clock != math.inf]


OTHER_RULES: dict[str, SlackRule] = {
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


MISTAKES = r"""
... how far behind the fastest it is
    clocks[worker] - min(clocks) <= slack -> max(clock for clock in clocks if clock != float("inf")) - clocks[worker] <= slack
... you look at the largest clock
    clocks[worker] - -> max(clocks) -
... then the slowest waits, too
    clocks[worker] - -> max(clock for clock in clocks if clock != float("inf")) -
... Exactly slack ahead is allowed
    <= slack -> < slack
... one further than that
    <= slack -> <= slack + 1
... your function returns nothing
    return clocks -> clocks
... take the second smallest
    min(clocks) -> sorted(clocks)[1]
"""

EXERCISE = function_exercise(
    id="03c",
    title="May it go on?",
    function="may_go_on",
    points=2,
    cases=questions_of_slack,
    mistakes=MISTAKES,
    before=(other_rule,),
    hints="""
How many gradients is this worker ahead of the slowest one? min(clocks) is the slowest.
It may be ahead by slack, and no more: at slack + 1 it waits.
""",
)
