"""A folder of checkpoints: each rank writes its part, and the newest one that is whole on all ranks counts.

step-00000040.rank-0   step-00000050.rank-0   step-00000060.rank-0
step-00000040.rank-1   step-00000050.rank-1   (died while it wrote)      resume at 50
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

import torch

from course_lib.collectives import all_gather
from course_lib.comm import Communicator
from course_lib.faults.sealed import DamagedFileError, read_checked, seal
from course_lib.files import write_atomically

__all__ = ["Checkpoints", "common_step"]

_NAME = re.compile(r"step-(\d{8})\.rank-(\d+)$")
_MOST_STEPS = 16


class Checkpoints:
    """The checkpoints of one rank in a folder that all ranks share.

    Args:
        keep: how many to keep. Where several ranks save, at least 2: while one of them writes its newest, another
            may have none but the one before.

    Raises:
        ValueError: if `keep` is not from 1 to 16.
    """

    def __init__(self, folder: str | Path, rank: int = 0, keep: int = 3) -> None:
        if not 1 <= keep <= _MOST_STEPS:
            raise ValueError(f"keep must be from 1 to {_MOST_STEPS}, got {keep}")
        self.folder, self.rank, self.keep = Path(folder), rank, keep
        self.folder.mkdir(parents=True, exist_ok=True)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Write this rank's part; then delete what is older than the last `keep`, and what the dead left unfinished."""
        content = io.BytesIO()
        torch.save(state, content)
        write_atomically(self._path(step, self.rank), seal(content.getvalue()))
        for old in self.steps()[: -self.keep]:
            self._path(old, self.rank).unlink()
        for left in self.folder.glob(f"step-*.rank-{self.rank}.*.tmp"):
            left.unlink()

    def steps(self) -> list[int]:
        """The steps of which this rank has a file, damaged or not, in order."""
        found = (_NAME.match(name) for name in os.listdir(self.folder))
        return sorted(int(match[1]) for match in found if match and int(match[2]) == self.rank)

    def whole_steps(self) -> list[int]:
        """The steps of which this rank's file is what was written, in order."""
        return [step for step in self.steps() if self._is_whole(step)]

    def load(self, step: int) -> dict[str, Any]:
        """This rank's part of a checkpoint; what it did not save itself is rank 0's.

        Raises:
            DamagedFileError: if a file is torn or corrupted.
            FileNotFoundError: if there is none.
        """
        state = self.load_part(step, 0)
        return state if self.rank == 0 else state | self.load_part(step, self.rank)

    def load_part(self, step: int, rank: int) -> dict[str, Any]:
        """What one rank wrote.

        Raises:
            DamagedFileError: if its file is torn or corrupted.
            FileNotFoundError: if there is none.
        """
        return torch.load(io.BytesIO(read_checked(self._path(step, rank))), weights_only=True)

    def _path(self, step: int, rank: int) -> Path:
        return self.folder / f"step-{step:08}.rank-{rank}"

    def _is_whole(self, step: int) -> bool:
        try:
            read_checked(self._path(step, self.rank))
        except DamagedFileError:
            return False
        return True


def common_step(comm: Communicator | None, steps: list[int]) -> int | None:
    """The newest step that every rank has; None if there is none.

    Cost: one all-gather of 16 numbers.

    >>> common_step(None, [40, 50])
    50
    """
    if comm is None or comm.world_size == 1:
        return max(steps, default=None)
    mine = torch.full((_MOST_STEPS,), -1)
    newest = steps[-_MOST_STEPS:]
    mine[: len(newest)] = torch.tensor(newest, dtype=torch.int64)
    everyone = [torch.empty_like(mine) for _ in range(comm.world_size)]
    all_gather(comm, everyone, mine)
    common = set.intersection(*({step for step in row.tolist() if step >= 0} for row in everyone))
    return max(common, default=None)
