"""Matrices as tensor trains: row and column of an entry get digits, and each core takes one digit of both.

    W[(i₁, …, i_d), (j₁, …, j_d)]  =  G₁[i₁, j₁] · G₂[i₂, j₂] · … · G_d[i_d, j_d]

A row number is written with the row modes (m_1, …, m_d) as its base, the first digit counting most; a column number
with the column modes. A core holds r_{k-1} × m_k × n_k × r_k numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import prod

import torch

from course_lib.decomposition.tensor_train import TensorTrain, shown, tt_svd


@dataclass(frozen=True, eq=False, repr=False)
class TTMatrix:
    """Cores of shape [r_{k-1}, m_k, n_k, r_k], for rows and columns in that order.

    Raises:
        ValueError: as a `TensorTrain` does.

    >>> TTMatrix((torch.ones(1, 2, 3, 2), torch.ones(2, 5, 4, 1)))
    TTMatrix((2 · 5) × (3 · 4), ranks 1-2-1, 52 numbers)
    """

    cores: tuple[torch.Tensor, ...]

    def __post_init__(self) -> None:
        shapes = [tuple(core.shape) for core in self.cores]
        if any(len(shape) != 4 for shape in shapes):
            raise ValueError(f"each core of a TT-matrix is [r, rows, columns, r'], got shapes {shapes}")
        self.train  # noqa: B018 - it checks the ranks

    @property
    def train(self) -> TensorTrain:
        """The same numbers as a train of d modes, m_k · n_k values each."""
        return TensorTrain(tuple(core.flatten(1, 2) for core in self.cores))

    @property
    def row_modes(self) -> tuple[int, ...]:
        return tuple(core.shape[1] for core in self.cores)

    @property
    def column_modes(self) -> tuple[int, ...]:
        return tuple(core.shape[2] for core in self.cores)

    @property
    def ranks(self) -> tuple[int, ...]:
        return self.train.ranks

    @property
    def numbers(self) -> int:
        return self.train.numbers

    @property
    def compression(self) -> float:
        """Numbers of the whole matrix for one of these."""
        return self.train.compression

    def full(self) -> torch.Tensor:  # [rows, columns]
        """The whole matrix: digits of rows and columns in turn, then all of the rows' first."""
        d = len(self.cores)
        digits = self.train.full().reshape(list(chain(*zip(self.row_modes, self.column_modes, strict=True))))
        order = [*range(0, 2 * d, 2), *range(1, 2 * d, 2)]
        return digits.permute(order).reshape(prod(self.row_modes), prod(self.column_modes))

    def __repr__(self) -> str:
        rows, columns = (shown(modes, " · ") for modes in (self.row_modes, self.column_modes))
        return f"TTMatrix(({rows}) × ({columns}), ranks {shown(self.ranks, '-')}, {self.numbers:,} numbers)"


def tensorize(matrix: torch.Tensor, row_modes: Sequence[int], column_modes: Sequence[int]) -> torch.Tensor:
    """A matrix as a tensor of d modes, mode k made of a part of the row's number and one of the column's.

    For a picture the first mode says in which large block a pixel lies, the next in which block inside that.

    Raises:
        ValueError: unless there are as many row modes as column modes, and they multiply to the matrix's shape.

    >>> tensorize(torch.arange(16).reshape(4, 4), [2, 2], [2, 2])[0]  # the upper left block
    tensor([0, 1, 4, 5])
    """
    d = len(row_modes)
    if len(column_modes) != d or (prod(row_modes), prod(column_modes)) != tuple(matrix.shape):
        raise ValueError(
            f"modes must come in pairs and multiply to {tuple(matrix.shape)}, got {row_modes} and {column_modes}"
        )
    pairs = matrix.reshape(*row_modes, *column_modes).permute([k for mode in range(d) for k in (mode, d + mode)])
    return pairs.reshape([m * n for m, n in zip(row_modes, column_modes, strict=True)])


