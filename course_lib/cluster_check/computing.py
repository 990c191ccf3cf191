"""A short computation, the same on every rank: who is slower than the others?"""

from __future__ import annotations

import time

import torch

from course_lib.comm.devices import wait_for

__all__ = ["measure_product"]

_SIZE, _ROUNDS = 512, 12
_SIZE_OF_A_GPU = 8192


def measure_product(device: torch.device) -> float:
    """Floating-point operations a second of a matrix product, in the middle one of some rounds."""
    size = _SIZE_OF_A_GPU if device.type != "cpu" else _SIZE
    matrix = torch.ones(size, size, device=device)
    times = sorted(_seconds(matrix) for _ in range(_ROUNDS))
    return 2 * size**3 / times[_ROUNDS // 2]


def _seconds(matrix: torch.Tensor) -> float:
    started_s = time.perf_counter()
    _ = matrix @ matrix
    wait_for(matrix.device)
    return time.perf_counter() - started_s
