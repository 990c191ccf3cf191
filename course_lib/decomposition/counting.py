"""What a calculation takes, counted while it runs: floating-point operations, and the bytes that live at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import torch

from course_lib.live_memory import LiveMemory

__all__ = ["Counts", "count", "qr_flops", "svd_flops", "triangle_flops"]


@dataclass
class Counts:
    """Counted while a function ran, its backward passes included; what lived before it is not counted."""

    result: Any
    flops: int
    peak_bytes: int
    largest_bytes: int  # of a single tensor


def count(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Counts:
    """Call a function, and count its flops and the memory of the tensors that it makes.

    Matrix products, elementwise multiplications, QR and SVD are counted; copying and adding are not. Memory is counted
    by the sizes of tensors while they are referred to, so that it does not depend on an allocator.

    >>> square = torch.ones(8, 8)
    >>> counts = count(lambda: (square @ square) * 2)
    >>> counts.flops, counts.peak_bytes, counts.largest_bytes
    (1088, 512, 256)
    """
    counter = _Counter()
    with counter:
        result = function(*args, **kwargs)
    return Counts(result, counter.flops, counter.peak_bytes, counter.largest_bytes)


def qr_flops(rows: int, columns: int) -> int:
    """A thin QR by Householder's reflections, Q written out.

    Source: S. Blackford and J. Dongarra, "Installation guide for LAPACK", LAPACK Working Note 41, 1999: xGEQRF, xORGQR.
    """
    small = min(rows, columns)
    return triangle_flops(rows, columns) + 2 * small**2 * (3 * rows - small) // 3


def triangle_flops(rows: int, columns: int) -> int:
    """The R of a QR by Householder's reflections, without Q."""
    small, large = sorted((rows, columns))
    return 2 * small**2 * (3 * large - small) // 3


def svd_flops(rows: int, columns: int) -> int:
    """A thin SVD with both sides of vectors.

    Source: G. Golub and C. Van Loan, "Matrix Computations", section 8.6: 6mn² + 20n³ for m ≥ n.
    """
    small, large = sorted((rows, columns))
    return 6 * large * small**2 + 20 * small**3


class _Counter(LiveMemory):
    flops = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = super().__torch_dispatch__(function, types, args, kwargs)
        outputs = _tensors(out if isinstance(out, tuple | list) else (out,))
        self.flops += _flops(function.overloadpacket.__name__, _tensors(args), outputs)
        return out


def _tensors(values: Any) -> list[torch.Tensor]:
    return [value for value in values if isinstance(value, torch.Tensor)]


def _flops(name: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> int:
    if name in ("mm", "bmm", "mv", "dot"):
        return 2 * inputs[0].numel() * prod(inputs[1].shape[1:] if name != "bmm" else inputs[1].shape[2:])
    if name == "addmm":
        return 2 * inputs[1].numel() * inputs[2].shape[1]
    if name == "mul" and outputs[0].is_floating_point():
        return outputs[0].numel()
    if name == "linalg_qr":
        return (qr_flops if outputs[0].numel() else triangle_flops)(
            *inputs[0].shape
        )  # Q is empty where only R is wanted
    return svd_flops(*inputs[0].shape) if name == "_linalg_svd" else 0
