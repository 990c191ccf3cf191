"""Exercise 01i: training that averages parameters after Adagrad's step, to be mended."""

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import NUMBERS, Case
from course_lib.grading.exercises.chapter_01.shared import (
    FAILURES,
    all_reduces,
    in_float32,
    some_messages,
)
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.verdict import difference


def runs_with_adagrad(rng: np.random.Generator) -> Iterator[Case]:
    """Linear regression on each rank's part of every batch; Adagrad on the joined batches, from rank 0's weights.

    Three steps at least: two steps of an Adagrad that forgets can lead four weights back to where they began.
    """
    for world_size, steps, length, perturb in ((1, 3, 4, 0), (2, 3, 5, 0), (3, 4, 40, 1), (4, 3, 67, 1)):
        weights = [torch.from_numpy(rng.normal(size=length)) for _ in range(world_size)]
        inputs = [torch.from_numpy(rng.normal(size=(steps, 3, length))) for _ in range(world_size)]
        targets = [torch.from_numpy(rng.normal(size=(steps, 3))) for _ in range(world_size)]
        arguments = [(*each, 0.5) for each in zip(weights, inputs, targets, strict=True)]
        label = f"world_size {world_size}, {length} weights, steps: {steps}"
        about = {"steps": steps, "length": length}
        yield Case(world_size, arguments, (), perturb, label, about)


MISTAKES = r"""
averages parameters still: each rank's Adagrad divides by its own gradients, and the mean of such steps is not the step of the mean gradient
    all_reduce(comm, gradient)\n        gradient /= comm.world_size -> pass
    adagrad(weights, gradient, state, rate) -> adagrad(weights, gradient, state, rate)\n        all_reduce(comm, weights)\n        weights /= comm.world_size
averages parameters still, and began from weights of its own: nobody handed round those of rank 0
    if comm.rank > 0:\n        weights.zero_()  # so that the sum of all is what rank 0 has\n    all_reduce(comm, weights)\n -> \n
    all_reduce(comm, gradient)\n        gradient /= comm.world_size -> pass
    adagrad(weights, gradient, state, rate) -> adagrad(weights, gradient, state, rate)\n        all_reduce(comm, weights)\n        weights /= comm.world_size
averages gradients, but began from weights of its own, and equal steps never close that gap: hand round the weights of rank 0 before the first step
    if comm.rank > 0:\n        weights.zero_()  # so that the sum of all is what rank 0 has\n    all_reduce(comm, weights)\n -> \n
began from the mean of all ranks' weights: an honest start, but that of rank 0 was asked for
    if comm.rank > 0:\n        weights.zero_()  # so that the sum of all is what rank 0 has\n    all_reduce(comm, weights) -> all_reduce(comm, weights)\n    weights /= comm.world_size
averages parameters and what Adagrad remembers; its mean of squares is not the square of the mean gradient
    all_reduce(comm, gradient)\n        gradient /= comm.world_size -> pass
    adagrad(weights, gradient, state, rate) -> adagrad(weights, gradient, state, rate)\n        all_reduce(comm, weights)\n        weights /= comm.world_size\n        all_reduce(comm, state)\n        state /= comm.world_size
still holds the weights that it began with
    if comm.rank > 0: -> weights = weights.clone()\n    if comm.rank > 0:
lets Adagrad forget: its state begins with zeros before the first step, and then goes on from step to step
    gradient /= comm.world_size -> gradient /= comm.world_size\n        state = torch.zeros_like(weights)
trained alone: no gradient crossed the wire
    all_reduce(comm, gradient)\n        gradient /= comm.world_size -> pass
[2] ... one for the weights at the start, and one for the gradient in each step
    gradient = mean_gradient -> weights *= comm.rank == 0\n        all_reduce(comm, weights)\n        gradient = mean_gradient
"""

EXERCISE = rank_exercise(
    __name__,
    cases=runs_with_adagrad,
    dtypes=NUMBERS,
    rules=(
        some_messages(lambda case: case.about["steps"] + 1),
        all_reduces(
            lambda case: case.about["length"] + 1,
            "one for the weights at the start, and one for the gradient in each step",
            count=lambda case: case.about["steps"] + 1,
        ),
    ),
    mistakes=MISTAKES,
    before=(*FAILURES, in_float32),
    alike=lambda one, other: difference(one, other, 1e-6) is None,
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-6,
    hints="""
There are two bugs. One is in the order of two lines; the other is a line that was never written.
All-reduce the gradient before Adagrad sees it, and leave the weights alone.
What do the ranks begin with? If rank 0's weights must be everybody's: all other ranks set theirs to zero, and an all-reduce does the rest.
""",
)
