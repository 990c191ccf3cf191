"""Exercise 04c: what a rank sends for a layer that is cut by examples, by outputs and by inputs, by calculation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise
from course_lib.model_parallel.traffic import LINEAR_SPLITS, linear_traffic

__all__ = ["EXERCISE"]


# Cases


def sizes(rng: np.random.Generator) -> Iterator[Case]:
    """Sizes that the ranks divide, so that all ranks send the same."""
    calls = [(8, 16, 4, 2)]
    for world_size in (2, 4, 8, 1):
        batch, inputs, outputs = (int(rng.integers(2, 99)) * 8 for _ in range(3))
        calls.append((batch, inputs, outputs, world_size))
    yield Case(1, calls, [_counted(*call) for call in calls], label="bytes of three cuts")


def _counted(batch: int, inputs: int, outputs: int, world_size: int) -> list[int]:
    """From the library's formula, which its tests hold against the wire."""
    layer = {"batch": batch, "inputs": inputs, "outputs": outputs, "world_size": world_size}
    return [linear_traffic(split, **layer).busiest_bytes for split in LINEAR_SPLITS]


# Diagnoses


def reasons(batch: int, inputs: int, outputs: int, world_size: int) -> Iterator[tuple[str, list[float]]]:
    """What three numbers would be right for."""
    right = _counted(batch, inputs, outputs, world_size)
    share = (world_size - 1) / world_size
    yield "The bias has a gradient, too", [right[0] - 8 * share * outputs, *right[1:]]
    yield "By outputs and by inputs are exchanged", [right[0], right[2], right[1]]
    half = [right[0], 4 * share * batch * (inputs + outputs), 4 * share * batch * (inputs + outputs)]
    yield "An all-reduce goes round the ring twice, an all-gather once", half
    forward = [right[0], 4 * share * batch * outputs, 8 * share * batch * outputs]
    words = "That is the forward pass; on the way back the gradient of x is summed, or gathered"
    yield words, forward
    yield words, [0, *forward[1:]]
    own = [right[0], *(value / world_size for value in right[1:])]
    yield "`batch` counts the examples of all ranks; a rank that has part of the weight computes with all of them", own
    yield (
        "A weight that is cut has its gradient where it lies: only activations cross then",
        [right[0], right[0] + right[1], right[0] + right[2]],
    )
    yield "A ring sends (p - 1)/p of it: each rank has a part already", [value / (share or 1) for value in right]
    yield "A ring sends (p - 1)/p of it, not p - 1 times: messages are parts of it", [v * world_size for v in right]
    yield "Four bytes a number", [value / 4 for value in right]
    full = [8 * share * batch * (inputs + outputs)] * 2
    yield "Parts that lie side by side are gathered, not summed: half of an all-reduce", [right[0], *full]


# The exercise

EXERCISE = function_exercise(
    id="04c",
    title="Bytes of three cuts",
    function="split_bytes",
    points=4,
    cases=sizes,
    tolerance=1e-9,
    reasons=reasons,
    hints=(
        "Per cut: what is summed (an all-reduce, 2n(p - 1)/p numbers from each rank), what is gathered (half of that)?",
        "By examples: the gradients of weight and bias are summed. By outputs: y is gathered, x_grad summed.",
        "With s = (p - 1) / p * 4 bytes: 2 s outputs (inputs + 1); s batch (outputs + 2 inputs); the third likewise.",
    ),
)
