"""The processes of one run: their start, what they say and print, and their clean end."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

from course_lib.comm.errors import MismatchError, TransportError
from course_lib.comm.network import Network
from course_lib.comm.processes.board import Board
from course_lib.comm.processes.capacity import refuse_too_many
from course_lib.comm.processes.child import Job, live
from course_lib.comm.processes.fork_server import (
    how_it_ended,
    kill_with_children,
    show_lines,
    start_process,
    surroundings,
)
from course_lib.comm.source_location import describe_line
from course_lib.comm.tracebacks import belongs_to_program

__all__ = ["Ranks"]

_ROOM_S = 0.002  # how soon the parent looks again whether a rank has room for what it has to say


class Ranks:
    """The processes of one run, as a context: on leaving it, however that happens, all of them are gone."""

    def __init__(
        self,
        world_size: int,
        packed: bytes,
        network: Network | None,
        backend: str,
        on_gpu: bool,
        timeout_s: float,
        echo: bool,
    ) -> None:
        refuse_too_many(world_size, len(packed))
        self.world_size, self.echo = world_size, echo
        self._folder = tempfile.mkdtemp(prefix="course-run-")
        known = surroundings(self._folder)
        self._jobs = [
            Job(rank, world_size, known, packed, network, backend, on_gpu, timeout_s) for rank in range(world_size)
        ]
        self._processes: list = []
        self._links: dict[Any, int] = {}
        self._outputs: dict[Any, int] = {}
        self._partial = [b""] * world_size  # what has come of each rank's next line
        self._unsaid: dict[int, deque] = {}

    def __enter__(self) -> Ranks:
        try:
            self.board = Board(Path(self._folder) / "board", self.world_size, create=True)
            self.board_of_started = self.board.beside(create=True)
            for job in self._jobs:
                process, link, output = start_process(live, job)
                self._processes.append(process)
                self._links[link], self._outputs[output] = job.rank, job.rank
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                raise TransportError(f"this machine cannot start {self.world_size} ranks: {error}") from error
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            kill_with_children(process)
        for process in self._processes:
            process.join(5)
        self._drain_outputs()
        for connection in (*self._links, *self._outputs):
            connection.close()
        for process in self._processes:
            with contextlib.suppress(ValueError):
                process.close()
        for name in ("board", "board_of_started"):
            if hasattr(self, name):
                getattr(self, name).close()
        shutil.rmtree(self._folder, ignore_errors=True)

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
        path = Path(self._folder) / f"stack{rank}"
        with contextlib.suppress(OSError, ProcessLookupError):
            os.kill(self._processes[rank].pid, signal.SIGUSR1)
            time.sleep(0.2)
            for line in path.read_text().splitlines():
                location = _program_line(line)
                if location:
                    return f"runs {location}"
        return "is still running"

    def _echo(self, output: Connection) -> None:
        """Print the whole lines that have arrived."""
        rank = self._outputs[output]
        rest = show_lines(output, self._partial[rank], f"rank {rank}" if self.echo else None)
        if rest is None:
            del self._outputs[output]
        else:
            self._partial[rank] = rest

    def _drain_outputs(self) -> None:
        while self._outputs and (ready := _ready([*self._outputs], 0)):
            for output in ready:
                self._echo(output)


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
