"""Devices: the processor, or an accelerator of whatever kind torch finds, for each rank's tensors."""

from __future__ import annotations

import copy
import os
from typing import Any

import torch
from torch import nn

CPU = torch.device("cpu")
DEVICES = ("cpu", "gpu", "auto")


def accelerator() -> tuple[str, int]:
    """The kind of this machine's accelerators, such as "cuda", and how many there are; "" and 0 without any.

    Apple's are left out, since they have no float64, in which the course checks its sums.
    """
    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None or kind.type == "mps":
        return "", 0
    return kind.type, torch.accelerator.device_count()


def chosen(device: str | None) -> str:
    """What was asked for; without a word, what the variable COURSE_DEVICE says, and "cpu" where it says nothing."""
    return device or os.environ.get("COURSE_DEVICE") or "cpu"


def on_accelerator(device: str | None) -> bool:
    """True if tensors are to live on accelerators: for "gpu", and for "auto" where there are some.

    Raises:
        ValueError: for another word, or for "gpu" where there is none.

    >>> on_accelerator("cpu")
    False
    """
    word, (kind, count) = chosen(device), accelerator()
    if word not in (*DEVICES, kind, "cuda"):
        raise ValueError(f'device must be "cpu", "gpu" or "auto", got {word!r}')
    if word not in ("cpu", "auto") and (not count or word not in ("gpu", kind)):
        raise ValueError(f'device="{word}", but this machine has no such accelerator that torch can use')
    return word != "cpu" and count > 0


def device_of(rank: int, accelerated: bool) -> torch.device:
    """Rank r's device: accelerator r modulo their number, or the processor."""
    if not accelerated:
        return CPU
    kind, count = accelerator()
    return torch.device(kind, rank % count)


def use(device: torch.device) -> None:
    """Make it this thread's current device, on which "cuda" without a number puts tensors."""
    if device.type != "cpu":
        torch.accelerator.set_device_index(device.index)


def wait_for(device: torch.device) -> None:
    """Synchronize: block until all that was started on the device has ended. On the processor nothing is left to do."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def name_of(device: torch.device) -> str:
    """What the device is called, with what tells two of one kind apart.

    >>> name_of(CPU)
    'CPU'
    """
    if device.type == "cpu":
        return "CPU"
    module = torch.get_device_module(device)
    properties = module.get_device_properties(device) if hasattr(module, "get_device_properties") else None
    return f"{module.get_device_name(device)} {getattr(properties, 'uuid', device.index)}"


def module_in_use() -> Any:
    """The module of an accelerator with which this process has begun to work, such as torch.cuda; None without one."""
    kind, count = accelerator()
    module = torch.get_device_module(kind) if count else None
    return module if module is not None and module.is_initialized() else None


def moved(value: Any, device: torch.device) -> Any:
    """The value with all its tensors and modules on the device, and those in lists, tuples and dictionaries of it.

    What stands twice in it is moved once. Meta tensors stay what they are. What is in other objects, or in the closure
    of a function, stays where it is.

    >>> pair = moved(([torch.ones(2)], {"layer": nn.Linear(2, 1)}), torch.device("meta"))
    >>> pair[0][0].device.type, pair[1]["layer"].weight.device.type
    ('meta', 'meta')
    """
    return _moved(value, device, {})


def _moved(value: Any, device: torch.device, known: dict[int, Any]) -> Any:
    if id(value) not in known:
        known[id(value)] = _move(value, device, known)
    return known[id(value)]


def _move(value: Any, device: torch.device, known: dict[int, Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return value if value.is_meta else value.to(device)
    if isinstance(value, nn.Module):
        return value.to(device)
    if isinstance(value, dict):
        parts = {key: _moved(part, device, known) for key, part in value.items()}
        if any(part is not value[key] for key, part in parts.items()):
            value = copy.copy(value)  # of its own kind
            value.update(parts)
    elif isinstance(value, list | tuple):
        items = [_moved(part, device, known) for part in value]
        if any(after is not before for before, after in zip(value, items, strict=True)):
            return value._make(items) if hasattr(value, "_make") else type(value)(items)
    return value


def receive(into: torch.Tensor, arrived: torch.Tensor) -> None:
    """Put what a simulated message brought into its buffer: the one place where numbers pass between two devices."""
    into.detach().copy_(arrived)
