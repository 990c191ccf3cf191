"""Exercise 11f: how many nodes one storage serves, what stops the next, and how many opens are under way then."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

Call = tuple[int, int, int, int, int, float]


# Cases


def storages(rng: np.random.Generator) -> Iterator[Case]:
    """Small files and shards; the opens are the limit, or the bytes; one node is too many; nodes that fit exactly."""
    calls: list[Call] = [
        (1_000, 100_000, 1, 20_000, 5_000_000_000, 0.002),
        (1_000, 100_000, 100, 20_000, 5_000_000_000, 0.002),
        (3_000, 50_000, 1, 20_000, 5_000_000_000, 0.0023),
        (3_000, 50_000, 1, 2_000, 5_000_000_000, 0.0023),
        (4_000, 150_000, 1000, 50, 6_000_000_000, 0.01),
    ]
    while len(calls) < 12:
        rate, size = int(rng.integers(2, 40)) * 100, int(rng.integers(2, 60)) * 5000
        file_samples = (1, 8, 64, 1000)[len(calls) % 4]
        call = rate, size, file_samples, int(rng.integers(5, 400)) * 100, int(rng.integers(2, 60)) * 10**9, 0.002
        if _nodes(call, 0) != _nodes(call, 1):
            calls.append(call)
    yield Case(1, calls, [_right(*call) for call in calls], label="twelve storages")


def _nodes(call: Call, limit: int) -> int:
    """Nodes that the opens alone (0) or the bytes alone (1) allow."""
    rate, size, file_samples, opens, delivered, _ = call
    return (opens * file_samples // rate) if limit == 0 else delivered // (rate * size)


def _right(*call: float, felt: Callable[[list[int]], int] = min) -> list:
    """[nodes, the limit, opens under way]; what is `felt` is the smaller of both limits."""
    allowed = [_nodes(call, limit) for limit in (0, 1)]  # type: ignore[arg-type]
    nodes, (rate, _, file_samples, _, _, open_s) = felt(allowed), call
    return [nodes, ("opens", "bytes")[allowed.index(nodes)], nodes * rate / file_samples * open_s]


# Diagnoses


def reasons(*call: float) -> Reasons:
    rate, size, file_samples, opens, delivered, open_s = call
    nodes, limit, flying = _right(*call)
    exact = min(opens * file_samples / rate, delivered / (rate * size))
    per_node_s = rate / file_samples * open_s
    for under_way in (math.ceil(exact) * per_node_s, flying):
        yield "The next node is not served in full any more: round down", [math.ceil(exact), limit, under_way]
    yield "There is no part of a node: round down", [exact, limit, exact * per_node_s]
    yield "That takes the larger of two limits; the smaller one is felt first", _right(*call, felt=max)
    small = _right(rate, size, 1, opens, delivered, open_s)
    yield "A file holds several samples: one open brings them all", small
    yield "Opens a second are samples a second divided by the samples of a file", [nodes, limit, flying * file_samples]
    yield "All nodes have opens under way, not one", [nodes, limit, per_node_s]
    yield "Little's law: opens a second times the seconds of one", [nodes, limit, nodes * rate / file_samples]
    yield "Little's law has what the nodes ask for, not what the storage could answer", [nodes, limit, opens * open_s]
    for whole in (rate // file_samples, math.ceil(rate / file_samples)):
        few = [opens // whole if whole else math.inf, delivered // (rate * size)]
        value = [min(few), ("opens", "bytes")[few.index(min(few))], min(few) * whole * open_s]
        yield "A node's opens a second need not be a whole number: do not round them", value
    by_bytes = delivered // (rate * size)
    yield "That leaves out the opens", [by_bytes, "bytes", by_bytes * per_node_s]
    by_opens = opens * file_samples // rate
    yield "That leaves out the bytes", [by_opens, "opens", by_opens * per_node_s]
    other = "bytes" if limit == "opens" else "opens"
    yield 'The limit is "opens" or "bytes", whichever allows fewer nodes', [nodes, other, flying]


# The exercise

EXERCISE = function_exercise(
    id="11f",
    title="How many nodes",
    function="most_nodes",
    points=4,
    cases=storages,
    tolerance=1e-9,
    reasons=reasons,
    hints=(
        "What does one node ask of the storage in a second: how many opens, how many bytes?",
        "Each limit divided by what one node asks for; the smaller one is felt. Round down.",
        "Little's law: opens a second of all these nodes, times open_s.",
    ),
)
