"""The processes of one run: their start, what they say and print, and their clean end."""

from __future__ import annotations

import contextlib
import select
from collections import deque
from collections.abc import Collection, Iterator
from multiprocessing.connection import Connection
from typing import Any

from course_lib.comm.errors import MismatchError
from course_lib.comm.processes.family import Family
from course_lib.comm.processes.folder import RunFolder
from course_lib.comm.processes.fork_server import surroundings
from course_lib.comm.processes.machine import refuse_too_many
from course_lib.comm.processes.startup import Doing
from course_lib.comm.transport.board import Board
from course_lib.comm.transport.child import Job, Plan, live

__all__ = ["Ranks"]

_ROOM_S = 0.002  # how soon the parent looks again whether a rank has room for what it has to say


class Ranks:
    """The processes of one run, as a context: on leaving it, however that happens, all of them are gone."""

    def __init__(self, plan: Plan, echo: bool) -> None:
        refuse_too_many(plan.world_size, len(plan.packed))
        self.world_size = plan.world_size
        self._plan = plan
        self._echoes = echo
        self._unsaid: dict[int, deque[Any]] = {}

    def __enter__(self) -> Ranks:
        with contextlib.ExitStack() as cleaning:
            folder = RunFolder("course-run-")
            cleaning.callback(folder.remove)
            files = [folder.make_file(name, Board.file_bytes(self.world_size)) for name in ("board", "started")]
            self.board = Board(files[0], self.world_size)
            self.board_of_started = self.board.beside()
            cleaning.callback(self.board.close)
            cleaning.callback(self.board_of_started.close)
            self._family = Family("rank", str(folder.path), self._echoes)
            cleaning.callback(self._family.end)
            known = surroundings(str(folder.path))
            for rank in range(self.world_size):
                self._family.start(rank, live, Job(rank, known, self._plan))
            self._cleaning = cleaning.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleaning.close()

    def tell(self, rank: int, message: Any) -> None:
        """Send a message to a rank as soon as it has room for it; one that has gone does not mind."""
        self._unsaid.setdefault(rank, deque()).append(message)
        self._say(rank)

    def _say(self, rank: int) -> None:
        """Send what a rank has room for: a parent that waited for a rank which waits for its parent would hang."""
        link, unsaid = self._family.link(rank), self._unsaid[rank]
        while unsaid and _has_room(link):
            message = unsaid.popleft()
            with contextlib.suppress(OSError):
                link.send(message)

    def listen(self, patience_s: float) -> Iterator[tuple[int, bytes | None]]:
        """What ranks say within `patience_s`, as (rank, message); None instead of a message if a rank has died."""
        for rank in self._unsaid:
            self._say(rank)
        if any(self._unsaid.values()):
            patience_s = min(patience_s, _ROOM_S)
        yield from self._family.listen(patience_s)

    def mismatch(self) -> MismatchError | None:
        """The first message, of programs or of started functions, whose two sides disagree."""
        return self.board.mismatch() or self.board_of_started.mismatch()

    def how_it_ended(self, rank: int) -> str:
        """A dead rank's exit code or signal, in words."""
        return self._family.how_it_ended(rank)

    def doings(self, ranks: Collection[int]) -> dict[int, Doing]:
        """What ranks do now, by rank, from their own stacks."""
        return self._family.doings(ranks)


def _has_room(link: Connection) -> bool:
    """True if a short message can be sent without waiting, or would go nowhere."""
    if link.closed or not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    poll.register(link, select.POLLOUT)
    return bool(poll.poll(0))
