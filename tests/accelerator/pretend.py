"""`import pretend` gives PyTorch a device "pretend" that needs no hardware: see README.md beside this file.

It is the whole process's and cannot be taken back: from then on torch.accelerator finds eight devices. So tests import
it in processes of their own (`on_device`).
"""

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any

import torch
from compiled import compiled

_device = compiled()
_device.init()
torch.utils.rename_privateuse1_backend("pretend")
DEVICES: int = _device.device_count()


def index(device: Any = None) -> int:
    """The device's number; that of the current one where none is named."""
    if device is None or isinstance(device, int):
        return _device.current() if device is None else device
    named = torch.device(device).index
    return _device.current() if named is None else named


class device(contextlib.ContextDecorator):  # noqa: N801 (as torch.cuda.device)
    """Inside, another device is the current one."""

    def __init__(self, wanted: Any) -> None:
        self.wanted = wanted

    def __enter__(self) -> None:
        self.before = _device.exchange(index(self.wanted))

    def __exit__(self, *_: object) -> None:
        _device.exchange(self.before)


def _generator(device: Any = None) -> torch.Generator:
    return _device.generator(index(device))


def _seed_all(seed: int) -> None:
    for number in range(DEVICES):
        _generator(number).manual_seed(seed)


def _set_all(states: list[torch.Tensor]) -> None:
    for number, state in enumerate(states):
        _generator(number).set_state(state)


_module = types.ModuleType("torch.pretend", "What torch.cuda is to CUDA, as much of it as is needed.")
vars(_module).update(
    device=device,
    is_available=lambda: True,
    is_initialized=lambda: True,
    _is_in_bad_fork=lambda: False,
    device_count=lambda: DEVICES,
    current_device=_device.current,
    set_device=lambda device: _device.exchange(index(device)),
    get_device_name=lambda device=None: "pretend",
    get_amp_supported_dtype=lambda: [torch.float16, torch.bfloat16],
    manual_seed=lambda seed: _generator().manual_seed(seed),
    manual_seed_all=_seed_all,
    get_rng_state=lambda device=None: _generator(device).get_state(),
    set_rng_state=lambda state, device=None: _generator(device).set_state(state),
    get_rng_state_all=lambda: [_generator(number).get_state() for number in range(DEVICES)],
    set_rng_state_all=_set_all,
    synchronize=lambda device=None: None,
    current_stream=lambda device=None: torch.accelerator.current_stream(),
    stream=lambda stream: contextlib.nullcontext(),  # there is one, and what is put into it has ended
    memory_allocated=lambda device=None: _device.bytes_now(index(device)),
    let_cross=_device.let_cross,  # False: from now on a copy from one device to another is an error; returns what was
)
torch._register_device_module("pretend", _module)
sys.modules["torch.pretend"] = _module
torch.utils.generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_storage=True)
# Module.to(...) would otherwise make a new parameter for each name, and tie none that were tied.
torch.__future__.set_swap_module_params_on_conversion(True)


def loaded() -> None:
    """For `import torch`, which loads what the folder `autoload` names: so that ranks of `run` have the device, too."""
