"""Re-runs a layer as it ran the first time, for recomputation: same random numbers, same buffers, no second effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


def random_states(device: torch.device) -> list[torch.Tensor]:
    """The states of the random number generators: the processor's, and the device's if it has its own."""
    has_own = device.type not in ("cpu", "meta")
    return [torch.get_rng_state(), *([torch.get_device_module(device).get_rng_state(device)] if has_own else [])]


def set_random_states(states: list[torch.Tensor], device: torch.device) -> None:
    """Set the random number generators to these states."""
    torch.set_rng_state(states[0])
    for state in states[1:]:
        torch.get_device_module(device).set_rng_state(state, device)


def _buffers(function: Callable[..., Any]) -> list[torch.Tensor]:
    return list(function.buffers()) if isinstance(function, nn.Module) else []


def _set_buffers(function: Callable[..., Any], values: list[torch.Tensor]) -> None:
    for buffer, value in zip(_buffers(function), values, strict=True):
        buffer.data.copy_(value)  # by data, for autograd would take it as a change to what it saved


@contextmanager
def without_trace(function: Callable[..., Any], device: torch.device) -> Iterator[None]:
    """Inside `with`, a function may run; afterwards its buffers and the random states are as if it had not."""
    kept, states = [buffer.clone() for buffer in _buffers(function)], random_states(device)
    try:
        yield
    finally:
        set_random_states(states, device)
        _set_buffers(function, kept)


class Replay:
    """Lets a function run again as it ran first: the same random numbers and buffers, which are updated once.

    >>> dropout, x = nn.Dropout(0.5), torch.ones(1000)
    >>> replay = Replay(dropout, x.device)
    >>> with replay.run():
    ...     first = dropout(x)
    >>> with replay.run():
    ...     again = dropout(x)
    >>> torch.equal(first, again)
    True
    """

    def __init__(self, function: Callable[..., Any], device: torch.device) -> None:
        self.function = function
        self.device = device
        self.begun = False
        self.states: list[torch.Tensor] | None = None  # before the first run, if that drew random numbers
        self.buffers: list[torch.Tensor] | None = None  # before the first run, if that changed them

    @contextmanager
    def run(self) -> Iterator[None]:
        """Inside, the function runs for the first time, or as it did then."""
        if self.begun:
            with without_trace(self.function, self.device):
                if self.states is not None:
                    set_random_states(self.states, self.device)
                if self.buffers is not None:
                    _set_buffers(self.function, self.buffers)
                yield
        else:
            states, buffers = random_states(self.device), [buffer.clone() for buffer in _buffers(self.function)]
            yield
            self.begun = True
            self.states = None if _equal(states, random_states(self.device)) else states
            self.buffers = None if _equal(buffers, _buffers(self.function)) else buffers


def _equal(before: list[torch.Tensor], after: list[torch.Tensor]) -> bool:
    return all(a.is_meta or torch.equal(a, b) for a, b in zip(before, after, strict=True))
