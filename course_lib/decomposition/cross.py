"""TT-cross: the tensor train of a function, from a few of its values; nobody ever has the tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import torch

from course_lib.decomposition.tensor_train import TensorTrain

Function = Callable[[torch.Tensor], torch.Tensor]  # indices [m, d] -> values [m]


class CrossResult(NamedTuple):
    """A tensor train, and how many values of the function it was made from."""

    train: TensorTrain
    evaluations: int


def maxvol(matrix: torch.Tensor, tolerance: float = 1.05) -> torch.Tensor:
    """r rows of an n × r matrix between which it can be interpolated well: their square has a large determinant.

    Every row is a combination of those chosen, with no coefficient beyond `tolerance`: as long as there is a larger
    one, that row takes the other's place, and the determinant grows by just this factor.

    Source: S. Goreinov, I. Oseledets, D. Savostyanov, E. Tyrtyshnikov and N. Zamarashkin, "How to find a good
    submatrix", 2010.

    >>> maxvol(torch.tensor([[1.0, 0.0], [3.0, 1.0], [0.0, 2.0]])).tolist()
    [1, 2]
    """
    if matrix.ndim != 2 or not matrix.isfinite().all():
        raise ValueError(f"maxvol takes a matrix of finite numbers, got {tuple(matrix.shape)}")
    columns = matrix.shape[1]
    chosen = torch.linalg.lu(matrix)[0].argmax(0)[:columns].clone()  # where elimination with pivots would go
    coefficients = torch.linalg.solve(matrix[chosen].T, matrix.T).T
    while True:
        row, place = divmod(int(coefficients.abs().argmax()), columns)
        if coefficients[row, place].abs() <= tolerance:
            return chosen
        change = coefficients[row].clone()
        change[place] -= 1
        coefficients -= torch.outer(coefficients[:, place] / coefficients[row, place], change)
        chosen[place] = row


def tt_cross(function: Function, shape: Sequence[int], rank: int, sweeps: int = 4, seed: int = 0) -> CrossResult:
    """The tensor train of ranks up to `rank` that agrees with a function on crosses of its own choice.

    A sweep goes through the modes. In mode k it asks for the values at all places of the mode, between r_{k-1}
    beginnings and r_k ends of an index; `maxvol` says which r_k rows, each a beginning and a place, are the beginnings
    from there on. The next sweep goes back and chooses the ends.

    It promises no error, as nobody looks at the other values: try it at points that it has not seen.

    Args:
        function: indices [m, d] of int64 -> values [m] of float64.

    Raises:
        ValueError: if the function does not give a finite number for each index, `rank` or `sweeps` is below 1, or
            there is no mode or an empty one.

    Cost: about sweeps · d · n · r² values.

    Source: I. Oseledets and E. Tyrtyshnikov, "TT-cross approximation for multidimensional arrays", Linear Algebra and
    its Applications 432(1), 2010.

    >>> result = tt_cross(lambda indices: indices.sum(1).double(), [10] * 6, rank=2)
    >>> result.train.ranks, round(float(result.train.element([1, 2, 3, 4, 5, 6])), 9)
    ((1, 2, 2, 2, 2, 2, 1), 21.0)
    """
    if rank < 1 or sweeps < 1:
        raise ValueError(f"rank and sweeps must be 1 or more, got rank {rank} and {sweeps} sweeps")
    if not shape or min(shape) < 1:
        raise ValueError(f"a tensor must have one mode or more and no empty one, got shape {tuple(shape)}")
    asked, modes = 0, list(shape)
    starts = [prod(modes[:k]) for k in range(len(modes) + 1)]
    ranks = [min(rank, before, starts[-1] // before) for before in starts]
    ends = [random_indices(modes[k:], r, seed) for k, r in enumerate(ranks)]
    for sweep in range(sweeps):
        forward = sweep % 2 == 0
        ask = function if forward else lambda indices: function(indices.flip(1))
        cores, ends, evaluations = _sweep(ask, modes, ends)
        asked += evaluations
        modes = modes[::-1]
    if not forward:
        cores = [core.permute(2, 1, 0) for core in reversed(cores)]
    return CrossResult(TensorTrain(tuple(cores)), asked)


def _sweep(function: Function, shape: Sequence[int], ends: list[torch.Tensor]) -> tuple[list[Any], list[Any], int]:
    """Cores from left to right; the beginnings that were chosen, as ends for the way back; and the values asked for."""
    beginnings, evaluations = [torch.zeros(1, 0, dtype=torch.int64)], 0
    cores: list[torch.Tensor] = []
    for n, after in zip(shape, ends[1:], strict=True):
        before = beginnings[-1]
        rows = torch.cat([before.repeat_interleave(n, 0), torch.arange(n).repeat(len(before))[:, None]], 1)
        places = torch.cat([rows.repeat_interleave(len(after), 0), after.repeat(len(rows), 1)], 1)
        values = _values(function, places).reshape(len(rows), len(after))
        evaluations += values.numel()
        if len(cores) < len(shape) - 1:
            basis = torch.linalg.qr(values).Q
            chosen = maxvol(basis).cpu()
            values = torch.linalg.solve(basis[chosen].T, basis.T).T  # every row, from those chosen
            beginnings.append(rows[chosen])
        cores.append(values.reshape(len(before), n, len(after)))
    beginnings.append(beginnings[0].new_zeros(1, 0))
    return cores, [places.flip(1) for places in reversed(beginnings)], evaluations


def _values(function: Function, places: torch.Tensor) -> torch.Tensor:
    values = function(places)
    if values.shape != places.shape[:1] or not torch.isfinite(values).all():
        wrong = places[~torch.isfinite(values.reshape(len(places), -1)).all(1)][:1].tolist()
        gave = f"one that is not finite, at {wrong[0]}" if wrong else f"shape {tuple(values.shape)}"
        raise ValueError(f"a function must give a finite number for each of {len(places)} indices, it gave {gave}")
    return values


def random_indices(shape: Sequence[int], count: int, seed: int = 0) -> torch.Tensor:  # [count, d]
    """Places in a tensor, at random.

    >>> random_indices([10] * 6, 1000).shape
    torch.Size([1000, 6])
    """
    draw = torch.Generator().manual_seed(seed)
    columns = [torch.randint(n, (count, 1), generator=draw) for n in shape]
    return torch.cat([torch.zeros(count, 0, dtype=torch.int64), *columns], 1)


def elements_at(train: TensorTrain, indices: torch.Tensor) -> torch.Tensor:  # [m, d] -> [m]
    """Many elements of a tensor train, without their neighbors."""
    rows = train.cores[0].new_ones(len(indices), 1, 1)
    for core, places in zip(train.cores, indices.T, strict=True):
        rows = rows @ core[:, places].movedim(1, 0)
    return rows.flatten()
