"""A folder of checkpoints: each rank writes its part, and the newest one of which all parts are whole counts.

life-1-3fa9c1.step-40.rank-0-of-2   life-1-3fa9c1.step-50.rank-0-of-2   life-1-3fa9c1.step-60.rank-0-of-2
life-1-3fa9c1.step-40.rank-1-of-2   life-1-3fa9c1.step-50.rank-1-of-2   (died while it wrote)      resume at 50

A life is one start of the training. Parts of two lives are never one checkpoint, whatever their steps; and the later
life is the newer one, even if it has begun again at step 0. (Where a program's steps go back, that is a life, too.)
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from course_lib.checks import at_least
from course_lib.collectives import all_gather, broadcast
from course_lib.comm import Communicator
from course_lib.faults.checkpoint_files import (
    DamagedFileError,
    LifeId,
    Saved,
    draw,
    found_in,
    next_life,
    pack_state,
    read_checked,
    seal,
    unpack_state,
)
from course_lib.files import UNFINISHED, write_atomically

_MAX_STEPS = 16


def rows_of_rank_0(comm: Communicator | None, rows: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Broadcast rank 0's table of whole numbers to every rank.

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
    """Logical and over all ranks.

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


_LARGEST_STEP = 2**63 - 1


class Checkpoints:
    """The checkpoints of a training in a folder that all of its ranks share; all ranks make one together.

    Args:
        comm: whose ranks save a part each; None: one process saves everything.
        keep: how many whole checkpoints to keep.

    Raises:
        TypeError: if `comm` is no communicator.
        ValueError: if `keep` is less than 1.

    Cost: two broadcasts.
    """

    def __init__(self, folder: str | Path, comm: Communicator | None = None, keep: int = 3) -> None:
        if comm is not None and not hasattr(comm, "world_size"):
            raise TypeError(f"comm must be a communicator, or None for one process, got {comm!r}")
        at_least(1, keep=keep)
        self.folder = Path(folder)
        self.keep = keep
        self._comm = comm
        self.rank, self.world_size = (comm.rank, comm.world_size) if comm else (0, 1)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._drawn = draw()
        self._life = self._agreed_life() if self.world_size > 1 else None  # of one rank: the first save begins it
        self._last = -1  # the step that was saved last
        self._agreed: Saved | None = None  # what `newest` has found
        self._seen_whole: dict[str, tuple[int, int]] = {}  # size and time of each file when it was read

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Write this rank's part. When it returns, the part is on the disk.

        Rank 0 then deletes what is older than the newest `keep` that are whole on all ranks, each part by its hash;
        nothing else is ever deleted but what the dead left unfinished. It reads what the others wrote, once.

        Raises:
            TypeError: naming a part of the state that `load` could not read.
            ValueError: if the step is no whole number from 0 on.
            RuntimeError: if a later life has saved in this folder.
        """
        step = operator.index(step)
        if not 0 <= step <= _LARGEST_STEP:
            raise ValueError(f"step must be a whole number from 0 to 2**63 - 1, got {step}")
        content = seal(pack_state(state))
        self._life = self._life or next_life(self.folder, self._drawn)
        if step <= self._last:  # training began again, here and on all ranks
            self._life = LifeId(self._life.number + 1, self._life.drawn)
        self._refuse_to_be_late(self._life)
        path = self.folder / Saved(self._life, step, self.world_size).name(self.rank)
        if self.rank == 0:
            self._sweep_unfinished(self._life)
        self._write(path, content)
        self._last = step
        if self.rank == 0:
            self._delete_old()

    def steps(self) -> list[int]:
        """The steps of which there is anything, whole or not, the one that was saved last at the end."""
        return _last_of_each([saved.step for saved in found_in(self.folder)])

    def whole_steps(self) -> list[int]:
        """The steps of which all ranks' parts are what was written, the newest at the end. Reads them all."""
        return _last_of_each([saved.step for saved in found_in(self.folder) if self._is_whole(saved, saved.names())])

    def newest(self) -> int | None:
        """The newest step that is whole, whatever the number of ranks that saved it; None if there is none.

        All ranks call it, and all get the same; each looks at its share of the parts.
        """
        for saved in self._agreed_candidates():
            mine = saved.names()[self.rank :: self.world_size]
            if all_say(self._comm, self._is_whole(saved, mine)):
                self._agreed = saved
                return saved.step
        return None

    def saved_by(self, step: int) -> int:
        """How many ranks saved this step.

        Raises:
            FileNotFoundError: if there is no such checkpoint, or not all of it.
        """
        return self._find(step).ranks

    def load(self, step: int) -> dict[str, Any]:
        """This rank's part of a checkpoint; what it did not save itself is rank 0's.

        Of several with this step it is the one that `newest` has found, else the newest one.

        Raises:
            DamagedFileError: if a file is torn or corrupted.
            FileNotFoundError: if there is none, or a part is missing.
        """
        state = self.load_part(step, 0)
        return state | self.load_part(step, self.rank) if 0 < self.rank < self.saved_by(step) else state

    def load_part(self, step: int, rank: int) -> dict[str, Any]:
        """What one rank wrote.

        Raises:
            DamagedFileError: if its file is torn or corrupted.
            FileNotFoundError: if there is none, or another part is missing.
        """
        return unpack_state(read_checked(self.folder / self._find(step).name(rank)))

    def _find(self, step: int) -> Saved:
        found = {saved: ranks for saved, ranks in found_in(self.folder).items() if saved.step == step}
        complete = [saved for saved, ranks in found.items() if len(ranks) == saved.ranks]
        if not complete:
            parts = " and ".join(f"{len(ranks)} of {saved.ranks}" for saved, ranks in found.items()) or "no"
            raise FileNotFoundError(f"step {step} has {parts} parts in {self.folder}; steps there are {self.steps()}")
        return self._agreed if self._agreed in complete else complete[-1]

    def _is_whole(self, saved: Saved, names: list[str]) -> bool:
        """Whether these parts of it are there, and are what was written."""
        return all(self._is_what_was_written(self.folder / name) for name in names)

    def _is_what_was_written(self, path: Path) -> bool:
        try:
            if self._seen_whole.get(path.name) != _stamp(path):
                read_checked(path)
                self._remember(path)
        except (DamagedFileError, FileNotFoundError):  # whoever saves may delete it meanwhile
            return False
        return True

    def _remember(self, path: Path) -> None:
        self._seen_whole[path.name] = _stamp(path)

    def _refuse_to_be_late(self, life: LifeId) -> None:
        """A rank of an earlier life may not have heard that it is over; what it writes now must harm nobody."""
        others = [saved.life for saved in found_in(self.folder) if saved.life.drawn != life.drawn]
        if max(others, default=life) > life:
            words = f"another training has saved in {self.folder} since this one began ({others[-1]} after {life})"
            raise RuntimeError(f"{words}: each needs a folder of its own")

    def _write(self, path: Path, content: bytes) -> None:
        try:
            write_atomically(path, content)
        except FileNotFoundError as error:
            if not self.folder.is_dir():
                raise
            raise RuntimeError(f"another training began in {self.folder}, and has swept away {path.name}") from error
        with contextlib.suppress(FileNotFoundError):  # another thread may have deleted it again
            self._remember(path)

    def _delete_old(self) -> None:
        """What is older than the last `keep` whole ones, be it whole or not."""
        whole = 0
        for saved, ranks in reversed(found_in(self.folder).items()):
            if whole < self.keep:
                whole += self._is_whole(saved, saved.names())
                continue
            for rank in ranks:
                (self.folder / saved.name(rank)).unlink(missing_ok=True)
                self._seen_whole.pop(saved.name(rank), None)

    def _sweep_unfinished(self, life: LifeId) -> None:
        """What the dead were writing: files of other trainings, which have not got their names."""
        for left in self.folder.glob(f"life-*-of-*.*{UNFINISHED}"):
            if f"-{life.drawn:06x}." not in left.name:
                left.unlink(missing_ok=True)

    def _agreed_life(self) -> LifeId:
        """One life for all ranks, which rank 0 begins."""
        [[number, drawn]] = rows_of_rank_0(self._comm, [next_life(self.folder, self._drawn)] if self.rank == 0 else [])
        return LifeId(number, drawn)

    def _agreed_candidates(self) -> list[Saved]:
        """What rank 0 sees of checkpoints with all their parts, the newest first."""
        rows: list[tuple[int, ...]] = []
        if self.rank == 0:
            found = [saved for saved, ranks in found_in(self.folder).items() if len(ranks) == saved.ranks]
            rows = [(*saved.life, saved.step, saved.ranks) for saved in reversed(found)]
        told = rows_of_rank_0(self._comm, rows)
        return [Saved(LifeId(number, drawn), step, ranks) for number, drawn, step, ranks in told]


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of a file."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _last_of_each(steps: list[int]) -> list[int]:
    """The steps without those that come again later."""
    return list(reversed(dict.fromkeys(reversed(steps))))
