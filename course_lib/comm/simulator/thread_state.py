"""What torch and asyncio keep for each thread, and greenlets of one thread would therefore share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import torch

__all__ = ["FRESH", "callers_settings", "differing", "is_fresh", "thread_state"]

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
    """The first part that differs, in words."""
    return next(words for words, one, other in zip(_WORDS, state, expected, strict=True) if one != other)


@contextlib.contextmanager
def callers_settings() -> Iterator[None]:
    """Gradients are recorded inside, and what programs set for all of torch is the caller's own again afterwards."""
    dtype, modes = torch.get_default_dtype(), _function_modes()
    try:
        with torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)
        if _function_modes() > modes:
            torch.set_default_device(None)
