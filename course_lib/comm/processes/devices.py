"""Which backend carries the messages, and where the tensors live."""

from __future__ import annotations

import torch

__all__ = ["choose_backend"]


def choose_backend(device: str, world_size: int, emulated: bool) -> tuple[str, bool, str]:
    """(backend of torch.distributed, tensors on GPUs?, in words) for `device` "auto", "cpu" or "cuda".

    Raises:
        ValueError: for another device, or for "cuda" where there is none or links are emulated.

    >>> choose_backend("cpu", world_size=4, emulated=False)
    ('gloo', False, 'gloo, cpu')
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f'device must be "auto", "cpu" or "cuda", got {device!r}')
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "cuda" and not gpus:
        raise ValueError('device="cuda", but this machine has no GPU that torch can use')
    if device == "cuda" and emulated:
        raise ValueError('network= slows links between processes on the CPU: use device="cpu"')
    if device == "cpu" or not gpus or emulated:
        return "gloo", False, "gloo, cpu"
    if gpus >= world_size and torch.distributed.is_nccl_available():
        return "nccl", True, f"nccl, {world_size} GPUs"
    return "gloo", True, f"gloo through host memory, {world_size} ranks on {gpus} GPU{'s' if gpus > 1 else ''}"
