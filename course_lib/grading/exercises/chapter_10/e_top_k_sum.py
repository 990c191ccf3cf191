"""Exercise 10e: top-k with error feedback over a communicator: places and values travel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.exercises.chapter_10.shared import largest_first, sent_of
from course_lib.grading.exercises.common import FAILURES, Mistakes, mistaken

__all__ = ["EXERCISE"]


# Cases

SHAPES = ((1, 5, 2), (2, 6, 2), (3, 9, 2), (5, 12, 1), (8, 20, 3))  # ranks, numbers of a row, how many travel


def gradients(rng: np.random.Generator) -> Iterator[Case]:
    """Whole numbers, of which the k largest sums of gradient and residual are clear; all ranks share their largest."""
    for world_size, length, k in SHAPES:
        common = int(rng.integers(length))
        inputs = [(*_row(rng, length, common), k) for _ in range(world_size)]
        while min(k, world_size) > 1 and _places(inputs[0]) == _places(inputs[-1]):
            inputs[0] = (*_row(rng, length, common), k)
        label = f"world_size {world_size}, {length} numbers, k = {k}"
        yield Case(world_size, inputs, _results(inputs), label=label)


def _row(rng: np.random.Generator, length: int, common: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A gradient and a residual; magnitudes of their sums are all different, and so are those of the gradient."""
    wanted = rng.permutation(np.arange(1, length + 1)) * 3
    wanted[common] = 3 * length + int(rng.integers(1, 9))
    wanted = wanted * rng.choice([-1, 1], length)
    while True:
        residual = rng.integers(-3 * length, 3 * length, length)
        if len(set(abs(wanted - residual).tolist())) == length:
            return torch.tensor(wanted - residual).float(), torch.tensor(residual).float()


def _places(given: tuple[torch.Tensor, torch.Tensor, int]) -> set[int]:
    gradient, residual, k = given
    return set(largest_first((gradient + residual).numpy())[:k].tolist())


def _results(
    inputs: Sequence[tuple], *, add: bool = True, signed: bool = False, by_gradient: bool = False
) -> list[list]:
    """[sum, residual] of each rank, or with one mistake."""
    sent, residuals = [], []
    for gradient, residual, k in inputs:
        wanted = gradient + residual if add else gradient
        order = largest_first((gradient if by_gradient else wanted).numpy(), (lambda row: row) if signed else np.abs)
        sent.append(torch.from_numpy(sent_of(wanted.numpy(), order[:k])))
        residuals.append(wanted - sent[-1])
    return [[torch.stack(sent).sum(0), residual] for residual in residuals]


# Diagnoses


def slips(case: Case) -> Mistakes:
    size, right = case.world_size, _results(case.inputs)
    wanted = [gradient + residual for gradient, residual, _ in case.inputs]
    sent = [one - residual for one, (_, residual) in zip(wanted, right, strict=True)]
    total = right[0][0]
    yield "left its residual out: add it to the gradient before you choose", _results(case.inputs, add=False)
    yield "chose the largest numbers; asked for are the largest magnitudes", _results(case.inputs, signed=True)
    yield "chose by the gradient; choose by gradient and residual together", _results(case.inputs, by_gradient=True)
    yield "has the mean; asked for is the sum", [[total / size, residual] for _, residual in right]
    others = [[total - own, residual] for own, (_, residual) in zip(sent, right, strict=True)]
    yield "forgot its own numbers: what it sends belongs into its sum, too", others
    all_of_it = [[total + residual, residual] for _, residual in right]
    yield "added its whole row; of its own, too, only what it sends counts", all_of_it
    yield "kept in its residual what it has sent: set that to zero", [[total, row] for row in wanted]
    off_gradient = [[total, gradient - own] for (gradient, _, _), own in zip(case.inputs, sent, strict=True)]
    yield "took what it sent off the gradient; the earlier residual waits, too", off_gradient
    off_all = [[total, row - total] for row in wanted]
    yield "took the sum of all ranks off; its own residual is without what *it* sent", off_all
    yield "returned the residual of before", [[total, residual] for _, residual, _ in case.inputs]


def overwritten(case: Case, outcome: Outcome) -> str | None:
    """Sums in which the place that all ranks send holds one rank's number alone."""
    for rank, (value, right) in enumerate(zip(outcome.values, case.expected, strict=False)):
        total, sum_of_all = value[0], right[0]
        off = (total != sum_of_all).nonzero().reshape(-1).tolist()
        holders = [[gradient + residual for gradient, residual, _ in case.inputs][r] for r in range(case.world_size)]
        if off and all(any(total[place] == row[place] for row in holders) for place in off):
            return (
                f"rank {rank} holds {total[off[0]]:g} in place {off[0]}, which is one rank's number: several "
                "ranks sent this place, and their numbers add up. row[places] = values writes over what is there: use "
                "+= for each message"
            )
    return None


# The exercise

EXERCISE = Exercise(
    id="10e",
    title="Places and values on the wire",
    function="top_k_sum",
    points=5,
    answer="return",
    cases=gradients,
    dtypes=(torch.int32, torch.float32),
    rules=(
        rules.bytes_per_rank(
            lambda case: 8 * case.inputs[0][2] * (case.world_size - 1),
            "to each of the others k places as int32 and k values as float32",
        ),
        rules.most_messages(lambda case: 2 * case.world_size * (case.world_size - 1)),
    ),
    diagnoses=(*FAILURES, mistaken(slips), overwritten),
    perturbation=None,  # a place that is changed on the way may lie outside of the row
    hints=(
        "wanted = gradient + residual; places = wanted.abs().topk(k).indices; values = wanted[places].",
        "isend places.int() and values to every other rank, then recv two tensors of length k from each.",
        "Add each message: total[places.long()] += values, your own as well. The residual is wanted with 0 in your "
        "own places.",
    ),
)
