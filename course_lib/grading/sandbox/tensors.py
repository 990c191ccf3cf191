"""Tensors as they are now: their copies and their bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

__all__ = ["raw_bytes", "snapshot"]


def snapshot(value: Any) -> Any:
    """This value as it is now: tensors and arrays are copied, also in lists and tuples; the rest stays what it is."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    return [snapshot(item) for item in value] if isinstance(value, (list, tuple)) else value


def raw_bytes(tensor: torch.Tensor) -> bytes:
    """A tensor's elements as they lie in memory, one after the other, whatever its dtype and strides."""
    flat = tensor.detach().cpu().reshape(-1).clone(memory_format=torch.contiguous_format)  # stride 1, even of one
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
