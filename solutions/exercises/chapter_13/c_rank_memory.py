"""Exercise 13c: what a rank of a mesh keeps in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_13.shared import Mesh, Model
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

Call = tuple[Model, Mesh, int, int, int, int]


# Cases


def ranks(rng: np.random.Generator) -> Iterator[Case]:
    """First, middle and last stages; fewer micro-batches than stages; every stage of ZeRO; one rank alone."""
    small = [4, 100, 10, 50]
    calls: list[Call] = [
        (small, [2, 2, 2], 0, 1, 8, 1),
        (small, [2, 2, 2], 1, 1, 8, 1),
        (small, [1, 1, 1], 0, 1, 1, 0),
        ([4, 120, 8, 50], [4, 1, 1], 0, 2, 2, 2),
        (small, [2, 4, 1], 0, 1, 2, 0),
        (small, [8, 1, 2], 0, 1, 4, 3),
    ]
    for zero in (0, 1, 2, 3, 1):
        p, heads = int(rng.choice([2, 3, 4])), int(rng.choice([16, 32]))
        model = [12 * int(rng.integers(1, 4)), heads * int(rng.choice([64, 128])), heads, 512 * int(rng.integers(1, 5))]
        mesh = [int(rng.integers(2, 9)), p, int(rng.choice([2, 4]))]
        calls.append((model, mesh, int(rng.integers(p)), int(rng.integers(1, 5)), int(rng.integers(1, 9)), zero))
    yield Case(1, calls, [_memory(*call) for call in calls], label="eleven ranks")


def _memory(*call: Any, held: int | None = None) -> list[float]:
    """Four numbers of bytes; `held` micro-batches under way in place of the right ones."""
    (layers, h, a, s), (d, p, t), stage, micro_batch, micro_batches, zero = call
    parameters = 12 * h * h * layers / (p * t)
    shards = [1 if zero < level else d for level in (3, 2, 1)]
    kept = [count * parameters / parts for count, parts in zip((2, 2, 12), shards, strict=True)]
    held = min(p - stage, micro_batches) if held is None else held
    layer = s * micro_batch * h * (34 + 5 * a * s / h) / t
    return [*kept, held * layer * layers / p]


# Diagnoses


def reasons(*call: Any) -> Reasons:
    (_, hidden, heads, sequence), (d, p, t), stage, _, m, zero = call
    right = _memory(*call)
    states, kept = right[:3], right[3]
    under_way = {
        "Every stage holds fewer micro-batches than the one before, the last one only 1": min(p, m),
        "The first stage holds most: its micro-batches come back last": min(stage + 1, m),
        "There cannot be more micro-batches under way than there are": p - stage,
        "1F1B does not hold all micro-batches, GPipe does": m,
        "Several micro-batches are under way at once": 1,
    }
    for text, held in under_way.items():
        yield text, _memory(*call, held=held)
    yield "A stage holds activations of its own layers only", [*states, kept * p]
    yield "Tensor ranks share the activations, too", [*states, kept * t]
    scores = 5 * heads * sequence / hidden
    layer = kept / (34 + scores)  # what a byte for each number of a layer's input makes
    yield "The scores of attention are kept, too: 5 a s / h", [*states, layer * 34]
    yield "5 a s / h need not be whole: nothing is cut off", [*states, layer * (34 + scores // 1)]
    for whole in (10, 34, scores):
        shared = "Tensor ranks share all that a layer keeps: the sequence is split, too"
        yield shared, [*states, layer * (34 + scores + (t - 1) * whole)]
    yield "Data ranks have a micro-batch each: they do not share activations", [*states, kept / d]
    for level in (each for each in range(4) if each != zero):
        text = f"Parts are as with ZeRO stage {level}. Stage 1 shards the states, 2 the gradients, too, 3 all"
        yield text, _memory(*call[:5], level)
    yield "ZeRO shards over the data ranks", _memory(call[0], [t, p, t], *call[2:])
    yield "A rank has the layers of its stage only", [*(p * each for each in states), kept]
    yield "Tensor ranks share each layer's parameters", [*(t * each for each in states), kept]
    adam = "Adam's states are 12 bytes a parameter: a 32-bit copy of it and two moments"
    yield adam, [*states[:2], states[2] * 8 / 12, kept]
    yield "Parameters and gradients have 16 bits, 2 bytes each", [2 * states[0], 2 * states[1], states[2], kept]
    yield "Four numbers, not their sum", sum(right)


# The exercise

EXERCISE = function_exercise(
    id="13c",
    title="Memory of a rank",
    function="rank_memory",
    points=5,
    cases=ranks,
    tolerance=1e-9,
    reasons=reasons,
    hints=(
        "First how many parameters the rank has: 12 h² a layer, layers / p layers, and each shared by t ranks.",
        "ZeRO divides by d: the states from stage 1 on, the gradients from stage 2 on, the parameters at stage 3.",
        "Micro-batches under way on stage k in 1F1B: p - k, but never more than there are.",
    ),
)
