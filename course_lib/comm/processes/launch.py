"""The processes of one run: their start, what they say and print, and their clean end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from course_lib.comm.errors import MismatchError
from course_lib.comm.processes.board import Board
from course_lib.comm.processes.capacity import refuse_too_many
from course_lib.comm.processes.child import Job, Plan, live
from course_lib.comm.processes.folder import RunFolder
from course_lib.comm.processes.fork_server import (
    how_it_ended,
    kill_with_children,
    start_process,
    surroundings,
)
from course_lib.comm.processes.output import Output
from course_lib.comm.source_location import belongs_to_program, describe_line

__all__ = ["Ranks"]

_LAST_WORDS_S = 1.0
_ROOM_S = 0.002  # how soon the parent looks again whether a rank has room for what it has to say


class Ranks:
    """The processes of one run, as a context: on leaving it, however that happens, all of them are gone."""

    def __init__(self, plan: Plan, echo: bool) -> None:
        refuse_too_many(plan.world_size, len(plan.packed))
        self.world_size, self._plan, self._echoes = plan.world_size, plan, echo
        self._processes: list = []
        self._links: dict[Any, int] = {}
        self._outputs: dict[Any, Output] = {}
        self._unsaid: dict[int, deque] = {}

    def __enter__(self) -> Ranks:
        with contextlib.ExitStack() as cleaning:
            self._folder = RunFolder("course-run-")
            cleaning.callback(self._folder.remove)
            files = [self._folder.make_file(name, Board.file_bytes(self.world_size)) for name in ("board", "started")]
            self.board, self.board_of_started = (Board(file, self.world_size) for file in files)
            cleaning.callback(self.board.close)
            cleaning.callback(self.board_of_started.close)
            cleaning.callback(self._hear_the_last)
            cleaning.callback(self._end_processes)
            known = surroundings(str(self._folder.path))
            for rank in range(self.world_size):
                self._start(Job(rank, known, self._plan))
            self._cleaning = cleaning.pop_all()
        return self

    def _start(self, job: Job) -> None:
        process, link, output = start_process(live, job)
        self._processes.append(process)
        self._links[link] = job.rank
        self._outputs[output] = Output(output, f"rank {job.rank}" if self._echoes else None)

    def __exit__(self, *_: object) -> None:
        self._cleaning.close()

    def _end_processes(self) -> None:
        for process in self._processes:
            kill_with_children(process)
        for process in self._processes:
            process.join(5)
            with contextlib.suppress(ValueError):
                process.close()

    def _hear_the_last(self) -> None:
        """Print what dead ranks have said; what one of them has left alive may talk on for ever, and is not heard."""
        until_s = time.monotonic() + _LAST_WORDS_S
        try:
            while self._outputs and time.monotonic() < until_s and (ready := _ready([*self._outputs], 0)):
                for output in ready:
                    self._echo(output)
        finally:
            for connection in (*self._links, *self._outputs):
                connection.close()

    def tell(self, rank: int, message: Any) -> None:
        """Send a message to a rank as soon as it has room for it; one that has gone does not mind."""
        self._unsaid.setdefault(rank, deque()).append(message)
        self._say()

    def _say(self) -> None:
        """Send what ranks have room for: a parent that waited for a rank which waits for its parent would hang."""
        for link, rank in self._links.items():
            unsaid = self._unsaid.get(rank)
            while unsaid and _has_room(link):
                with contextlib.suppress(OSError):
                    link.send(unsaid.popleft())

    def listen(self, patience_s: float) -> Iterator[tuple[int, bytes | None]]:
        """What ranks say within `patience_s`, as (rank, message); None instead of a message if a rank has died."""
        self._say()
        if any(self._unsaid.values()):
            patience_s = min(patience_s, _ROOM_S)
        for ready in _ready([*self._links, *self._outputs], patience_s):
            if ready in self._outputs:
                self._echo(ready)
                continue
            rank = self._links[ready]
            try:
                yield rank, ready.recv_bytes()
            except (EOFError, OSError):
                del self._links[ready]
                ready.close()
                yield rank, None

    def mismatch(self) -> MismatchError | None:
        """The first message, of programs or of started functions, whose two sides disagree."""
        return self.board.mismatch() or self.board_of_started.mismatch()

    def how_it_ended(self, rank: int) -> str:
        """A dead rank's exit code or signal, in words."""
        return how_it_ended(self._processes[rank])

    def stack_of(self, rank: int) -> str:
        """What a rank that is in no communication call is doing, from its own stack."""
        if not hasattr(signal, "SIGUSR1"):
            return "is still running"
        path = self._folder.path / f"stack{rank}"
        with contextlib.suppress(OSError, ProcessLookupError):
            os.kill(self._processes[rank].pid, signal.SIGUSR1)
            time.sleep(0.2)
            for line in path.read_text().splitlines():
                location = _program_line(line)
                if location:
                    return f"runs {location}"
        return "is still running"

    def _echo(self, output: Connection) -> None:
        """Print the whole lines that have come."""
        if not self._outputs[output].show():
            del self._outputs[output]


def _ready(connections: list[Connection], patience_s: float) -> list[Connection]:
    """Those of the connections that have something to say, or have ended."""
    return cast(list[Connection], wait(connections, patience_s))


def _has_room(link: Connection) -> bool:
    """True if a short message can be sent without waiting."""
    if not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    poll.register(link, select.POLLOUT)
    return bool(poll.poll(0))


def _program_line(line: str) -> str:
    """The source location of a stack line if it belongs to the program, else nothing."""
    line = line.strip()
    if not line.startswith('File "'):
        return ""
    file, rest = line.removeprefix('File "').split('"', 1)
    if not belongs_to_program(file):
        return ""
    number = rest.removeprefix(", line ").split(" ")[0]
    return describe_line(file, int(number)) if number.isdigit() else ""
