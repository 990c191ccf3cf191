"""Exercise 10e: top-k with error feedback over a communicator: places and values travel."""

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_10.shared import largest_first
from course_lib.grading.exercises.common import FAILURES, rank_exercise

SHAPES = ((1, 5, 2), (2, 6, 2), (3, 9, 2), (5, 12, 1), (8, 20, 3))  # ranks, numbers of a row, how many travel


def gradients(rng):
    """Quarters, so that no whole numbers can travel instead, of which the k largest sums of gradient and residual are clear; all ranks share their largest."""
    for world_size, length, k in SHAPES:
        common = int(rng.integers(length))
        inputs = [(*_row(rng, length, common), k) for _ in range(world_size)]
        while min(k, world_size) > 1 and _places(*inputs[0]) == _places(*inputs[-1]):
            inputs[0] = (*_row(rng, length, common), k)
        yield Case(world_size, inputs, [], label=f"world_size {world_size}, {length} numbers, k = {k}")


def _row(rng, length, common):
    """A gradient and a residual; magnitudes of their sums are all different, and so are those of the gradient."""
    wanted = rng.permutation(np.arange(1, length + 1)) * 3
    wanted[common] = 3 * length + int(rng.integers(1, 9))
    wanted = wanted * rng.choice([-1, 1], length)
    while True:
        residual = rng.integers(-3 * length, 3 * length, length)
        if len(set(abs(wanted - residual).tolist())) == length:
            return torch.tensor(wanted - residual) / 4, torch.tensor(residual) / 4


def _places(gradient, residual, k):
    return set(largest_first((gradient + residual).numpy())[:k].tolist())


MISTAKES = r"""
left its residual out: add it to the gradient before you choose
    wanted = gradient + residual -> wanted = gradient.clone()
chose the largest numbers; asked for are the largest magnitudes
    wanted.abs().topk -> wanted.topk
chose by the gradient; choose by gradient and residual together
    wanted.abs().topk -> gradient.abs().topk
has the mean; asked for is the sum
    [total, residual] -> [total / comm.world_size, residual]
forgot its own numbers: what it sends belongs into its sum, too
    residual = wanted - total -> residual = wanted - total; total = torch.zeros_like(wanted)
added its whole row; of its own, too, only what it sends counts
    residual = wanted - total -> residual = wanted - total; total = wanted.clone()
kept in its residual what it has sent: set that to zero
    residual = wanted - total -> residual = wanted
took what it sent off the gradient; the earlier residual waits, too
    residual = wanted - total -> residual = gradient - total
took the sum of all ranks off; its own residual is without what *it* sent
    [total, residual] -> [total, wanted - total]
returned the residual of before
    residual = wanted - total ->
holds one rank's number where several sent one, and their numbers add up: row[places] = values writes over what is there, so use += for each message
    ] += arrived -> ] = arrived
... sent torch.int64
    places.int() -> places
    dtype=torch.int32 -> dtype=torch.int64
... k places as int32 and k values
    answer sends_zeros
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=gradients,
    dtypes=(torch.int32, torch.float32),
    rules=(
        rules.bytes_per_rank(
            lambda case: 8 * case.inputs[0][2] * (case.world_size - 1),
            "to each of the others k places as int32 and k values as float32",
        ),
        rules.max_messages(lambda case: 2 * case.world_size * (case.world_size - 1)),
    ),
    before=FAILURES,
    mistakes=MISTAKES,
    perturbation=None,  # a place that is changed on the way may lie outside of the row
    hints="""
wanted = gradient + residual; places = wanted.abs().topk(k).indices; values = wanted[places].
isend places.int() and values to every other rank, then recv two tensors of length k from each.
Add each message: total[places.long()] += values, your own as well. The residual is wanted with 0 in your own places.
""",
)
