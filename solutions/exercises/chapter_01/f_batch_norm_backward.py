"""Exercise 01f: the backward pass of batch normalization over a batch that is spread over ranks."""

from collections.abc import Iterator

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
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.verdict import difference

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


MISTAKES = r"""
treats mean and deviation as constants: they depend on every example as well
    (upstream - mean - normalized * product) / deviation -> upstream / deviation
lacks the part that goes through the deviation: x̂ times the mean of g x̂
    upstream - mean - normalized * product -> upstream - mean
lacks the part that goes through the mean: the mean of g
    upstream - mean - -> upstream -
divided the sums over all ranks by its own number of examples; N is that of the joined batch
    sums / examples -> sums / max(len(upstream), 1)
used sums where means belong: divide by N
    (sums / examples) -> sums
took the mean of the ranks' means, as if their parts were equally long: add up sums, and divide by N
    [upstream.sum(0), (upstream * normalized).sum(0)] -> [total.sum(0) / max(len(upstream), 1) for total in (upstream, upstream * normalized)]
    sums / examples -> sums / comm.world_size
swapped the two means: the sums come back in the order in which you joined them
    mean, product = -> product, mean =
takes both means over its own part: they run over the joined batch, for every rank's examples moved the statistics
    all_reduce(comm, sums) ->
    sums / examples -> sums / max(len(upstream), 1)
shares one of the two sums only: mean(g x̂) runs over its own examples. Both need all ranks
    return -> product = (upstream * normalized).sum(0) / examples\n    return
or
    return -> product = (upstream * normalized).sum(0) / max(len(upstream), 1)\n    return
forgot to divide by the deviation
    (upstream - mean - normalized * product) / deviation -> upstream - mean - normalized * product
added the part that goes through the deviation, where it must be subtracted
    - normalized * product -> + normalized * product
... that is rounding, of float32
    all_reduce(comm, sums) -> sums = sums.float()\n    all_reduce(comm, sums)
[2] ... both sums fit into one message
    all_reduce(comm, sums) -> for part in sums.chunk(2):\n        all_reduce(comm, part)
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
    before=(*FAILURES, in_float32),
    alike=lambda one, other: difference(one, other, 1e-4) is None,
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-6,
    hints="""
Which two terms of the formula need the other ranks? Both are means over the joined batch.
Each rank adds up its own rows: upstream.sum(0) and (upstream * normalized).sum(0). Join both with torch.cat, all-reduce, take them apart again with tensor_split(2) or chunk(2).
""",
)
