"""Autograd hooks on gradients: multiply one as it arrives, tell when one is complete, and when the pass ends."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch.autograd import Variable
from torch.utils.weak import WeakTensorKeyDictionary

_OWNERS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # parameter -> whose hooks hang on it


class GradientHooks:
    """Calls `take(number)` when a parameter's gradient is complete, and `finish()` once at the end of that pass.

    A parameter has the hooks of one `GradientHooks` only: a later one removes those of the earlier.

    Attributes:
        in_backward: True from a pass's first gradient until you set it False, in `finish`. A pass that ends with an
            error leaves it True, because PyTorch then does not call `finish`.
        silent: while it is True nothing is called.
        released: True once another has taken the hooks away.

    Args:
        weight: by what a pass's gradients are multiplied, from `weigh` on, before they are added up.
        give_back: called when the hooks are taken away.
    """

    def __init__(
        self,
        parameters: Sequence[torch.Tensor],
        take: Callable[[int], None],
        finish: Callable[[], None],
        weight: Callable[[], float],
        give_back: Callable[[], None] = lambda: None,
    ) -> None:
        self.in_backward = self.silent = self.released = self._weighs = False
        self._parameters = parameters
        self._take = take
        self._finish = finish
        self._weight = weight
        self._give_back = give_back
        release_hooks(parameters)
        self._handles = []
        for number, parameter in enumerate(parameters):
            self._handles.append(parameter.register_post_accumulate_grad_hook(partial(self._complete, number)))
            _OWNERS[parameter] = weakref.ref(self)  # the hooks keep it alive as long as the parameter

    def weigh(self) -> None:
        """Begin to weigh gradients, unless that was done before: it costs a call for each of them."""
        for parameter in () if self._weighs else self._parameters:
            hook = torch.utils.hooks.unserializable_hook(partial(self._weigh, parameter))
            self._handles.append(parameter.register_hook(hook))
        self._weighs = True

    def release(self) -> None:
        """Take the hooks away."""
        for handle in self._handles:
            handle.remove()
        for parameter in self._parameters:
            parameter.grad = None if isinstance(parameter.grad, SentGradient) else parameter.grad
        self.released = True
        self._give_back()

    def _weigh(self, parameter: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor | None:
        if isinstance(parameter.grad, SentGradient):
            parameter.grad = None
        weight = self._weight()
        if weight == 1 or gradient.layout != torch.strided or not _is_accumulated(parameter):
            return None
        # The mean of no examples is not a number, and neither is 0 times it.
        return gradient * weight if weight else torch.full_like(gradient, -0.0)

    def _complete(self, number: int, parameter: torch.Tensor) -> None:
        if self.silent:
            return
        if not self.in_backward:
            self.in_backward = True
            Variable._execution_engine.queue_callback(self._finish)
        self._take(number)


class SentGradient(torch.Tensor):
    """Placeholder for a gradient that was sent to its owners' shards: reading it is an error that says where it is."""

    @classmethod
    def of(cls, parameter: torch.Tensor) -> SentGradient:
        """One in the parameter's shape that takes no memory."""
        return parameter.detach().new_empty(()).expand(parameter.shape).as_subclass(cls)

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Let it be cleared (`zero_grad` in both ways), and refuse all else.

        Raises:
            RuntimeError: always but then.
        """
        if function in (torch.Tensor.zero_, torch.Tensor.detach_):
            return args[0]
        if function in (torch.Tensor.requires_grad_, torch.Tensor.grad_fn.__get__):
            return super().__torch_function__(function, types, args, kwargs)
        raise RuntimeError(
            "this gradient lies in its owners' shards: "
            "clip by sharded.clip_grad_norm_(max_norm), step by sharded.step(), read sharded.units[…].shard.grad"
        )


def release_hooks(parameters: Iterable[torch.Tensor]) -> None:
    """Remove all hooks from these parameters, whoever registered them."""
    for parameter in parameters:
        owner = _OWNERS.get(parameter, lambda: None)()
        if owner is not None and not owner.released:
            owner.release()


def _is_accumulated(parameter: torch.Tensor) -> bool:
    """Whether the pass adds to the parameter's gradient: `torch.autograd.grad` gives it to its caller instead."""
    try:
        return torch._C._will_engine_execute_node(torch.autograd.graph.get_gradient_edge(parameter).node)
    except RuntimeError:
        return False
