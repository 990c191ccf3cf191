"""Groups of ranks: some of the ranks as a communicator of their own, and gradients whose parts lie on such a group.

A group is a node, a row or a column of a grid, or the stages of a pipeline.
"""

from __future__ import annotations

import operator
import reprlib
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from course_lib.comm.communicator import Communicator, Started, Work


class Group(Communicator):
    """What `comm.group(ranks)` gives: `comm` seen by some of its ranks, numbered from 0 in the order given.

    A group is its ranks: every member makes it, with the same ranks in the same order, and that takes no message.
    Messages inside meet only messages inside a group of the same ranks, whoever made it: never those of the program,
    of another group or of a barrier. (NCCL tells no messages apart: there those between two ranks meet in the order in
    which they are posted.) Groups share their ranks' ports, clock and started functions.

    `rank` and `world_size` are those inside the group. `ranks` are the members' numbers in the whole program, so
    `group.ranks[group.rank]` is one's own. A group of a group is the group of the same ranks. `network` is the
    program's, with the program's numbers.
    """

    __slots__ = ("_comm", "_members", "ranks")

    ranks: tuple[int, ...]

    def __init__(self, comm: Communicator, ranks: Sequence[int]) -> None:
        chosen = _checked(comm, ranks)
        outer = comm.ranks if isinstance(comm, Group) else range(comm.world_size)
        self._comm: Communicator = comm._comm if isinstance(comm, Group) else comm
        self.ranks = tuple(outer[rank] for rank in chosen)
        self._members = {rank: member for member, rank in enumerate(self.ranks)}
        self.rank = chosen.index(comm.rank)
        self.world_size = len(chosen)
        self.network = comm.network

    @property
    def device(self) -> torch.device:
        return self._comm.device

    @property
    def in_order(self) -> bool:
        return self._comm.in_order

    @property
    def _of(self) -> str:
        return f" of the group {reprlib.repr(list(self.ranks))}"

    def isend(self, tensor: torch.Tensor, dst: int) -> Work:
        dst = self._check(tensor, dst, "dst")
        with self._comm._apart(self.ranks):
            return self._comm.isend(tensor, self.ranks[dst])

    def irecv(self, tensor: torch.Tensor, src: int | None = None) -> Work:
        src = self._check(tensor, src, "src")
        with self._comm._apart(self.ranks):
            return _GroupWork(self, self._comm.irecv(tensor, None if src is None else self.ranks[src]))

    def now(self) -> float:
        return self._comm.now()

    def compute(self, seconds: float, label: str = "compute") -> None:
        self._comm.compute(seconds, label)

    def _record_span(self, label: str, start_s: float, end_s: float) -> None:
        self._comm._record_span(label, start_s, end_s)

    def collective(self, kind: str, name: str = "") -> AbstractContextManager[None]:
        return self._comm.collective(kind, name)

    def batch(self) -> AbstractContextManager[None]:
        return self._comm.batch()

    def _apart(self, name: object) -> AbstractContextManager[None]:
        return self._comm._apart(name)

    def _run_started(self, work: Started) -> None:
        self._comm._run_started(work)

    def _join(self, work: Started) -> None:
        self._comm._join(work)

    def _as_started(self, comm: Communicator) -> Communicator:
        return Group(comm, self.ranks)


class _GroupWork(Work):
    """A receive inside a group: its sender has the group's number."""

    __slots__ = ("_group", "_work")

    def __init__(self, group: Group, work: Work) -> None:
        self._group, self._work = group, work

    def wait(self) -> bool:
        return self._work.wait()

    def finish(self, verb: str) -> None:
        self._work.finish(verb)

    def source_rank(self) -> int:
        return self._group._members[self._work.source_rank()]


def _checked(comm: Communicator, ranks: Sequence[int]) -> list[int]:
    """The ranks as whole numbers, each of them one of `comm`'s, each once, and this one among them."""
    try:
        chosen = [operator.index(rank) for rank in ranks]
    except TypeError:
        text = f"a group's ranks must be a list of whole numbers, rank {comm.rank} got {reprlib.repr(ranks)}"
        raise TypeError(text) from None
    shown, known = reprlib.repr(chosen), range(comm.world_size)
    if strangers := [rank for rank in chosen if rank not in known]:
        rule = f"a group's ranks must be from 0 to {comm.world_size - 1}"
        raise ValueError(f"{rule}, rank {comm.rank} got {strangers[0]} in {shown}")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"a group has each of its ranks once, rank {comm.rank} got {shown}")
    if comm.rank not in chosen:
        raise ValueError(f"rank {comm.rank} is none of the group's ranks {shown}: only members make a group")
    return chosen


