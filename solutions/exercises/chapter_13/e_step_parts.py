"""Exercise 13e: the time of a step on a mesh, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_13.shared import Mesh
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

Call = tuple[Mesh, int, int, int, float, int, int, list[float]]


# Cases


def steps(rng: np.random.Generator) -> Iterator[Case]:
    """The example by hand, with one chunk and two; dimensions of one rank; drawn ones."""
    hand = (8, 4, 1, 0.010, 10_000_000, 400_000_000, [10e9, 1e9])
    calls: list[Call] = [
        ([2, 2, 2], *hand),
        ([2, 2, 2], *hand[:2], 2, *hand[3:]),
        ([1, 4, 1], *hand),
        ([4, 1, 1], *hand),
        ([1, 1, 4], *hand),
    ]
    for _ in range(5):
        mesh = [int(rng.integers(2, 9)), int(rng.integers(2, 5)), int(rng.choice([2, 4, 8]))]
        chunks = int(rng.integers(1, 4))
        layers, micro_batches = mesh[1] * chunks * int(rng.integers(1, 5)), mesh[1] * int(rng.integers(1, 6))
        sizes = int(rng.integers(5, 90)) * 10**6, int(rng.integers(5, 90)) * 10**8
        rates = [int(rng.integers(10, 30)) * 10e9, int(rng.integers(10, 50)) * 1e9]
        calls.append((mesh, layers, micro_batches, chunks, int(rng.integers(2, 40)) / 1000, *sizes, rates))
    yield Case(1, calls, [_parts(*call) for call in calls], label="ten steps")


def _ring(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


def _parts(*call: Any, all_reduces: int = 4, tensor_ring: bool = True, data_ring: bool = True) -> list[float]:
    """Work, tensor messages, bubble, gradients; a ring of n ranks sends 2(n - 1)/n of the bytes, or all of them."""
    (d, p, t), layers, m, chunks, layer_s, activation_bytes, gradient_bytes, (inside, outside) = call
    factor_t, factor_d = (_ring(t) if tensor_ring else 1), (_ring(d) if data_ring else 1)
    work = m * layers / p * layer_s / t
    tensor = m * layers / p * all_reduces * factor_t * activation_bytes / inside
    return [work, tensor, (p - 1) / chunks * (work + tensor) / m, factor_d * gradient_bytes / (p * t) / outside]


# Diagnoses


def reasons(*call: Any) -> Reasons:
    (_, p, t), _, m, chunks, *_ = call
    work, tensor, bubble, data = right = _parts(*call)
    shorter = "Chunks make the steps of filling and draining shorter: divide the bubble by them"
    yield shorter, [work, tensor, bubble * chunks, data]
    yield "Chunks do not make the work less, only the bubble", [work / chunks, tensor / chunks, bubble, data]
    waits = "A micro-batch's messages are in the bubble, too: who waits for it waits for them"
    yield waits, [work, tensor, (p - 1) / chunks * work / m, data]
    yield "The bubble is (p - 1) / chunks micro-batches long, on one stage", [work, tensor, bubble * m, data]
    seconds = "(p - 1) / (m + p - 1) is a share; asked for are seconds"
    yield seconds, [work, tensor, (p - 1) / (m + p - 1), data]
    yield "That share is of a step with its bubble", [work, tensor, (p - 1) / (m + p - 1) * (work + tensor), data]
    for count in (1, 2):
        yield "Four all-reduces a layer: two forward, two backward", _parts(*call, all_reduces=count)
    for tensor_ring, data_ring in ((False, False), (True, False), (False, True)):
        plain = _parts(*call, tensor_ring=tensor_ring, data_ring=data_ring)
        yield "A ring of n ranks sends 2 (n - 1) / n of the bytes, and one rank alone nothing", plain
    for factor in (p * t, p, t):
        own = "A rank has gradients of its own stage and its tensor part only"
        yield own, [work, tensor, bubble, data * factor]
    yield "Gradients are averaged once a step, behind the last micro-batch", [work, tensor, bubble, data * m]
    yield "A stage has layers / p layers", [p * work, p * tensor, p * bubble, data]
    long = work * t
    yield "Tensor ranks share a layer's work", [long, tensor, (p - 1) / chunks * (long + tensor) / m, data]
    yield "Tensor ranks are inside a node, data ranks are not", _parts(*call[:7], call[7][::-1])
    yield "That is one micro-batch; a step has several", [work / m, tensor / m, bubble, data]
    yield "The parts, not their sum", sum(right)


# The exercise

EXERCISE = function_exercise(
    id="13e",
    title="Time of a step, part by part",
    function="step_parts",
    points=5,
    cases=steps,
    tolerance=1e-9,
    reasons=reasons,
    hints=(
        "First one micro-batch on one stage: layers / p layers, each with its work / t and its four all-reduces.",
        "A step has m of these on each stage, and the bubble is (p - 1) / chunks of them.",
        "The gradients of a rank: the model's divided by p t. One ring of d ranks, on the outside links.",
    ),
)
