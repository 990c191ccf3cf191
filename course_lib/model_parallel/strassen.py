"""Strassen's product: seven multiplications of half-size blocks in place of eight."""

from __future__ import annotations

from typing import NamedTuple

import torch

__all__ = ["Operations", "classical_operations", "strassen_operations", "strassen_product"]


class Operations(NamedTuple):
    """Multiplications and additions (subtractions count as additions) of single numbers."""

    multiplications: int
    additions: int

    @property
    def total(self) -> int:
        return self.multiplications + self.additions


def strassen_product(a: torch.Tensor, b: torch.Tensor, levels: int = 1) -> torch.Tensor:  # [n, n], [n, n] -> [n, n]
    """The product of two square matrices, by Strassen's scheme on `levels` levels and by torch's below.

    Exact on whole numbers that fit the dtype. On floats it rounds more than the usual product, for it subtracts.

    Raises:
        ValueError: if the matrices are not square and alike, or if 2^levels does not divide their side.

    Source: V. Strassen, "Gaussian elimination is not optimal", Numerische Mathematik 13, 1969.

    >>> a, b = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [7, 8]])
    >>> strassen_product(a, b).tolist()
    [[19, 22], [43, 50]]
    """
    n = a.shape[0]
    if a.shape != (n, n) or b.shape != (n, n) or n % 2**levels:
        shapes = f"{tuple(a.shape)} and {tuple(b.shape)}"
        raise ValueError(f"{levels} levels need two square matrices with a side that {2**levels} divides, got {shapes}")
    if levels == 0:
        return a @ b
    (a11, a12), (a21, a22) = _quarters(a)
    (b11, b12), (b21, b22) = _quarters(b)
    m1 = strassen_product(a11 + a22, b11 + b22, levels - 1)
    m2 = strassen_product(a21 + a22, b11, levels - 1)
    m3 = strassen_product(a11, b12 - b22, levels - 1)
    m4 = strassen_product(a22, b21 - b11, levels - 1)
    m5 = strassen_product(a11 + a12, b22, levels - 1)
    m6 = strassen_product(a21 - a11, b11 + b12, levels - 1)
    m7 = strassen_product(a12 - a22, b21 + b22, levels - 1)
    top = torch.cat([m1 + m4 - m5 + m7, m3 + m5], dim=1)
    bottom = torch.cat([m2 + m4, m1 - m2 + m3 + m6], dim=1)
    return torch.cat([top, bottom])


def _quarters(matrix: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], ...]:
    return tuple(half.chunk(2, dim=1) for half in matrix.chunk(2))


def classical_operations(n: int) -> Operations:
    """What the usual product of two n × n matrices takes.

    >>> classical_operations(2)
    Operations(multiplications=8, additions=4)
    """
    return Operations(n**3, n**3 - n**2)


def strassen_operations(n: int, levels: int = 1) -> Operations:
    """What `strassen_product` takes: on each level 7 products of half the side, and 18 additions of such blocks.

    >>> strassen_operations(2)
    Operations(multiplications=7, additions=18)
    """
    if levels == 0:
        return classical_operations(n)
    half = strassen_operations(n // 2, levels - 1)
    return Operations(7 * half.multiplications, 7 * half.additions + 18 * (n // 2) ** 2)
