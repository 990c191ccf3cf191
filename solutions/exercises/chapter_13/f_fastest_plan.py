"""Exercise 13f: of all meshes and micro-batches that fit the fastest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.common import Reasons, function_exercise, too_slow

__all__ = ["EXERCISE"]


class Call(NamedTuple):
    """A cluster, a model and what fits."""

    gpus: int
    node: int
    layers: int
    batch: int
    parameters: int
    activations: int
    most_bytes: int


Found = tuple[int, int, int, int]  # data, pipeline, tensor, micro-batch
GB = 10**9


# Cases


def clusters(rng: np.random.Generator) -> Iterator[Case]:
    """The example by hand, one GPU, what fits to the byte, what fits nowhere, ties, and drawn ones."""
    calls = [
        Call(4, 2, 6, 4, 6 * GB, 10 * GB, 80 * GB),
        Call(1, 8, 4, 8, 1 * GB, 2 * GB, 24 * GB),
        Call(4, 4, 8, 16, 8 * GB, 8 * GB, 40 * GB),
        Call(2, 2, 8, 8, 20 * GB, 4 * GB, 40 * GB),
        Call(8, 8, 12, 16, 2 * GB, 1 * GB, 80 * GB),
        Call(16, 8, 6, 32, 22 * GB, 24 * GB, 40 * GB),
        Call(24, 8, 12, 144, 29 * GB, 40 * GB, 80 * GB),
        Call(24, 8, 18, 96, 27 * GB, 7 * GB, 80 * GB),
        Call(24, 4, 10, 144, 21 * GB, 3 * GB, 80 * GB),
    ]
    while len(calls) < 14:
        gpus, layers = int(rng.choice([8, 16, 24, 32, 64])), int(rng.choice([12, 24, 30, 40, 48]))
        batch = gpus * int(rng.integers(1, 7))
        parameters, activations = int(rng.integers(4, 40)) * GB, int(rng.integers(2, 40)) * GB
        call = Call(gpus, int(rng.choice([4, 8])), layers, batch, parameters, activations, 80 * GB)
        if _fastest(call):
            calls.append(call)
    yield Case(1, calls, [_fastest(call) for call in calls], label="fourteen clusters")


def _needed_bytes(call: Call, plan: Found) -> float:
    """The page's `needed_bytes`."""
    _, p, t, b = plan
    return 16 * call.parameters / (p * t) + call.activations * b / t


def _slowness(plan: Found, micro_batches: float) -> float:
    """The page's `slowness`."""
    _, p, t, b = plan
    return round((1 + (p - 1) / micro_batches) * (1 + (t - 1) / 20) * (1 + 1 / (4 * b)), 2)


def _plans(call: Call, node: bool = True, layers: bool = True) -> Iterator[Found]:
    """All plans in the order of the rule for ties, whatever they need."""
    for t in range(1, call.gpus + 1):
        for p in range(1, call.gpus // t + 1):
            if call.gpus % (p * t) or (node and call.node % t) or (layers and call.layers % p):
                continue
            d = call.gpus // (p * t)
            yield from ((d, p, t, b) for b in range(call.batch, 0, -1) if call.batch % (d * b) == 0)


def _slow(call: Call, plan: Found) -> float:
    return _slowness(plan, call.batch // (plan[0] * plan[3]))


def _fits(call: Call, plan: Found) -> bool:
    return _needed_bytes(call, plan) <= call.most_bytes


def _fastest(call: Call) -> list[int]:
    fitting = [(_slow(call, plan), plan) for plan in _plans(call) if _fits(call, plan)]
    return list(min(fitting, key=lambda pair: pair[0])[1]) if fitting else []


# Diagnoses


def no_plan(case: Case, outcome: Outcome) -> str | None:
    """The minimum of nothing, or None for it."""
    failure = outcome.failure
    if failure is None:
        only = all((came is None) == (not right) for right, came in zip(case.expected, outcome.values, strict=True))
        return "fastest_plan gave None where no plan fits: return []" if only else None
    if failure.cause not in ("ValueError", "TypeError", "IndexError"):
        return None
    return None if case.expected[failure.call] else f"Where no plan fits, return []. {failure.text}"


def reasons(*arguments: int) -> Reasons:
    call = Call(*arguments)

    def best(plans: Iterable[Found], key: Callable[[Found], float] = lambda plan: _slow(call, plan)) -> list[int]:
        return list(min(plans, key=key, default=()))

    everything = list(_plans(call))
    fitting = [plan for plan in everything if _fits(call, plan)]
    yield "It does not fit: look at needed_bytes", best(everything)
    smaller = [plan for plan in everything if _needed_bytes(call, plan) < call.most_bytes]
    yield "What needs exactly most_bytes fits", best(smaller)
    any_tensor = [plan for plan in _plans(call, node=False) if _fits(call, plan)]
    yield "Tensor ranks must divide a node", best(any_tensor)
    yield "Tensor ranks must divide a node", best(plan for plan in any_tensor if plan[2] <= call.node)
    any_stages = (plan for plan in _plans(call, layers=False) if _fits(call, plan))
    yield "Every stage has equally many layers", best(any_stages)
    yield "Try larger micro-batches, too", best(plan for plan in fitting if plan[3] == 1)
    count = "A data rank has batch / (d b) micro-batches"
    yield count, best(fitting, lambda plan: _slowness(plan, call.batch / plan[0]))
    yield count, best(fitting, lambda plan: _slowness(plan, call.batch / plan[3]))
    yield "That one fits, but it is not the fastest", list(fitting[0]) if fitting else []
    ties = "Equally slow: fewer tensor ranks go first, then fewer stages, then the larger micro-batch"
    for plans in (fitting[::-1], sorted(fitting), sorted(fitting, reverse=True)):
        yield ties, best(plans)
    yield ties, best(sorted(fitting, key=lambda plan: (*plan[:3], -plan[3])))
    yield ties, best(sorted(fitting, key=lambda plan: (plan[2], plan[1], plan[3])))
    yield ties, best(sorted(fitting, key=lambda plan: (plan[1], plan[2], -plan[3])))
    right = best(fitting)
    yield "The order is data, pipeline, tensor, micro-batch", [right[2], right[1], right[0], right[3]] if right else []


# The exercise

EXERCISE = function_exercise(
    id="13f",
    title="A planner",
    function="fastest_plan",
    points=4,
    cases=clusters,
    reasons=reasons,
    before=(
        no_plan,
        too_slow("fastest_plan", "d follows from t and p: two loops for these and one for b are enough"),
    ),
    hints=(
        "Three loops: t over the divisors of node, p over those of layers, b; d is gpus // (p * t) if that divides.",
        "A plan is one of the candidates if batch % (d * b) == 0 and needed_bytes(...) <= most_bytes.",
        "min() over tuples (slowness, t, p, -b, d) takes care of the ties.",
    ),
)
