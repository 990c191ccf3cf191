"""What ranks tell each other about checkpoints, since each sees the folder at another moment."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.collectives import all_gather, broadcast
from course_lib.comm import Communicator

__all__ = ["all_say", "common_step", "rows_of_rank_0"]

_MAX_STEPS = 16


def rows_of_rank_0(comm: Communicator | None, rows: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Rank 0's table of whole numbers on every rank, whatever the others have.

    Cost: two broadcasts, of its shape and of its numbers.
    """
    if comm is None or comm.world_size == 1:
        return list(rows)
    shape = torch.tensor([len(rows), len(rows[0]) if rows else 0])
    broadcast(comm, shape, src=0)
    table = torch.tensor(rows) if comm.rank == 0 and rows else torch.zeros(*shape.tolist(), dtype=torch.int64)
    if table.numel():
        broadcast(comm, table, src=0)
    return [tuple(row) for row in table.tolist()]


def all_say(comm: Communicator | None, yes: bool) -> bool:
    """Whether all ranks say yes.

    Cost: one all-gather of a number.
    """
    if comm is None or comm.world_size == 1:
        return yes
    said = [torch.zeros(1, dtype=torch.int64) for _ in range(comm.world_size)]
    all_gather(comm, said, torch.tensor([int(yes)]))
    return all(map(bool, said))


def common_step(comm: Communicator | None, steps: list[int]) -> int | None:
    """The newest step that every rank has; None if there is none.

    Only numbers are compared: `Checkpoints.newest` looks at whose files they are, and whether they are whole.

    Cost: one all-gather of 16 numbers.

    >>> common_step(None, [40, 50])
    50
    """
    if comm is None or comm.world_size == 1:
        return max(steps, default=None)
    mine = torch.full((_MAX_STEPS,), -1)
    newest = sorted(steps)[-_MAX_STEPS:]
    mine[: len(newest)] = torch.tensor(newest, dtype=torch.int64)
    everyone = [torch.empty_like(mine) for _ in range(comm.world_size)]
    all_gather(comm, everyone, mine)
    common = set.intersection(*({step for step in row.tolist() if step >= 0} for row in everyone))
    return max(common, default=None)
