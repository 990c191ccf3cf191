"""What simulated ranks draw from torch: all live in one process, and yet each has the numbers of its own one."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.comm.devices import accelerator, module_in_use, use

__all__ = ["RankNumbers"]


class RankNumbers:
    """The states of torch's generators for each rank; a rank begins with the seed that `run` gives it.

    They are the processor's, and that of the rank's device: its current one, for a program may choose another. Numpy's
    and Python's own states would take twenty times as long.

    Attributes:
        keeps: False saves this time: ranks then draw from one state, that of the rank which began last.
    """

    def __init__(self, devices: Sequence[torch.device]) -> None:
        self.keeps = True
        self._devices = devices
        self._generator = torch.default_generator
        self._states: dict[int, torch.Tensor] = {}
        self._has_accelerator = accelerator()[1] > 0
        self._on_devices: dict[int, tuple[int, torch.Tensor]] = {}  # each rank's current device, and the state there

    def enter(self, rank: int) -> None:
        """From now on torch draws this rank's numbers, and its device is the current one."""
        use(self._devices[rank])
        if rank not in self._states:
            torch.manual_seed(rank)  # of every device, for a program may choose its own
            self.leave(rank)
        elif self.keeps:
            self._generator.set_state(self._states[rank])
            if rank in self._on_devices:
                number, state = self._on_devices[rank]
                module_in_use().set_rng_state(state, number)

    def leave(self, rank: int) -> None:
        """Keep what this rank would draw next."""
        self._states[rank] = self._generator.get_state()
        if self._has_accelerator and (module := module_in_use()) is not None:
            number = torch.accelerator.current_device_index()
            self._on_devices[rank] = number, module.get_rng_state(number)
