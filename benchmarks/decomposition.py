"""TT-SVD and HOSVD by ours and by tensorly, taking turns on the same tensors, on one thread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from benchmarks.row import Row, row_of
from course_lib.decomposition import function_on_grid, hosvd, load_photo, tensorize, tt_svd

__all__ = ["measure"]

_ERROR = 0.01


def measure(turns: int = 41) -> Iterator[Row]:
    """Median time of ours over tensorly's, which is given the ranks that ours found; the errors are the same."""
    import tensorly
    from tensorly.decomposition import tensor_train, tucker

    before, threads = tensorly.get_backend(), torch.get_num_threads()
    tensorly.set_backend("pytorch")
    torch.set_num_threads(1)
    try:
        for what, tensor in _tensors().items():
            ranks, sizes = list(tt_svd(tensor, _ERROR).ranks), list(hosvd(tensor, _ERROR).ranks)
            ours, theirs = partial(tt_svd, tensor, _ERROR), partial(tensor_train, tensor, ranks)
            yield _row(f"TT-SVD of {what}", tensor, (ours, theirs), turns, "at most 1")
            ours, theirs = partial(hosvd, tensor, _ERROR), partial(tucker, tensor, sizes, n_iter_max=0)
            yield _row(f"HOSVD of {what}", tensor, (ours, theirs), turns)
    finally:
        tensorly.set_backend(before)
        torch.set_num_threads(threads)


def _tensors() -> dict[str, torch.Tensor]:
    photo = tensorize(load_photo(), [4] * 4, [4] * 4)
    noise = torch.randn([2] * 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return {"a photo, 16⁴": photo, "sin of a sum, 10⁶": function_on_grid(torch.sin, [10] * 6), "noise, 2¹⁶": noise}


def _row(name: str, tensor: torch.Tensor, sides: tuple[Callable, Callable], turns: int, goal: str = "") -> Row:
    """Ours over theirs, turn by turn; the first turns are not counted."""
    ours, theirs = (float((tensor - _whole(side())).norm()) for side in sides)
    assert math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-12 * float(tensor.norm()))
    ratios = []
    for _ in range(turns + 3):
        times_s = [time.perf_counter()]
        for side in sides:
            side()
            times_s.append(time.perf_counter())
        ratios.append((times_s[1] - times_s[0]) / (times_s[2] - times_s[1]))
    return row_of("decomposition", f"{name} over tensorly's, one thread", ratios[3:], "x", goal)


def _whole(decomposed: Any) -> torch.Tensor:
    return decomposed.full() if hasattr(decomposed, "full") else decomposed.to_tensor()
