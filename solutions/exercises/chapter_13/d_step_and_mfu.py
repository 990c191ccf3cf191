"""Exercise 13d: the work of a step, the time that a published throughput means, and the share of it that is useful."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_13.shared import Model
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

Call = tuple[Model, int, int, int, float, float]


# Cases


def rows(rng: np.random.Generator) -> Iterator[Case]:
    """The example by hand, a long sequence, a large vocabulary, one layer, and sizes as in published tables."""
    calls: list[Call] = [
        ([2, 10, 1, 20], 40, 5, 2, 140_000, 400_000),
        ([2, 10, 1, 400], 40, 5, 2, 140_000, 400_000),
        ([1, 10, 1, 20], 4000, 3, 1, 140_000, 200_000),
    ]
    for _ in range(5):
        model = [int(rng.integers(8, 97)), 512 * int(rng.integers(2, 25)), 16, 1024 * int(rng.integers(1, 9))]
        batch, gpus = 64 * int(rng.integers(1, 33)), 8 * int(rng.integers(1, 193))
        call = model, int(rng.choice([32_000, 51_200, 128_256])), batch, gpus
        calls.append((*call, 1e12 * int(rng.integers(100, 170)), 312e12))
    yield Case(1, calls, [_step(*call) for call in calls], label="eight trainings")


def _step(*call: Any, layers: tuple = (4, 3), output: tuple = (3, 3), attention: int = 1) -> list[float]:
    """Seconds and MFU; layers and output are done so often, by the devices and as the model needs it."""
    (number, h, _, s), vocabulary, batch, gpus, flops_per_s, peak_flops_per_s = call
    layer, logits = 24 * s * h * h + attention * 4 * s * s * h, 2 * s * h * vocabulary
    done, needed = (batch * (a * number * layer + b * logits) for a, b in zip(layers, output, strict=True))
    seconds = done / (gpus * flops_per_s)
    return [seconds, needed / (seconds * gpus * peak_flops_per_s)]


# Diagnoses


def reasons(*call: Any) -> Reasons:
    model, _, batch, gpus, flops_per_s, peak = call
    seconds, share = _step(*call)
    hardware = "That share counts recomputed work, too: it is the hardware's. What does the model need?"
    yield hardware, [seconds, flops_per_s / peak]
    yield "Three quarters is near only: the output is not recomputed", [seconds, 0.75 * flops_per_s / peak]
    yield "The devices do the layers' forward pass twice: 4 forward passes in all", _step(*call, layers=(3, 3))
    yield "The output is not recomputed: 3 times its forward pass", _step(*call, output=(4, 3))
    yield "The output is a matrix product, too, 2 s h V", _step(*call, output=(0, 0))
    yield "Attention has products of its own, 4 s² h", _step(*call, attention=0)
    yield "Backward is twice forward", _step(*call, layers=(3, 2), output=(2, 2))
    yield "Only the forward pass is done again, not the backward pass", _step(*call, layers=(6, 3))
    yield "All GPUs work on a step, not one", [seconds * gpus, share]
    yield "All GPUs work on a step, not one", [seconds * gpus, share / gpus]
    yield "A step has `batch` sequences", [seconds / batch, share]
    yield "The GPUs achieve flops_per_s: the step takes longer than at the peak", [seconds * flops_per_s / peak, share]
    yield "A share, not a percentage", [seconds, 100 * share]
    yield "There are `layers` of them, and one output", _step([1, *model[1:]], *call[1:])


# The exercise

EXERCISE = function_exercise(
    id="13d",
    title="Work of a step, and MFU",
    function="step_and_mfu",
    points=4,
    cases=rows,
    tolerance=1e-9,
    reasons=reasons,
    hints=(
        "For one sequence: a layer forward is 24 s h² + 4 s² h, the output 2 s h V. Backward is twice that.",
        "Done: every layer 4 times its forward pass, the output 3 times. Needed: 3 times each. Both times `batch`.",
        "Seconds: what is done over what all GPUs achieve. MFU: what is needed over what they could in that time.",
    ),
)
