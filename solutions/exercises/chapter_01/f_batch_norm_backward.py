"""Exercise 01f: the backward pass of batch normalization over a batch that is spread over ranks."""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from course_lib.grading.exercise import NUMBERS, Case, whole_numbers
from course_lib.grading.exercises.chapter_01.shared import (
    FAILURES,
    PERTURBED,
    all_reduces,
    in_float32,
    some_messages,
    words_of,
)
from course_lib.grading.exercises.common import Mistakes, mistaken, rank_exercise

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


def _made(case: Case, mean: Callable, product: Callable) -> list[torch.Tensor]:
    """The formula with these two means, each a function of the own part of what they run over."""
    rows = [inputs[:3] for inputs in case.inputs]
    return [(g - mean(g) - hat * product(g * hat)) / deviation for g, hat, deviation in rows]


def _input_gradients(case: Case) -> Mistakes:
    parts = [(g, g * hat) for g, hat, _, _ in case.inputs]
    sums, count = [sum(pair[number].sum(0) for pair in parts) for number in (0, 1)], case.inputs[0][3]
    first, second = (lambda own: sums[0] / count), (lambda own: sums[1] / count)

    def nothing(own: torch.Tensor) -> float:
        return 0.0

    yield "treats mean and deviation as constants: they depend on every example as well", _made(case, nothing, nothing)
    yield "lacks the part that goes through the deviation: x̂ times the mean of g x̂", _made(case, first, nothing)
    yield "lacks the part that goes through the mean: the mean of g", _made(case, nothing, second)
    yield (
        "divided the sums over all ranks by its own number of examples; N is that of the joined batch",
        _made(case, lambda own: sums[0] / len(own), lambda own: sums[1] / len(own)),
    )
    yield "used sums where means belong: divide by N", _made(case, lambda own: sums[0], lambda own: sums[1])
    some = [pair for pair in parts if len(pair[0])]
    means = [sum(pair[number].mean(0) for pair in some) / len(some) for number in (0, 1)]
    yield (
        "took the mean of the ranks' means, as if their parts were equally long: add up sums, and divide by N",
        _made(case, lambda own: means[0], lambda own: means[1]),
    )
    yield (
        "swapped the two means: the sums come back in the order in which you joined them",
        _made(case, second, first),
    )
    yield from _own_means(case, first)
    yield from _slips_in_the_formula(case, sums[0] / count)


def _own_means(case: Case, first: Callable) -> Mistakes:
    count = case.inputs[0][3]
    yield (
        "takes both means over its own part: they run over the joined batch, for every rank's examples moved the "
        "statistics",
        _made(case, lambda own: own.mean(0), lambda own: own.mean(0)),
    )
    yield (
        "shares one of the two sums only: mean(g x̂) runs over its own examples. Both need all ranks",
        _made(case, first, lambda own: own.sum(0) / count),
    )


def _slips_in_the_formula(case: Case, mean: torch.Tensor) -> Mistakes:
    """Right means (one of them: mean), wrongly put together."""
    pairs = [(right, *inputs[:3]) for right, inputs in zip(case.expected, case.inputs, strict=True)]
    yield "forgot to divide by the deviation", [right * deviation for right, _, _, deviation in pairs]
    yield (
        "added the part that goes through the deviation, where it must be subtracted",
        [2 * (g - mean) / deviation - right for right, g, _, deviation in pairs],
    )


wrong_backward = mistaken(_input_gradients, tolerance=1e-4)


MISTAKES = r"""
... treats mean and deviation as constants
    (upstream - mean - normalized * product) / deviation -> upstream / deviation
... that is rounding, of float32
    file float32
... lacks the part that goes through the deviation
    upstream - mean - normalized * product -> upstream - mean
... by its own number of examples; N is that of the joined batch
    sums / examples -> sums / max(len(upstream), 1)
... takes both means over its own part
    file own_means
[2] ... both sums fit into one message
    file two_all_reduces
"""

EXERCISE = rank_exercise(
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
    mistakes=MISTAKES,
    diagnoses=(*FAILURES, in_float32, wrong_backward),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-6,
    hints="""
Which two terms of the formula need the other ranks? Both are means over the joined batch.
Each rank adds up its own rows: upstream.sum(0) and (upstream * normalized).sum(0). Join both with torch.cat, all-reduce, take them apart again with tensor_split(2) or chunk(2).
""",
)
