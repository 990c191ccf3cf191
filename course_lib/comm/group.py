"""Some of the ranks as a communicator of their own: a node, a row or a column of a grid, the stages of a pipeline."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Sequence
from contextlib import AbstractContextManager

import torch

from course_lib.comm.communicator import Communicator, Started, Work

__all__ = ["Group"]


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

    def _run_beside(self, work: Started) -> None:
        self._comm._run_beside(work)

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
