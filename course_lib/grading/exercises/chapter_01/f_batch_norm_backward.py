"""Exercise 01f: the backward pass of batch normalization over a batch that is spread over ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch

from course_lib.grading.exercise import NUMBERS, Case, Exercise, whole_numbers
from course_lib.grading.exercises.chapter_01.shared import (
    FAILURES,
    PERTURBED,
    Mistakes,
    all_reduces,
    in_float32,
    mistaken,
    some_messages,
    words_of,
)

__all__ = ["EXERCISE"]


# Cases

EPSILON = 1e-5  # what batch normalization adds to a variance


def normalized_batches(rng: np.random.Generator) -> Iterator[Case]:
    """What the forward pass left on each rank, and the gradient from above; the formula on the joined batch."""
    for number, counts in enumerate(((4,), (3, 2), (2, 1, 4), (1, 4, 2, 3), (3, 0, 2))):
        world_size, features = len(counts), (3, 4, 20, 33, 5)[number]
        batch = torch.from_numpy(rng.integers(1, 100, (sum(counts), features))).double()
        upstream = whole_numbers(rng, batch.numel(), torch.float64).reshape(batch.shape)
        deviation = (batch.var(0, correction=0) + EPSILON).sqrt()
        normalized = (batch - batch.mean(0)) / deviation
        expected = (upstream - upstream.mean(0) - normalized * (upstream * normalized).mean(0)) / deviation
        rows = zip(upstream.split(counts), normalized.split(counts), strict=True)
        inputs = [(above, hat, deviation, sum(counts)) for above, hat in rows]
        label = f"world_size {world_size}, {features} features, {words_of(counts)} examples"
        about = {"features": features, "batch": batch, "counts": counts}
        yield Case(world_size, inputs, expected.split(counts), int(number in PERTURBED), label, about)


# Diagnoses


def _input_gradients(case: Case) -> Mistakes:
    rows = [inputs[:3] for inputs in case.inputs]
    count = case.inputs[0][3]
    sums = sum(g.sum(0) for g, _, _ in rows), sum((g * hat).sum(0) for g, hat, _ in rows)

    def made(mean: Callable, product: Callable) -> list[torch.Tensor]:
        return [(g - mean(g) - hat * product(g * hat)) / deviation for g, hat, deviation in rows]

    def joined(number: int) -> Callable:
        return lambda own: sums[number] / count

    def own_mean(own: torch.Tensor) -> torch.Tensor:
        return own.mean(0)

    def nothing(own: torch.Tensor) -> float:
        return 0.0

    yield "treats mean and deviation as constants: they depend on every example as well", made(nothing, nothing)
    yield (
        "takes both means over its own part: they run over the joined batch, for every rank's examples moved the "
        "statistics",
        made(own_mean, own_mean),
    )
    yield "lacks the part that goes through the deviation: x̂ times the mean of g x̂", made(joined(0), nothing)
    yield "lacks the part that goes through the mean: the mean of g", made(nothing, joined(1))
    yield (
        "divided the sums over all ranks by its own number of examples; N is that of the joined batch",
        made(lambda own: sums[0] / len(own), lambda own: sums[1] / len(own)),
    )
    yield "used sums where means belong: divide by N", made(lambda own: sums[0], lambda own: sums[1])
    some = [(g, g * hat) for g, hat, _ in rows if len(g)]
    means = [sum(pair[number].mean(0) for pair in some) / len(some) for number in (0, 1)]
    yield (
        "took the mean of the ranks' means, as if their parts were equally long: add up sums, and divide by N",
        made(lambda own: means[0], lambda own: means[1]),
    )
    yield "swapped the two means: the sums come back in the order in which you joined them", made(joined(1), joined(0))
    yield from _other_means(rows, made, sums, count)
    yield from _slips_in_the_formula(case, (sums[0] + sums[1]) / count)


def _other_means(rows: list, made: Callable, sums: tuple, count: int) -> Mistakes:
    """Means with another divisor, one of them over the own part only, or a product of means."""
    yield (
        "divided by the number of ranks; the means run over examples: divide by N",
        made(lambda own: sums[0] / len(rows), lambda own: sums[1] / len(rows)),
    )
    yield "divided by N twice", made(lambda own: sums[0] / count**2, lambda own: sums[1] / count**2)
    first, second = (lambda own: sums[0] / count), (lambda own: sums[1] / count)
    lonely = "shares one of the two sums only: mean({}) runs over its own examples. Both need all ranks"
    yield lonely.format("g x̂"), made(first, lambda own: own.sum(0) / count)
    yield lonely.format("g"), made(lambda own: own.sum(0) / count, second)
    hats = sum(hat.sum(0) for _, hat, _ in rows) / count
    yield "took mean(g) × mean(x̂) for mean(g x̂): multiply first", made(first, lambda own: sums[0] / count * hats)


def _slips_in_the_formula(case: Case, both: torch.Tensor) -> Mistakes:
    """Right means (both: their sum), wrongly put together."""
    rows = [inputs[:3] for inputs in case.inputs]
    pairs = list(zip(case.expected, rows, strict=True))
    mean = sum(g.sum(0) for g, _, _ in rows) / case.inputs[0][3]
    yield "forgot to divide by the deviation", [right * row[2] for right, row in pairs]
    yield "took the root of the deviation: it is a root already", [right * row[2].sqrt() for right, row in pairs]
    yield "divided by the deviation twice: that is the variance", [right / row[2] for right, row in pairs]
    yield "multiplied by the deviation in place of dividing by it", [right * row[2] ** 2 for right, row in pairs]
    yield (
        "added the part that goes through the deviation, where it must be subtracted",
        [2 * (g - mean) / deviation - right for right, (g, _, deviation) in pairs],
    )
    yield "took mean(g x̂) away without x̂ before it", [(g - both) / deviation for g, _, deviation in rows]


wrong_backward = mistaken(_input_gradients)


# The exercise

EXERCISE = Exercise(
    id="01f",
    title="Batch normalization, the way back",
    function="batch_norm_backward",
    points=3,
    answer="return",
    cases=normalized_batches,
    dtypes=NUMBERS,
    rules=(
        some_messages(),
        all_reduces(
            lambda case: 2 * case.about["features"] + 1, "both sums fit into one message of 2 features elements"
        ),
    ),
    diagnoses=(*FAILURES, in_float32, wrong_backward),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-6,
    hints=(
        "Which two terms of the formula need the other ranks? Both are means over the joined batch.",
        "Each rank adds up its own rows: upstream.sum(0) and (upstream * normalized).sum(0). Join both with torch.cat, "
        "all-reduce, take them apart again with tensor_split(2) or chunk(2).",
    ),
)
