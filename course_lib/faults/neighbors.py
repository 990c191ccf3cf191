"""In-memory checkpoints: a copy of each rank's state in the next rank's memory, which a replaced rank asks for.

rank            0        1        2        3
has         shard 0  shard 1  shard 2  shard 3
keeps       shard 3  shard 0  shard 1  shard 2      rank 1 is replaced: rank 2 gives it shard 1
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch

from course_lib.checks import at_least
from course_lib.collectives import chunk_bytes
from course_lib.comm import Communicator
from course_lib.data_parallel.zero import ShardedOptimizer


class NeighborCopy:
    """The newest copy of the previous rank's part of a ZeRO training, in this rank's memory.

    Raises:
        ValueError: unless there are two ranks: a copy in one's own memory dies with it.

    Source: Z. Wang et al., "Gemini: fast failure recovery in distributed training with in-memory checkpoints", SOSP,
    2023.
    """

    def __init__(self, comm: Communicator, zero: ShardedOptimizer) -> None:
        at_least(2, ranks=comm.world_size)
        self._comm, self._zero = comm, zero
        self._kept: list[torch.Tensor] = []

    @property
    def numbers(self) -> int:
        """How many a copy of this rank's part has; nothing before the optimizer's first step but weights."""
        return sum(row.numel() for row, _ in self._rows())

    def save(self) -> None:
        """Send what this rank has to the next one, and keep what the previous one has.

        Cost: one message for each unit and each row of the optimizer's: with Adam 3Ψ/p numbers from each rank.
        """
        p, rank = self._comm.world_size, self._comm.rank
        mine = self._rows()
        if len(self._kept) != len(mine):  # before the optimizer's first step it has weights alone
            self._kept = [self._like(row, unit_length) for row, unit_length in mine]
        with self._comm.batch():
            works = [self._comm.isend(row, (rank + 1) % p) for row, _ in mine]
            works += [self._comm.irecv(copy, (rank - 1) % p) for copy in self._kept]
        for work in works:
            work.wait()

    def forget(self) -> None:
        """Lose all that this rank has, as a new process in its place would not have it."""
        for row, _ in self._rows():
            row.fill_(torch.nan)

    def restore(self, rank: int) -> None:
        """Give a rank its state of the last `save` back, and everybody the weights. All ranks call it."""
        p, mine = self._comm.world_size, [row for row, _ in self._rows()]
        if self._comm.rank == (rank + 1) % p:
            for copy in self._kept:
                self._comm.send(copy, rank)
        if self._comm.rank == rank:
            for row in mine:
                self._comm.recv(row, (rank + 1) % p)
        self._zero.publish()

    def _rows(self) -> list[tuple[torch.Tensor, int]]:
        """What this rank has of each unit: its shard, and what the optimizer keeps; and the whole unit's length."""
        rows = []
        for unit in self._zero.units:
            kept = self._zero.optimizer.state.get(unit.shard, {}).values()
            tensors = [unit.shard.detach(), *(each for each in kept if isinstance(each, torch.Tensor))]
            rows += [(each, len(unit.row) if each.shape == unit.shard.shape else 0) for each in tensors]
        return rows

    def _like(self, row: torch.Tensor, unit_length: int) -> torch.Tensor:
        """Room for the same of the previous rank, whose shard may be longer."""
        before = (self._comm.rank - 1) % self._comm.world_size
        shape = (chunk_bytes(unit_length, self._comm.world_size, 1)[before],) if unit_length else row.shape
        return row.new_empty(shape)


def lost_share(holders: Sequence[Sequence[int]], deaths: int) -> float:
    """Of all ways in which so many machines die at once, the share in which somebody's state is nowhere any more.

    Args:
        holders: for each machine those that have its state, itself among them.

    >>> ring, pairs = [(m, (m + 1) % 4) for m in range(4)], [(m, m ^ 1) for m in range(4)]
    >>> round(lost_share(ring, 2), 3), round(lost_share(pairs, 2), 3)
    (0.667, 0.333)
    """
    ways = [set(dead) for dead in itertools.combinations(range(len(holders)), deaths)]
    if not ways:
        raise ValueError(f"{deaths} of {len(holders)} machines cannot die")
    return sum(any(dead.issuperset(each) for each in holders) for dead in ways) / len(ways)
