"""What simulated ranks draw from torch: all live in one process, and yet each has the numbers of its own one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from ctypes import string_at

import torch

from course_lib.comm.devices import accelerator, module_in_use, use

__all__ = ["RankNumbers"]

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
    """Where the memory of torch's generator begins that a first draw changes, and a length; 0 where none is found.

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
