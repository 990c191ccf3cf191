"""Exercise 12a: Young's and Daly's interval, and the share of the time that any interval wastes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

TOLERANCE = 1e-6


# Cases


def trainings(rng: np.random.Generator) -> Iterator[Case]:
    """Coins, saves that take longer than a training lives, and trainings that fail once in minutes or in days."""
    calls: list[tuple[int, int, int, float]] = [(1, 1, 0, 0.5), (2, 1, 0, 0.5), (1, 4, 2, 0.5)]
    for chance in (0.2, 0.05, 0.01, 0.001):
        interval, save, restart = (int(each) for each in rng.integers((2, 1, 1), (40, 9, 20)))
        calls.append((interval, save, restart, round(chance * float(rng.uniform(0.7, 1.3)), 6)))
    yield Case(1, calls, [_right(*call) for call in calls], label="seven trainings")


def _right(interval: int, save: int, restart: int, chance: float) -> list[float]:
    waste = 1 - interval / _minutes(interval + save, restart, chance)
    return [math.sqrt(2 * save / chance), _daly(save, chance), waste]


def _daly(save: int, chance: float) -> float:
    """Source: J. T. Daly, "A higher order estimate ...", FGCS 22(3), 2006, equation 37."""
    return 1 / chance if save * chance >= 2 else _beyond(save, chance)


def _beyond(save: int, chance: float) -> float:
    ratio = save * chance / 2
    return math.sqrt(2 * save / chance) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save


def _minutes(good: int, restart: float, chance: float) -> float:
    """Until so many minutes in a row are good: t(n) = (t(n - 1) + 1 + chance restart) / (1 - chance)."""
    return (1 / chance + restart) * math.expm1(-good * math.log1p(-chance))


# Diagnoses

APPROXIMATE = "That adds up what saves and failures cost, which is near it where failures are rare. Take t(n)"
PAGE = "That is the page's formula, where failures come at any moment. Here time goes by in whole minutes: take t(n)"


def reasons(interval: int, save: int, restart: int, chance: float) -> Reasons:
    young, daly, waste = _right(interval, save, restart, chance)
    beyond = _beyond(save, chance)
    yield "Young: below the root is *twice* the save", [math.sqrt(save / chance), daly, waste]
    yield "The mean time between failures is 1 / chance", [math.sqrt(2 * save * chance), daly, waste]
    yield "Where half a save is longer than the mean time between failures, Daly's is that time", [young, beyond, waste]
    yield "Daly's is the interval alone: the save is taken off", [young, daly + save, waste]
    yield "Daly's is the interval alone: the save is taken off", [young, beyond + save, waste]
    for text, other in _wastes(interval, save, restart, chance):
        yield text, [young, daly, other]


def _wastes(interval: int, save: int, restart: int, chance: float) -> Iterator[tuple[str, float]]:
    n = interval + save
    total, moving = _minutes(n, restart, chance), _minutes(n, 0, chance)
    yield APPROXIMATE, save / interval + chance * (interval / 2 + restart)
    yield APPROXIMATE, save / interval + chance * interval / 2
    yield PAGE, 1 - interval * chance / math.exp(restart * chance) / math.expm1(n * chance)
    worked = _minutes(interval, restart, chance)
    for safe in (worked + save, worked):
        yield "It can fail while it saves, too: interval + save good minutes in a row", 1 - interval / safe
    failing = _minutes(n, _minutes(restart, 0, chance), chance)
    yield "Nothing can fail during a restart: each takes `restart` minutes", 1 - interval / failing
    yield "Every failure costs a restart, too", 1 - interval / moving
    once = 1 - interval / (moving + restart)
    yield "A restart for each failure, and not one in all: (1 - chance)^-n - 1 on average", once
    to_the_end = 1 - interval * (1 - chance) ** n / n
    yield "An attempt that fails ends with the failure, and not after all n minutes", to_the_end
    yield "That is the share that lasts; the waste is the rest", interval / total
    yield "A save is waste as well: only the interval is lasting work", 1 - n / total
    yield "The waste is a share of *all* the time, less than 1", total / interval - 1


# The exercise

EXERCISE = function_exercise(
    id="12a",
    title="How often to save",
    function="saving",
    points=4,
    cases=trainings,
    tolerance=TOLERANCE,
    reasons=reasons,
    hints=(
        "Let t(n) be the mean number of minutes until n in a row were good. First come n - 1, then one more minute.",
        "That minute fails with the given chance: then a restart, and all of t(n) again. So t(n) = t(n - 1) + 1 + "
        "chance * (restart + t(n)). Solve for t(n).",
        "t = 0; interval + save times: t = (t + 1 + chance * restart) / (1 - chance). The waste is 1 - interval / t.",
    ),
)
