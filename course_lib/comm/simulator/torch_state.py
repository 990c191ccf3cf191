"""State of torch and asyncio that simulated ranks of a process would share: grad mode, autocast, random generators."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Iterator, Sequence
from ctypes import string_at
from typing import Any

import torch

from course_lib.comm.devices import accelerator, module_in_use, use

# --- What torch and asyncio keep for each thread, and greenlets of one thread would therefore share.


_WORDS = (
    "under no_grad or inference_mode",
    "inside a backward pass",
    "inside torch.autocast",
    "inside torch.device(...) or another mode of torch functions",
    "inside a mode of torch's dispatcher",
    "inside saved_tensors_hooks",
    "inside asyncio's event loop",
)

_grad_enabled, _graph_task = torch.is_grad_enabled, torch._C._current_graph_task_id
_autocasts, _running_loop = torch._C._is_any_autocast_enabled, asyncio._get_running_loop
_function_modes, _dispatch_modes = torch._C._len_torch_function_stack, torch._C._len_torch_dispatch_stack
_saved_hooks = torch._C._autograd._top_saved_tensors_default_hooks

FRESH = True, -1, False, 0, 0, None, None  # that of a thread that has just begun


def thread_state() -> tuple[Any, ...]:
    """The state of this thread: equal to another one's if greenlets may switch between the two."""
    return (
        _grad_enabled(),
        _graph_task(),
        _autocasts(),
        _function_modes(),
        _dispatch_modes(),
        _saved_hooks(False),
        _running_loop(),
    )


def is_fresh() -> bool:
    """True if the state is that of a thread that has just begun: faster to say than the state itself."""
    return (
        _grad_enabled()
        and _graph_task() == -1
        and not (_function_modes() or _dispatch_modes() or _saved_hooks(False) or _running_loop() or _autocasts())
    )


def differing(state: tuple[Any, ...], expected: tuple[Any, ...]) -> str:
    """A description of the first part of the state that differs."""
    return next(words for words, one, other in zip(_WORDS, state, expected, strict=True) if one != other)


@contextlib.contextmanager
def callers_settings() -> Iterator[None]:
    """Restore the caller's default dtype and device of torch afterwards; inside, gradients are recorded."""
    dtype, modes = torch.get_default_dtype(), _function_modes()
    try:
        with torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)
        if _function_modes() > modes:
            torch.set_default_device(None)


# --- What simulated ranks draw from torch: all live in one process, and yet each has the numbers of its own one.


_LOOK_BYTES = 256  # of a generator, which has 2.5 kB


class RankNumbers:
    """The states of torch's generators for each rank; a rank begins with the seed that `run` gives it.

    They are the processor's, and that of the rank's device: its current one, for a program may choose another. Numpy's
    and Python's own states would take twenty times as long.

    To take a state out costs 3 µs and to put it in 1 µs, with each message. So a rank's state is taken out only if it
    has drawn: a look at the generator's memory tells. Once a rank has, its state is always taken out, for a generator
    also keeps a normal number in reserve, at another place.

    Attributes:
        keeps: False saves this time: ranks then draw from one state, that of the rank which began last.
    """

    def __init__(self, devices: Sequence[torch.device]) -> None:
        self.keeps = True
        self._devices = devices
        self._generator = torch.default_generator
        self._states: dict[int, torch.Tensor] = {}
        self._untouched: dict[int, bytes] = {}  # how the generator looks to those who have not drawn
        self._look = _place_of_draws()
        self._has_accelerator = accelerator()[1] > 0
        self._on_devices: dict[int, tuple[int, torch.Tensor]] = {}  # each rank's current device, and the state there

    def enter(self, rank: int) -> None:
        """From now on torch draws this rank's numbers, and its device is the current one."""
        if self._has_accelerator:
            use(self._devices[rank])
        if rank not in self._states:
            torch.manual_seed(rank)  # of every device, for a program may choose its own
            self.leave(rank)
            self._generator.set_state(self._states[rank])
            self._untouched[rank] = string_at(*self._look)
        elif self.keeps:
            self._generator.set_state(self._states[rank])
            if rank in self._on_devices:
                number, state = self._on_devices[rank]
                module_in_use().set_rng_state(state, number)

    def leave(self, rank: int) -> None:
        """Keep what this rank would draw next."""
        if self._untouched.get(rank) != string_at(*self._look) or not self._look[1]:
            self._untouched.pop(rank, None)
            self._states[rank] = self._generator.get_state()
        if self._has_accelerator and (module := module_in_use()) is not None:
            number = torch.accelerator.current_device_index()
            self._on_devices[rank] = number, module.get_rng_state(number)


@functools.cache
def _place_of_draws() -> tuple[int, int]:
    """Address and length of the memory of torch's generator that a draw changes; length 0 if it is not found.

    It is looked for: one draw changes the count of numbers left, and all the words of the twister behind it.
    """
    generator, begin = torch.default_generator, torch.default_generator._cdata
    kept = generator.get_state()
    generator.manual_seed(0)
    before = string_at(begin, _LOOK_BYTES)
    torch.rand(1)
    pairs = zip(before, string_at(begin, _LOOK_BYTES), strict=True)
    changed = [place for place, (old, new) in enumerate(pairs) if old != new]
    generator.set_state(kept)
    return (begin + changed[0], _LOOK_BYTES - changed[0]) if len(changed) > _LOOK_BYTES // 4 else (begin, 0)
