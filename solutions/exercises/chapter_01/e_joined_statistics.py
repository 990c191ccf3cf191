"""Exercise 01e: mean and variance of the joined batch with one all-reduce."""

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import NUMBERS, Case, Outcome
from course_lib.grading.exercises.chapter_01.shared import (
    FAILURES,
    PERTURBED,
    all_reduces,
    not_a_number,
    some_messages,
    words_of,
)
from course_lib.grading.exercises.common import Mistakes, mistaken, rank_exercise

# Examples of each rank; each sum is a power of two, so that no digits are lost in float32.
COUNTS = ((4,), (3, 5), (2, 1, 5), (1, 4, 2, 1), (6, 0, 2))


def joined_statistics(rng: np.random.Generator) -> Iterator[Case]:
    """Parts of a batch of positive numbers; mean and biased variance of the joined batch."""
    for number, counts in enumerate(COUNTS):
        world_size, features = len(counts), (3, 4, 20, 33, 5)[number]
        parts = [torch.from_numpy(rng.integers(1, 100, (n, features))).float() for n in counts]
        joined = torch.cat(parts).double()
        expected = [joined.mean(0), joined.var(0, correction=0)]
        label = f"world_size {world_size}, {features} features, {words_of(counts)} examples"
        inputs = [(part,) for part in parts]
        yield Case(world_size, inputs, [expected] * world_size, int(number in PERTURBED), label, {"counts": counts})


def _means(case: Case) -> Mistakes:
    parts, size = [inputs[0].double() for inputs in case.inputs], case.world_size
    total = torch.cat(parts).sum(0)
    some = [part for part in parts if len(part)]
    average = sum(part.mean(0) for part in some)
    yield "took the mean of the ranks' means, as if their parts were equally long", [average / len(some)] * size
    yield "took the mean of the ranks' means, as if their parts were equally long", [average / size] * size
    yield (
        "divided the sum of all examples by the number of its own, times the ranks: add up the numbers, too",
        [total / max(len(part), 1) / size for part in parts],
    )
    yield (
        "divided the sum of all examples by the number of its own: add up the numbers, too, in the same all-reduce",
        [total / max(len(part), 1) for part in parts],
    )
    numbers = total / torch.cat(parts).numel()
    yield "divided by the number of all numbers, not by that of examples: a row is one example", [numbers] * size
    variance = torch.cat(parts).var(0, correction=0)
    yield "gave the variance first: return mean, variance, in this order", [variance] * size
    yield "holds its own mean: nothing was added between the ranks", [part.mean(0) for part in parts]


def _variances(case: Case) -> Mistakes:
    parts, size = [inputs[0].double() for inputs in case.inputs], case.world_size
    batch, some = torch.cat(parts), [part for part in parts if len(part)]
    count = len(batch)
    biased = batch.var(0, correction=0)
    own = [part.var(0, correction=0) for part in some]
    inside = sum(len(part) * each for part, each in zip(some, own, strict=True)) / count
    blind = (
        "That is the variance inside the parts. What the parts' means differ by belongs to the variance of the joined "
        "batch, too"
    )
    yield (
        "holds the unbiased variance, divided by N - 1. Batch normalization divides by N here (and keeps the unbiased "
        "one for its running statistics)",
        [biased * count / (count - 1)] * size,
    )
    yield f"holds the mean of the ranks' variances. {blind}", [sum(own) / len(own)] * size
    yield f"holds the mean of the ranks' variances. {blind}", [sum(own) / size] * size
    yield f"holds the ranks' variances, each weighed by its examples. {blind}", [inside] * size
    yield "holds the mean of the squares: take the square of the mean away from it", [(batch * batch).mean(0)] * size
    yield "holds the standard deviation; the variance was asked for", [biased.sqrt()] * size
    yield (
        "added up the squares of the ranks' sums, where the squares of the examples belong: square first, add then",
        [sum(part.sum(0) ** 2 for part in parts) / count - batch.mean(0) ** 2] * size,
    )


_wrong_mean, _wrong_variance = (mistaken(each, 1e-4, item) for item, each in enumerate((_means, _variances)))


def wrong_statistics(case: Case, outcome: Outcome) -> str | None:
    """The mean, or else the variance, of something else than the joined batch."""
    text = _wrong_mean(case, outcome)
    if text:
        return f"the mean is wrong: {text}"
    text = _wrong_variance(case, outcome)
    return f"the mean is right, the variance is not: {text}" if text else None


MISTAKES = r"""
[2] ... are plenty
    file gram_matrix
... took the mean of the ranks' means
    inputs.sum(0), (inputs**2).sum(0), torch.tensor([float(len(inputs))]) -> inputs.sum(0) / max(len(inputs), 1), (inputs**2).sum(0) / max(len(inputs), 1), torch.ones(1)
... holds the mean of the ranks' variances
    file mean_of_variances
... the mean of nothing is 0/0
    inputs.sum(0), (inputs**2).sum(0), -> len(inputs) * inputs.mean(0), len(inputs) * (inputs**2).mean(0),
[2] ... steps on the wire, one all-reduce takes
    file two_all_reduces
... holds the unbiased variance
    squares / message[-1] - mean**2 -> (squares - message[-1] * mean**2) / (message[-1] - 1)
"""

EXERCISE = rank_exercise(
    id="01e",
    title="Batch statistics with one all-reduce",
    function="joined_statistics",
    points=3,
    answer="return",
    cases=joined_statistics,
    dtypes=NUMBERS,
    rules=(
        some_messages(),
        all_reduces(
            lambda case: 2 * (2 * case.tensor.shape[1] + 1),
            "sum, sum of squares and number of examples fit into one message",
        ),
    ),
    mistakes=MISTAKES,
    diagnoses=(*FAILURES, not_a_number, wrong_statistics),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-4,
    hints="""
Variances of parts do not add up, sums do. From which sums over all examples can you get mean and variance?
The variance is the mean of the squares, less the square of the mean.
torch.cat([x.sum(0), (x * x).sum(0), torch.tensor([float(len(x))])]) is one message of 2 features + 1 elements. For a rank without examples the sums are zeros by themselves.
""",
)
