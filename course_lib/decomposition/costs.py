"""Costs: the numbers that a tensor train stores; flops and live bytes of a calculation, counted while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.flops import flops_of, name_of
from course_lib.live_memory import LiveMemory


def tt_numbers(shape: Sequence[int], ranks: Sequence[int]) -> int:
    """Numbers of a tensor train: Σ r_{k-1} · n_k · r_k, with all d + 1 ranks given; below d·n·r² where all are alike.

    >>> tt_numbers([10] * 30, [1, *[2] * 29, 1])
    1160
    """
    return sum(left * n * right for left, n, right in zip(ranks[:-1], shape, ranks[1:], strict=True))


@dataclass
class Counts:
    """Counted while a function ran, its backward passes included; what lived before it is not counted."""

    result: Any
    flops: int
    peak_bytes: int
    largest_bytes: int  # of a single tensor


def count(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Counts:
    """Call a function, and count its flops and the memory of the tensors that it makes.

    Products, factorizations and elementwise multiplications are counted, each as `course_lib.flops` says; other
    elementwise arithmetic, which grows no faster than the numbers themselves, is not. Memory is counted by the sizes of
    tensors while they are referred to, so that it does not depend on an allocator.

    >>> import torch
    >>> square = torch.ones(8, 8)
    >>> counts = count(lambda: (square @ square) * 2)
    >>> counts.flops, counts.peak_bytes, counts.largest_bytes
    (1088, 512, 256)
    """
    counter = _Counter()
    with counter:
        result = function(*args, **kwargs)
    return Counts(result, counter.flops, counter.peak_bytes, counter.largest_bytes)


class _Counter(LiveMemory):
    flops = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = super().__torch_dispatch__(function, types, args, kwargs)
        flops = flops_of(function, args, kwargs or {}, out)
        multiplies = name_of(function) == "mul" and out.is_floating_point()
        self.flops += flops.number if flops.kind in ("product", "factorization") or multiplies else 0
        return out
