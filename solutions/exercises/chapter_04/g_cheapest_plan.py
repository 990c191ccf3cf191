"""Exercise 04g: data or model parallelism for each layer, where changing sides costs something."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise, too_slow

__all__ = ["EXERCISE"]


# Cases


def networks(rng: np.random.Generator) -> Iterator[Case]:
    """Costs of each layer under both choices, and of changing sides in front of it; all plans are tried."""
    calls: list[tuple] = [([2, 2, 5, 9], [8, 3, 2, 1], [0, 1, 3, 5]), ([2], [7], [0])]
    for length in (3, 5, 8, 10, 40):  # 2^40 plans: nobody tries them all
        data, model, change = (rng.integers(1, 25 * length, length).tolist() for _ in range(3))
        calls.append((data, model, [0, *change[1:]]))
    yield Case(1, calls, [_cheapest(*call) for call in calls], label="the cheapest plan")


def _cheapest(data: list[int], model: list[int], change: list[int]) -> int:
    """By all plans where they are few, and in any case layer by layer."""
    ends = (data[0], model[0])
    for by_data, by_model, crossing in zip(data[1:], model[1:], change[1:], strict=True):
        ends = by_data + min(ends[0], ends[1] + crossing), by_model + min(ends[1], ends[0] + crossing)
    if len(data) <= 8:
        plans = product((0, 1), repeat=len(data))
        assert min(ends) == min(_cost(plan, data, model, change) for plan in plans)
    return min(ends)


def _last_by_data(data: list[int], model: list[int], change: list[int]) -> int:
    """The least cost of the plans whose last layer is data parallel."""
    return _cheapest([*data, 0], [*model, 10**6], [*change, 10**6])


def _cost(plan: tuple[int, ...], data: list[int], model: list[int], change: list[int]) -> int:
    crossings = sum(cost for before, after, cost in zip(plan, plan[1:], change[1:], strict=False) if before != after)
    return crossings + sum((data, model)[choice][number] for number, choice in enumerate(plan))


def _changes_once(first: list[int], second: list[int], change: list[int]) -> int:
    """The least cost of the plans that begin with one side and change to the other at most once."""
    plans = [(0,) * number + (1,) * (len(first) - number) for number in range(len(first) + 1)]
    return min(_cost(plan, first, second, change) for plan in plans)


# Diagnoses


def reasons(data: list[int], model: list[int], change: list[int]) -> Iterator[tuple[str, int]]:
    free = [int(by_model < by_data) for by_data, by_model in zip(data, model, strict=True)]
    yield "That leaves out what changing sides costs", sum(map(min, data, model))
    yield (
        "Each layer's own best is not the best of all: a change of sides may cost more than it saves",
        _cost(tuple(free), data, model, change),
    )
    yield "That never changes sides", min(sum(data), sum(model))
    yield (
        "The first layer is there once: begin with it, and go on with the layer after it",
        _cheapest([data[0], *data], [model[0], *model], [0, *change]),
    )
    once = "A plan may change sides more than once"
    yield once, _changes_once(data, model, change)
    yield once, min(_changes_once(data, model, change), _changes_once(model, data, change))
    greedy = [free[0]]
    for number in range(1, len(data)):
        stay, go = ((data, model)[side][number] for side in (greedy[-1], 1 - greedy[-1]))
        greedy.append(greedy[-1] if stay <= go + change[number] else 1 - greedy[-1])
    yield (
        "Looking one layer ahead is not enough: keep the best plan that ends on each side",
        _cost(tuple(greedy), data, model, change),
    )
    late = [0, *change[:-1]]
    yield "change[i] is what it costs to change sides in front of layer i, not behind it", _cheapest(data, model, late)
    by_data, by_model = data[0], model[0]
    for number in range(1, len(data)):
        by_data = data[number] + min(by_data, by_model + change[number])
        by_model = model[number] + min(by_model, by_data + change[number])  # of a layer that is passed already
    yield "Both numbers of a layer come of those of the layer before: change the two at once", min(by_data, by_model)
    yield (
        "The last layer may end on either side: the smaller number of the two counts",
        _last_by_data(data, model, change),
    )


# The exercise

EXERCISE = function_exercise(
    id="04g",
    title="A choice for each layer",
    function="cheapest_plan",
    points=3,
    cases=networks,
    reasons=reasons,
    before=(
        too_slow(
            "cheapest_plan", "40 layers have 2^40 plans: keep the best plan that ends on each side, layer by layer"
        ),
    ),
    hints=(
        "How many plans are there for 40 layers? What must you know of the first 39 to choose for the last one?",
        "Two numbers are enough: the least cost of all layers so far if the last one is data parallel, and if it is "
        "model parallel.",
        "With those two, d and m: the next d is data[i] + min(d, m + change[i]), and the next m likewise.",
    ),
)
