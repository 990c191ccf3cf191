"""Child processes: start, poll, kill and reap them together, with their orphans; no child can block its parent."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from course_lib.comm.processes.fork_server import start_process, wake_fork_server
from course_lib.comm.processes.pipes import OutputReader, PipeReader
from course_lib.comm.processes.startup import Activity, activities_of, orphans_of

_PATIENCE_S = 5.0  # with the exit code of a process that is dead
_LOOK_S = 0.25  # how often the fork server is looked after meanwhile: it tells exit codes


def kill_with_children(process: Any) -> None:
    """Kill a process and its descendants: its process group, and those that have left the group."""
    left = _children(process.pid)
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    """The ids of a process's descendants (children, and theirs), where Linux tells."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    return found + [grandchild for child in found for grandchild in _children(child)]


def join(process: Any, patience_s: float) -> None:
    """Reap a process that was killed: wait until it is dead, and release what it held here."""
    _exit_code(process, patience_s)
    with contextlib.suppress(ValueError):  # it is not dead yet
        process.close()


def _exit_code(process: Any, patience_s: float) -> int | None:
    """The exit code as soon as it is known; None if that is not so in time."""
    until_s = time.monotonic() + patience_s
    while process.exitcode is None and time.monotonic() < until_s:
        wake_fork_server()
        process.join(_LOOK_S)
    return process.exitcode


def how_it_ended(process: Any) -> str:
    """A dead process's exit code or signal, in words."""
    code = _exit_code(process, _PATIENCE_S)
    if code is None:
        return "it has closed its pipe"
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


_DRAIN_S = 1.0  # how long what dead children have printed is read
_REAP_S = 5.0  # how long killed children are waited for


class _Sentinel:
    """A process's sentinel: readable once the process has died, even while a descendant holds its pipes open.

    An object and no number: the system gives a closed file's number to the next one.
    """

    def __init__(self, process: Any) -> None:
        self._own: int | None = None
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # it is dead already, or the kernel is old
                self._own = os.pidfd_open(process.pid)
        self._number: int = process.sentinel if self._own is None else self._own

    def fileno(self) -> int:
        """The number that can be waited for."""
        return self._number

    def close(self) -> None:
        """Wait for it no more."""
        if self._own is not None:
            os.close(self._own)
            self._own = None


class _Child(NamedTuple):
    """One process, the pipe that it writes to, and its sentinel."""

    process: Any
    inbox: PipeReader
    sentinel: _Sentinel


class ChildProcesses:
    """Child processes by rank. What they print appears here, line by line.

    Args:
        name: what one of them is called, as in "rank": stands before its number in front of each line.
        folder: where each writes what it does when it is asked.
        echo: show what they print.
    """

    def __init__(self, name: str, folder: str, echo: bool) -> None:
        self._name = name
        self._folder = folder
        self._echoes = echo
        self._children_by_rank: dict[int, _Child] = {}
        self._awaited: dict[PipeReader | _Sentinel, int] = {}  # what is polled, and whose it is
        self._outputs: set[OutputReader] = set()

    @property
    def ranks(self) -> list[int]:
        """Those that were started and not reaped."""
        return list(self._children_by_rank)

    def start(self, rank: int, live: Callable[[Any, Connection, Connection], None], job: Any) -> None:
        """Start one.

        Raises:
            TransportError: if that cannot be done.
        """
        process, link, output = start_process(live, job)
        child = _Child(process, PipeReader(link), _Sentinel(process))
        self._children_by_rank[rank] = child
        self._awaited |= {child.inbox: rank, child.sentinel: rank}
        self._outputs.add(OutputReader(output, f"{self._name} {rank}" if self._echoes else None))

    def link(self, rank: int) -> Connection:
        """The pipe to one of them."""
        return self._children_by_rank[rank].inbox.link

    def listen(
        self, patience_s: float, ready: Callable[[list[Any], float], list[Any]] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """What they say within `patience_s`, as (rank, message); None instead of a message if one has died.

        Args:
            ready: those of some things with `fileno()` that can be read within some seconds.
        """
        for one in (ready or _ready)([*self._awaited, *self._outputs], patience_s):
            if isinstance(one, OutputReader):
                self._show(one)
            elif one in self._awaited:
                yield from self._receive(one, self._awaited[one])

    def _receive(self, one: PipeReader | _Sentinel, rank: int) -> Iterator[tuple[int, bytes | None]]:
        messages, child = None, self._children_by_rank[rank]
        if isinstance(one, PipeReader):
            with contextlib.suppress(EOFError):
                messages = one.take()
        for message in self._take_last_messages(rank) if messages is None else messages:
            if self._children_by_rank.get(rank) is child:  # who has been killed meanwhile is silent
                yield rank, message

    def _take_last_messages(self, rank: int) -> list[bytes | None]:
        """The last messages of a child that has died, and None."""
        inbox, sentinel = self._children_by_rank[rank].inbox, self._children_by_rank[rank].sentinel
        del self._awaited[inbox], self._awaited[sentinel]
        words = inbox.take_the_last()
        sentinel.close()
        inbox.close()
        return [*words, None]

    def _show(self, output: OutputReader) -> None:
        """Print the whole lines that have come; at its end, what is left."""
        if not output.show():
            self._outputs.discard(output)

    def how_it_ended(self, rank: int) -> str:
        """A dead one's exit code or signal, in words."""
        return how_it_ended(self._children_by_rank[rank].process)

    def activities(self, ranks: Collection[int]) -> dict[int, Activity]:
        """What these do now that are in no communication call, by rank, from their own stacks."""
        return activities_of({rank: self._children_by_rank[rank].process.pid for rank in ranks}, self._folder)

    def reap(self, rank: int) -> None:
        """Kill one child, and reap it."""
        self._terminate({rank: self._children_by_rank.pop(rank)})

    def terminate(self) -> None:
        """Kill and reap all children and their orphans, and print what is left of their output."""
        children, self._children_by_rank = self._children_by_rank, {}
        try:
            self._terminate(children)
        finally:
            self._drain_outputs()

    def _terminate(self, children: dict[int, _Child]) -> None:
        dead = {rank for rank, each in children.items() if self._is_dead(each)}
        for child in children.values():
            kill_with_children(child.process)
        until_s = time.monotonic() + _REAP_S
        for rank, child in children.items():
            if _exit_code(child.process, until_s - time.monotonic()) not in (None, -signal.SIGKILL):
                dead.add(rank)  # by itself, and perhaps before its children were looked for
            join(child.process, until_s - time.monotonic())
            for one in (child.inbox, child.sentinel):
                self._awaited.pop(one, None)
            child.inbox.close()
            child.sentinel.close()
        for pid in orphans_of(self._folder, dead) if dead else []:  # orphans: their parent is dead
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _is_dead(self, child: _Child) -> bool:
        return child.sentinel not in self._awaited or bool(_ready([child.sentinel], 0))

    def _drain_outputs(self) -> None:
        """Print what dead children have written. An orphan that lives may write for ever, so there is a time limit."""
        until_s = time.monotonic() + _DRAIN_S
        try:
            while self._outputs and time.monotonic() < until_s and (ready := _ready([*self._outputs], 0)):
                for output in ready:
                    self._show(output)
        finally:
            for output in self._outputs:
                output.close()


def _ready(those: list[Any], patience_s: float) -> list[Any]:
    """Those of some things with a file's number that can be read within so many seconds."""
    return wait(those, patience_s)
