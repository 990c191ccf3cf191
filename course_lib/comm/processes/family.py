"""Processes that are started, heard and ended together: nothing that one of them does holds its parent up."""

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
from course_lib.comm.processes.pipes import Inbox, Output
from course_lib.comm.processes.startup import Doing, left_by, what_they_do

__all__ = ["Family", "how_it_ended", "join", "kill_with_children"]

_PATIENCE_S = 5.0  # with the exit code of a process that is dead
_LOOK_S = 0.25  # how often the fork server is looked after meanwhile: it tells exit codes


def kill_with_children(process: Any) -> None:
    """End a process and what it has started: they form a process group, but for those that have left it."""
    left = _children(process.pid)
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    """What a process has started, and what these have, where Linux tells."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    return found + [grandchild for child in found for grandchild in _children(child)]


def join(process: Any, patience_s: float) -> None:
    """Wait until a process that was killed is dead, and give back what it held here."""
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


_LAST_WORDS_S = 1.0
_BURIAL_S = 5.0


class _Death:
    """It can be read once the process has died, even if something that it has started holds its pipes.

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


class _Relative(NamedTuple):
    """One process, what it says, and how its death is seen."""

    process: Any
    inbox: Inbox
    death: _Death


class Family:
    """Processes by rank. What they print appears here, line by line.

    Args:
        name: what one of them is called, as in "rank": stands before its number in front of each line.
        folder: where each writes what it does when it is asked.
        echo: show what they print.
    """

    def __init__(self, name: str, folder: str, echo: bool) -> None:
        self._name = name
        self._folder = folder
        self._echoes = echo
        self._relatives: dict[int, _Relative] = {}
        self._heard: dict[Inbox | _Death, int] = {}  # whose they are
        self._outputs: set[Output] = set()

    @property
    def ranks(self) -> list[int]:
        """Those that were started and not buried."""
        return list(self._relatives)

    def start(self, rank: int, live: Callable[[Any, Connection, Connection], None], job: Any) -> None:
        """Start one.

        Raises:
            TransportError: if that cannot be done.
        """
        process, link, output = start_process(live, job)
        relative = _Relative(process, Inbox(link), _Death(process))
        self._relatives[rank] = relative
        self._heard |= {relative.inbox: rank, relative.death: rank}
        self._outputs.add(Output(output, f"{self._name} {rank}" if self._echoes else None))

    def link(self, rank: int) -> Connection:
        """The pipe to one of them."""
        return self._relatives[rank].inbox.link

    def listen(
        self, patience_s: float, ready: Callable[[list[Any], float], list[Any]] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """What they say within `patience_s`, as (rank, message); None instead of a message if one has died.

        Args:
            ready: those of some things with `fileno()` that can be read within some seconds.
        """
        for one in (ready or _ready)([*self._heard, *self._outputs], patience_s):
            if isinstance(one, Output):
                self._show(one)
            elif one in self._heard:
                yield from self._hear(one, self._heard[one])

    def _hear(self, one: Inbox | _Death, rank: int) -> Iterator[tuple[int, bytes | None]]:
        messages, relative = None, self._relatives[rank]
        if isinstance(one, Inbox):
            with contextlib.suppress(EOFError):
                messages = one.take()
        for message in self._mourn(rank) if messages is None else messages:
            if self._relatives.get(rank) is relative:  # who has been killed meanwhile is silent
                yield rank, message

    def _mourn(self, rank: int) -> list[bytes | None]:
        """The last words of one that has died, and None."""
        inbox, death = self._relatives[rank].inbox, self._relatives[rank].death
        del self._heard[inbox], self._heard[death]
        words = inbox.take_the_last()
        death.close()
        inbox.close()
        return [*words, None]

    def _show(self, output: Output) -> None:
        """Print the whole lines that have come; at its end, what is left."""
        if not output.show():
            self._outputs.discard(output)

    def how_it_ended(self, rank: int) -> str:
        """A dead one's exit code or signal, in words."""
        return how_it_ended(self._relatives[rank].process)

    def doings(self, ranks: Collection[int]) -> dict[int, Doing]:
        """What these do now that are in no communication call, by rank, from their own stacks."""
        return what_they_do({rank: self._relatives[rank].process.pid for rank in ranks}, self._folder)

    def bury(self, rank: int) -> None:
        """Kill one, and forget it once it is dead."""
        self._end({rank: self._relatives.pop(rank)})

    def end(self) -> None:
        """Kill all, print what they have said last, and forget them."""
        relatives, self._relatives = self._relatives, {}
        try:
            self._end(relatives)
        finally:
            self._hear_the_last()

    def _end(self, relatives: dict[int, _Relative]) -> None:
        dead = {rank for rank, each in relatives.items() if each.death not in self._heard or _ready([each.death], 0)}
        for relative in relatives.values():
            kill_with_children(relative.process)
        until_s = time.monotonic() + _BURIAL_S
        for rank, relative in relatives.items():
            if _exit_code(relative.process, until_s - time.monotonic()) not in (None, -signal.SIGKILL):
                dead.add(rank)  # by itself, and perhaps before its children were looked for
            join(relative.process, until_s - time.monotonic())
            for one in (relative.inbox, relative.death):
                self._heard.pop(one, None)
            relative.inbox.close()
            relative.death.close()
        for pid in left_by(self._folder, dead) if dead else []:  # what they have started is nobody's child
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _hear_the_last(self) -> None:
        """Print what dead ones have said; what one of them has left alive may talk on for ever, and is not heard."""
        until_s = time.monotonic() + _LAST_WORDS_S
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