def tt_matrix_svd(
    matrix: torch.Tensor,
    row_modes: Sequence[int],
    column_modes: Sequence[int],
    relative_error: float = 0.0,
    largest_rank: int | None = None,
) -> TTMatrix:
    """The TT-matrix of a matrix, within relative_error of it, by `tt_svd`.

    Raises:
        ValueError: as `tensorize` and `tt_svd` do.

    >>> tt_matrix_svd(torch.eye(6), (2, 3), (2, 3))
    TTMatrix((2 · 3) × (2 · 3), ranks 1-1-1, 13 numbers)
    """
    train = tt_svd(tensorize(matrix, row_modes, column_modes), relative_error, largest_rank)
    shapes = zip(train.cores, row_modes, column_modes, strict=True)
    return TTMatrix(tuple(core.reshape(core.shape[0], m, n, core.shape[2]) for core, m, n in shapes))


def tt_matrix_numbers(row_modes: Sequence[int], column_modes: Sequence[int], rank: int) -> int:
    """Numbers of a TT-matrix whose ranks are all `rank`: Σ r · m · n · r, with ranks of 1 at both ends.

    >>> tt_matrix_numbers((2, 7, 8, 8, 7, 4), (4, 4, 4, 4, 4, 4), rank=2)
    528
    """
    ranks = [1, *[rank] * (len(row_modes) - 1), 1]
    return sum(r * m * n * s for (r, s), m, n in zip(pairwise(ranks), row_modes, column_modes, strict=True))


def tt_product(cores: Sequence[torch.Tensor], x: torch.Tensor) -> torch.Tensor:  # [batch, columns] -> [batch, rows]
    """W · x for each x of a batch, without W.

    One matrix product a core. It replaces digit j_k of the column, in front, by digit i_k of the row, at the end, so
    that after d cores all of the row's digits stand behind the batch in their order. From the last core to the first it
    would take other flops and states, those of modes and ranks turned round: half as many for VGG's layer.
    """
    state = x.T  # [j_1 ... j_d, batch]
    for core in cores:
        r, m, n, s = core.shape
        others = state.numel() // (r * n)  # -1 would not do: a batch may be empty
        state = state.reshape(r * n, others)
        state = core.permute(3, 1, 0, 2).reshape(s * m, r * n) @ state
        state = state.reshape(s, m, others).transpose(1, 2)  # [s, j_{k+1} ... j_d, batch, i_1 ... i_k]
    return state.reshape(len(x), prod(core.shape[1] for core in cores))


def tt_product_states(
    row_modes: Sequence[int], column_modes: Sequence[int], ranks: Sequence[int], batch: int
) -> list[int]:
    """Numbers between the cores, from the input to the output: batch · r_k · m_1 … m_k · n_{k+1} … n_d.

    All but the last are kept for the backward pass.

    >>> tt_product_states((2, 3), (5, 7), (1, 4, 1), batch=1)
    [35, 56, 6]
    """
    return [batch * rank * prod(row_modes[:k]) * prod(column_modes[k:]) for k, rank in enumerate(ranks)]


def tt_product_flops(row_modes: Sequence[int], column_modes: Sequence[int], ranks: Sequence[int], batch: int) -> int:
    """2 · batch · r_{k-1} · r_k · m_1 … m_k · n_k … n_d, core by core.

    >>> tt_product_flops((2,), (3,), (1, 1), batch=5)  # one core is the matrix itself
    60
    """
    if not len(row_modes) == len(column_modes) == len(ranks) - 1:
        raise ValueError(
            f"a core has two modes and two ranks, got {len(row_modes)}, {len(column_modes)} and {len(ranks)}"
        )
    steps = range(len(row_modes))
    sizes = [prod(row_modes[: k + 1]) * prod(column_modes[k:]) for k in steps]
    return sum(2 * batch * ranks[k] * ranks[k + 1] * sizes[k] for k in steps)
