"""What python, numpy and torch would draw next, taken out and put back."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch

from course_lib.comm.devices import accelerator, module_in_use

__all__ = ["random_states", "restore_random_states"]


def random_states() -> dict[str, Any]:
    """The state of each generator of this process, by name.

    That of "accelerator" is its kind, such as "cuda", and the state of the device that this thread uses: an empty list
    where nothing has been done on one. Other devices are other ranks', and theirs to keep.

    >>> before = random_states()
    >>> first = random.random(), np.random.rand(), torch.rand(1).item()
    >>> restore_random_states(before)
    >>> first == (random.random(), np.random.rand(), torch.rand(1).item())
    True
    """
    kind, words, *rest = np.random.get_state()  # noqa: NPY002  everybody's generator is what this is about
    # All states are numbers, texts, lists and tensors, so that a checkpoint can be read without unpickling code.
    return {
        "python": random.getstate(),
        "numpy": [kind, torch.from_numpy(words.astype(np.int64)), *rest],
        "torch": torch.get_rng_state(),
        "accelerator": _of_device(),
    }


def restore_random_states(states: dict[str, Any]) -> None:
    """Let the generators go on from these states; one that is not named stays as it is.

    So does that of an accelerator if the states are of another kind of it, or of a machine that had none: a checkpoint
    can be read there all the same, and what is drawn on the device is drawn anew.
    """
    put = {"python": random.setstate, "numpy": _put_numpy, "torch": torch.set_rng_state, "accelerator": _put_on_device}
    for name, state in states.items():
        put[name](state)


def _put_numpy(state: list[Any]) -> None:
    kind, words, *rest = state
    np.random.set_state((kind, words.numpy().astype(np.uint32), *rest))  # noqa: NPY002


def _put_on_device(state: list[Any]) -> None:
    kind, module = accelerator()[0], module_in_use()
    if state and module is not None and kind == state[0]:
        module.set_rng_state(state[1])


def _of_device() -> list[Any]:
    module = module_in_use()
    return [] if module is None else [accelerator()[0], module.get_rng_state()]
