"""Exercise 05f: the collectives of one block and their bytes, by calculation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise

__all__ = ["EXERCISE"]


# Cases


def blocks(rng: np.random.Generator) -> Iterator[Case]:
    """Tokens, width, tensor-parallel ranks, replicas, whether the sequence is cut between the layers."""
    calls = [(8, 4, 2, 1, False), (8, 4, 2, 1, True), (8, 4, 1, 2, False)]
    for tensor, data, cut in ((4, 2, False), (2, 4, True), (1, 1, False), (8, 8, True)):
        calls.append((int(rng.integers(2, 60)) * 8, int(rng.integers(2, 60)) * 8, tensor, data, cut))
    yield Case(1, calls, [_traffic(*call) for call in calls], label="collectives of a block")


def _traffic(tokens: int, width: int, tensor: int, data: int, cut: bool) -> list[float]:
    """[all-reduces, all-gathers, reduce-scatters, bytes]; Shoeybi et al. 2019 and Korthikanti et al. 2022."""
    pairs, replicas = 4 * (tensor > 1), int(data > 1)
    activations = pairs * 2 * (tensor - 1) / tensor * tokens * width
    gradients = 2 * (data - 1) / data * 12 * width**2 / tensor
    return [pairs * (not cut) + replicas, pairs * cut, pairs * cut, 4 * (activations + gradients)]


# Diagnoses


def reasons(tokens: int, width: int, tensor: int, data: int, cut: bool) -> Iterator[tuple[str, list[float]]]:
    sums, gathers, scatters, total = _traffic(tokens, width, tensor, data, cut)
    activations = 4 * (tensor > 1) * 2 * (tensor - 1) / tensor * tokens * width * 4
    replicas = int(data > 1)
    forward = [(sums - replicas) / 2 + replicas, gathers / 2, scatters / 2, total - activations / 2]
    yield "The backward pass has as many collectives as the forward pass", forward
    yield (
        "A rank has 12 width² / tensor weights, and sums the gradients of those only",
        [sums, gathers, scatters, activations + (total - activations) * tensor],
    )
    yield "The replicas sum the gradients of the weights, once", [sums - replicas, gathers, scatters, activations]
    alone = [4 * (not cut) + 1, 4 * cut, 4 * cut, total]
    yield "In a group of one there is no collective, and nothing to count", alone
    if cut:
        again = 2 * (tensor > 1)
        yield (
            "A rank keeps what it gathered for the way back: nothing is gathered twice",
            [sums, gathers + again, scatters, total + activations / 4],
        )
        yield (
            "Where the sequence is cut there are no all-reduces of activations: each is a reduce-scatter and an "
            "all-gather",
            [4 + replicas, 0, 0, total],
        )
        yield (
            "A reduce-scatter and an all-gather send as many bytes as one all-reduce: nothing is saved but memory",
            [sums, gathers, scatters, total - activations / 2],
        )
    yield "Every replica has so many tokens of its own", [sums, gathers, scatters, total - activations * (1 - 1 / data)]
    yield "Four bytes a number", [sums, gathers, scatters, total / 4]
    layers = [2 * (sums - replicas) + replicas, 2 * gathers, 2 * scatters, total + activations]
    yield "One all-reduce for two layers: between the first and the second nothing crosses", layers


# The exercise

EXERCISE = function_exercise(
    id="05f",
    title="Traffic of a block",
    function="block_traffic",
    points=4,
    cases=blocks,
    tolerance=1e-9,
    reasons=reasons,
    hints=(
        "Where in a block are the f and the g? Which of them sums on the way forward, which on the way back?",
        "An f and a g around the attention, and around the MLP: two all-reduces forward, two backward. Where the "
        "sequence is cut, each is a reduce-scatter here and an all-gather there.",
        "4 · 2 (t − 1) / t · tokens · width numbers for activations, and 2 (d − 1) / d · 12 width² / t for gradients. "
        "A group of one has no collectives.",
    ),
)
