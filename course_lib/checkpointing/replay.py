"""Runs a layer again as it ran the first time: with the same random numbers, and with no second effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

__all__ = ["Replay", "random_states", "set_random_states", "without_trace"]


def random_states(device: torch.device) -> list[torch.Tensor]:
    """The state of the random numbers: the processor's, and the device's if it has its own."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])]


def set_random_states(states: list[torch.Tensor], device: torch.device) -> None:
    """Go on drawing random numbers from these states."""
    torch.set_rng_state(states[0])
    for state in states[1:]:
        torch.cuda.set_rng_state(state, device)


@contextmanager
def without_trace(function: Callable, device: torch.device) -> Iterator[None]:
    """Inside, a function may run; afterwards its buffers and the random numbers are as if it had not."""
    buffers = list(function.buffers()) if isinstance(function, nn.Module) else []
    kept, states = [buffer.clone() for buffer in buffers], random_states(device)
    try:
        yield
    finally:
        set_random_states(states, device)
        for buffer, value in zip(buffers, kept, strict=True):
            buffer.data.copy_(value)  # by data, for autograd would take it as a change to what it saved


class Replay:
    """Lets a function run again as it ran first: the same random numbers, and running statistics updated once.

    >>> dropout, x = nn.Dropout(0.5), torch.ones(1000)
    >>> replay = Replay(dropout, x.device)
    >>> with replay.run():
    ...     first = dropout(x)
    >>> with replay.run():
    ...     again = dropout(x)
    >>> torch.equal(first, again)
    True
    """

    def __init__(self, function: Callable, device: torch.device) -> None:
        self.function, self.device, self.begun = function, device, False
        self.states: list[torch.Tensor] | None = None  # before the first run, if that drew random numbers

    @contextmanager
    def run(self) -> Iterator[None]:
        """Inside, the function runs for the first time, or as it did then."""
        if self.begun:
            with without_trace(self.function, self.device):
                if self.states is not None:
                    set_random_states(self.states, self.device)
                yield
        else:
            before = random_states(self.device)
            yield
            drew = any(not torch.equal(a, b) for a, b in zip(before, random_states(self.device), strict=True))
            self.begun, self.states = True, before if drew else None
