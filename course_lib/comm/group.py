"""Some of the ranks as a communicator of their own."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.comm import Communicator, Work

__all__ = ["Group"]


class Group(Communicator):
    """`comm` seen by some of its ranks, numbered from 0 in the order given; only they may use it.

    >>> from course_lib import simulate
    >>> simulate(lambda comm: Group(comm, [3, 1]).rank if comm.rank in (1, 3) else None, world_size=4).results
    [None, 1, None, 0]
    """

    __slots__ = ("_comm", "_ranks")

    def __init__(self, comm: Communicator, ranks: Sequence[int]) -> None:
        if comm.rank not in ranks:
            raise ValueError(f"rank {comm.rank} is none of the group's ranks {list(ranks)}")
        self._comm, self._ranks = comm, ranks
        self.rank, self.world_size, self.network = ranks.index(comm.rank), len(ranks), comm.network

    def isend(self, tensor: torch.Tensor, dst: int) -> Work:
        return self._comm.isend(tensor, self._ranks[dst])

    def irecv(self, tensor: torch.Tensor, src: int | None = None) -> Work:
        return self._comm.irecv(tensor, self._member(src))

    def send(self, tensor: torch.Tensor, dst: int) -> None:
        self._comm.send(tensor, self._ranks[dst])

    def recv(self, tensor: torch.Tensor, src: int | None = None) -> int:
        return self._ranks.index(self._comm.recv(tensor, self._member(src)))

    def _member(self, src: int | None) -> int:
        if src is None:
            raise ValueError("a group cannot receive from anyone: name the sender")
        return self._ranks[src]

    def now(self) -> float:
        return self._comm.now()

    def compute(self, seconds: float, label: str = "compute") -> None:
        self._comm.compute(seconds, label)

    def _record_span(self, label: str, start_s: float, end_s: float) -> None:
        self._comm._record_span(label, start_s, end_s)
