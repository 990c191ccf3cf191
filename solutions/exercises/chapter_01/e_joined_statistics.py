"""Exercise 01e: mean and variance of the joined batch with one all-reduce."""

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import NUMBERS, Case
from course_lib.grading.exercises.chapter_01.shared import (
    FAILURES,
    PERTURBED,
    all_reduces,
    not_a_number,
    some_messages,
    words_of,
)
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.verdict import difference

# Examples of each rank; each sum is a power of two, so that no digits are lost in float32.
COUNTS = ((4,), (3, 5), (2, 1, 5), (1, 4, 2, 1), (6, 0, 2))


def joined_statistics(rng: np.random.Generator) -> Iterator[Case]:
    """Parts of a batch of positive numbers; mean and biased variance of the joined batch.

    Of the first feature the variance is more than the square of the mean: one example is far from all others.
    """
    for number, counts in enumerate(COUNTS):
        world_size, features = len(counts), (3, 4, 20, 33, 5)[number]
        parts = [torch.from_numpy(rng.integers(1, 100, (n, features))).float() for n in counts]
        for part in parts:
            part[:, 0] %= 5
            part[:, 0] += 1
        parts[0][0, 0] = int(rng.integers(90, 100))
        joined = torch.cat(parts).double()
        expected = [joined.mean(0), joined.var(0, correction=0)]
        label = f"world_size {world_size}, {features} features, {words_of(counts)} examples"
        inputs = [(part,) for part in parts]
        yield Case(world_size, inputs, [expected] * world_size, int(number in PERTURBED), label, {"counts": counts})


MISTAKES = r"""
[2] ... are plenty
    answer gram_matrix
[2] ... steps on the wire, one all-reduce takes
    answer two_all_reduces
... the mean of nothing is 0/0
    inputs.sum(0), (inputs**2).sum(0), -> len(inputs) * inputs.mean(0), len(inputs) * (inputs**2).mean(0),
took the mean of the ranks' means, as if their parts were equally long
    inputs.sum(0), (inputs**2).sum(0), torch.tensor([float(len(inputs))]) -> inputs.sum(0) / max(len(inputs), 1), (inputs**2).sum(0) / max(len(inputs), 1), torch.ones(1)
divided the sum of all examples by the number of its own, times the ranks: add up the numbers, too
    message[-1] -> (len(inputs) * comm.world_size)
divided the sum of all examples by the number of its own: add up the numbers, too, in the same all-reduce
    message[-1] -> len(inputs)
divided by the number of all numbers, not by that of examples: a row is one example
    message[-1] -> (message[-1] * inputs.shape[1])
gave the variance first: return mean, variance, in this order
    return mean, squares / message[-1] - mean**2 -> return squares / message[-1] - mean**2, mean
holds its own mean: nothing was added between the ranks
    all_reduce(comm, message) ->
has the right mean, and the unbiased variance, divided by N - 1. Batch normalization divides by N here (and keeps the unbiased one for its running statistics)
    squares / message[-1] - mean**2 -> (squares - message[-1] * mean**2) / (message[-1] - 1)
has the right mean, and the mean of the ranks' variances. That is the variance inside the parts. What the parts' means differ by belongs to the variance of the joined batch, too
    (inputs**2).sum(0) -> (inputs.var(0, correction=0) if len(inputs) else inputs.sum(0))
    squares / message[-1] - mean**2 -> squares / comm.world_size
has the right mean, and the ranks' variances, each weighed by its examples. That is the variance inside the parts. What the parts' means differ by belongs to the variance of the joined batch, too
    (inputs**2).sum(0) -> (len(inputs) * inputs.var(0, correction=0) if len(inputs) else inputs.sum(0))
    squares / message[-1] - mean**2 -> squares / message[-1]
has the right mean, and the mean of the squares: take the square of the mean away from it
    message[-1] - mean**2 -> message[-1]
has the right mean, and the standard deviation; the variance was asked for
    squares / message[-1] - mean**2 -> (squares / message[-1] - mean**2).sqrt()
has the right mean, and added up the squares of the ranks' sums, where the squares of the examples belong: square first, add then
    (inputs**2).sum(0) -> inputs.sum(0) ** 2
"""

EXERCISE = rank_exercise(
    __name__,
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
    before=(*FAILURES, not_a_number),
    in_part=True,
    alike=lambda one, other: difference(one, other, 1e-4) is None,
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-4,
    hints="""
Variances of parts do not add up, sums do. From which sums over all examples can you get mean and variance?
The variance is the mean of the squares, less the square of the mean.
torch.cat([x.sum(0), (x * x).sum(0), torch.tensor([float(len(x))])]) is one message of 2 features + 1 elements. For a rank without examples the sums are zeros by themselves.
""",
)
