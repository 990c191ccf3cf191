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
from course_lib.grading.exercises.common import Mistakes, mistaken, rank_exercise


def runs_with_adagrad(rng: np.random.Generator) -> Iterator[Case]:
    """Linear regression on each rank's part of every batch; Adagrad on the joined batches, from rank 0's weights.

    Three steps at least: two steps of an Adagrad that forgets can lead four weights back to where they began.
    """
    for world_size, steps, length, perturb in ((1, 3, 4, 0), (2, 3, 5, 0), (3, 4, 40, 1), (4, 3, 67, 1)):
        weights = [torch.from_numpy(rng.normal(size=length)) for _ in range(world_size)]
        inputs = [torch.from_numpy(rng.normal(size=(steps, 3, length))) for _ in range(world_size)]
        targets = [torch.from_numpy(rng.normal(size=(steps, 3))) for _ in range(world_size)]
        expected = _adagrad(weights[0], torch.cat(inputs, 1), torch.cat(targets, 1), rate=0.5)
        arguments = [(*each, 0.5) for each in zip(weights, inputs, targets, strict=True)]
        label = f"world_size {world_size}, {length} weights, steps: {steps}"
        about = {"steps": steps, "length": length}
        yield Case(world_size, arguments, [expected] * world_size, perturb, label, about)


def _adagrad(weights: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor, rate: float) -> torch.Tensor:
    trained, squares = weights.clone(), torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        gradient = 2 * (rows @ trained - wanted) @ rows / len(wanted)
        squares = squares + gradient**2
        trained = trained - rate * gradient / (squares.sqrt() + 1e-10)
    return trained


def _trained(case: Case, *, average: str, start: str = "rank 0", forgets: bool = False) -> list[torch.Tensor]:
    """The weights after Adagrad that averages one thing in each of its steps. start: the weights of "rank 0", each
    rank's "own", or the "mean" of all. forgets: its state begins anew each time."""
    rows = [[each.clone() for each in inputs[:3]] for inputs in case.inputs]
    own = [row[0] for row in rows]
    starts = {"rank 0": own[:1] * len(own), "mean": [sum(own) / len(own)] * len(own), "own": own}
    weights = [each.clone() for each in starts[start]]
    states = [torch.zeros_like(each) for each in weights]
    for step in range(case.about["steps"]):
        gradients = [
            2 * row[1][step].T @ (row[1][step] @ weight - row[2][step]) / len(row[2][step])
            for row, weight in zip(rows, weights, strict=True)
        ]
        if average == "gradients":
            gradients = [sum(gradients) / len(gradients)] * len(gradients)
        for weight, state, gradient in zip(weights, states, gradients, strict=True):
            if forgets:
                state.zero_()
            state += gradient**2
            weight -= 0.5 * gradient / (state.sqrt() + 1e-10)
        if average == "parameters":
            weights = [sum(weights) / len(weights) for _ in weights]
        if average == "states":
            states = [sum(states) / len(states) for _ in states]
            weights = [sum(weights) / len(weights) for _ in weights]
    return weights


def _trainings(case: Case) -> Mistakes:
    yield (
        "averages parameters still: each rank's Adagrad divides by its own gradients, and the mean of such steps is "
        "not the step of the mean gradient",
        _trained(case, average="parameters"),
    )
    yield (
        "averages parameters still, and began from weights of its own: nobody handed round those of rank 0",
        _trained(case, average="parameters", start="own"),
    )
    yield (
        "averages gradients, but began from weights of its own, and equal steps never close that gap: hand round the "
        "weights of rank 0 before the first step",
        _trained(case, average="gradients", start="own"),
    )
    yield (
        "began from the mean of all ranks' weights: an honest start, but that of rank 0 was asked for",
        _trained(case, average="gradients", start="mean"),
    )
    yield (
        "averages parameters and what Adagrad remembers; its mean of squares is not the square of the mean gradient",
        _trained(case, average="states"),
    )
    yield "still holds the weights that it began with", [inputs[0] for inputs in case.inputs]
    yield (
        "lets Adagrad forget: its state begins with zeros before the first step, and then goes on from step to step",
        _trained(case, average="gradients", forgets=True),
    )
    yield "trained alone: no gradient crossed the wire", _trained(case, average="nothing")


wrong_training = mistaken(_trainings, tolerance=1e-6)


MISTAKES = r"""
... averages parameters and what Adagrad remembers
    file averages_state_too
... began from the mean of all ranks' weights
    if comm.rank > 0:\n        weights.zero_()  # so that the sum of all is what rank 0 has\n    all_reduce(comm, weights) -> all_reduce(comm, weights)\n    weights /= comm.world_size
[3] ... one for the weights at the start, and one for the gradient in each step
    gradient = mean_gradient -> weights *= comm.rank == 0\n        all_reduce(comm, weights)\n        gradient = mean_gradient
... averages parameters still, and began from weights of its own
    file not_mended
... equal steps never close that gap
    if comm.rank > 0:\n        weights.zero_()  # so that the sum of all is what rank 0 has\n    all_reduce(comm, weights)\n -> \n
... averages parameters still: each rank's Adagrad
    file only_the_start
"""

EXERCISE = rank_exercise(
    id="01i",
    title="Mend the bug",
    function="mended_training",
    points=4,
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
    diagnoses=(*FAILURES, in_float32, wrong_training),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-6,
    hints="""
There are two bugs. One is in the order of two lines; the other is a line that was never written.
All-reduce the gradient before Adagrad sees it, and leave the weights alone.
What do the ranks begin with? If rank 0's weights must be everybody's: all other ranks set theirs to zero, and an all-reduce does the rest.
""",
)
