"""What python, numpy and torch would draw next, taken out and put back."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch

__all__ = ["random_states", "restore_random_states"]


def random_states() -> dict[str, Any]:
    """The state of each generator of this process, by name; without GPUs that of "cuda" is an empty list.

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
        "cuda": torch.cuda.get_rng_state_all(),
    }


def restore_random_states(states: dict[str, Any]) -> None:
    """Let the generators go on from these states; one that is not named stays as it is.

    Raises:
        ValueError: if the states are of another number of GPUs.
    """
    put = {"python": random.setstate, "numpy": _put_numpy, "torch": torch.set_rng_state, "cuda": _put_cuda}
    for name, state in states.items():
        put[name](state)


def _put_numpy(state: list[Any]) -> None:
    kind, words, *rest = state
    np.random.set_state((kind, words.numpy().astype(np.uint32), *rest))  # noqa: NPY002


def _put_cuda(states: list[torch.Tensor]) -> None:
    if len(states) != torch.cuda.device_count():
        raise ValueError(f"random states of {len(states)} GPUs, and there are {torch.cuda.device_count()} here")
    torch.cuda.set_rng_state_all(states)