# --- Gradients of which other ranks have other parts: they know their groups, so that all ranks decide as one.
#
# A shard of ZeRO's, a pipeline's stage, a tensor-parallel layer or an expert may overflow on one rank alone. If only
# that rank skips its step, the ranks wait for each other for ever, or one part of the model moves without the rest. So
# whoever decides about a step (`precision.unscale`, `clip_parts_`) asks the gradients for their groups. torch's own
# `GradScaler` and `clip_grad_norm_`, which ask nobody, are refused.


_GROUPS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # gradient -> communicators
_OWNERS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # parameter -> communicator
_HOOKS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # parameter -> the hook that marks its gradients
_NORMS = {torch._foreach_norm, torch.linalg.vector_norm}
_COPIES = {getattr(torch.Tensor, name) for name in ("clone", "to", "float", "double", "half", "bfloat16", "div", "mul")}


class PartGradient(torch.Tensor):
    """The class of a gradient of which other ranks have other parts.

    A copy of it, in another dtype or times a number, is one too; what else is computed from it is a plain tensor.
    """

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What plain torch makes of it.

        Raises:
            RuntimeError: where torch's own clipping or loss scaling would take this rank's part for all of it.
        """
        if function in _NORMS and sys._getframe(1).f_globals.get("__name__") == "torch.nn.utils.clip_grad":
            raise RuntimeError(f"torch's clip_grad_norm_ {_PART}: {_CLIP}")
        if function is torch._amp_foreach_non_finite_check_and_unscale_:
            raise RuntimeError(f"torch's GradScaler {_PART}: {_UNSCALE}")
        with torch._C.DisableTorchFunctionSubclass():
            result = function(*args, **(kwargs or {}))
            if function in _COPIES:
                mark_part(result, groups_of(each for each in args if isinstance(each, torch.Tensor)))
            return result

    def __repr__(self, **_: Any) -> str:
        return repr(self.detach())

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        return self.detach().clone()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.detach().__reduce_ex__(protocol)


_PART = "sees only the part of a gradient that lies on its rank"
_CLIP = "clip by data_parallel.clipping.clip_parts_, ZeRO by sharded.clip_grad_norm_, a mesh by MeshTraining(clip=...)"
_UNSCALE = (
    "ranks would not agree on which steps to skip. Use precision.DynamicScaler, and let all ranks decide by "
    "precision.unscale(gradients, scaler.scale)"
)


def mark_part(gradient: torch.Tensor | None, groups: Iterable[Communicator]) -> None:
    """Note that each of these groups of ranks has other parts of the gradient."""
    if gradient is None:
        return
    known = list(_GROUPS.get(gradient, ()))
    before = len(known)
    for each in groups:
        known += [each] if all(each is not other for other in known) else []
    if len(known) > before:
        _GROUPS[gradient] = tuple(known)
    if type(gradient) is torch.Tensor and any(each.world_size > 1 for each in known):
        gradient.__class__ = PartGradient


def mark_gradients_of(parameters: Iterable[torch.Tensor], comm: Communicator) -> None:
    """Mark each gradient of these parameters, as soon as a backward pass has made it. A later call takes its place.

    Modules call it in each forward pass: a copy of a parameter, or one that is loaded in its place, has no hook.
    """
    if torch.compiler.is_compiling():
        return
    for parameter in parameters:
        if _OWNERS.get(parameter) is not comm:
            _OWNERS[parameter] = comm
            if parameter in _HOOKS:
                _HOOKS.pop(parameter).remove()
        if parameter.requires_grad and parameter not in _HOOKS:
            hook = parameter.register_post_accumulate_grad_hook(lambda each: mark_part(each.grad, [comm]))
            _HOOKS[parameter] = hook


def groups_of(tensors: Iterable[torch.Tensor | None]) -> list[Communicator]:
    """The groups of ranks on which parts of these gradients, or of these parameters' gradients, lie.

    Each once, and in one order on all ranks, so that those who ask several groups do not wait for each other.
    """
    found: list[Communicator] = []
    for tensor in tensors:
        if tensor is not None:
            groups = (*_GROUPS.get(tensor, ()), *([_OWNERS[tensor]] if tensor in _OWNERS else []))
            found += [each for each in groups if all(each is not other for other in found)]
    return sorted(found, key=order_of)


def order_of(comm: Communicator) -> tuple[tuple[int, ...], int]:
    """Sort key that puts communicators into the same order on all ranks.

    Groups of one shape come together, as the rows of a mesh before its columns: so what one rank of a row says comes
    to all of its rows and columns.
    """
    ranks = tuple(getattr(comm, "ranks", range(comm.world_size)))
    return tuple(rank - ranks[0] for rank in ranks), ranks[0]
