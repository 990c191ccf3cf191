"""Processes of this machine that are started, killed and started again one by one, and that end with their cluster."""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import zmq

from course_lib.comm.errors import CommError, RankDiedError, RankTimeoutError
from course_lib.comm.processes.capacity import refuse_too_many
from course_lib.comm.processes.folder import RunFolder
from course_lib.comm.processes.fork_server import (
    how_it_ended,
    kill_with_children,
    start_process,
    surroundings,
)
from course_lib.comm.processes.interrupts import DeferredInterrupts
from course_lib.comm.processes.output import Output
from course_lib.comm.program import pack
from course_lib.parameter_server.fault_tolerance.member import Ended, Member, MemberJob, live

__all__ = ["Cluster", "run_members"]

_PATIENCE_S = 0.25


class Cluster:
    """A context with a temporary `folder`: on leaving it, however that happens, members and folder are gone.

    A member runs `function(member, *args)` in a fresh process; functions of a notebook travel by value.

    Args:
        echo: show what members print, each line marked with its rank.
    """

    def __init__(self, echo: bool = True) -> None:
        self.echo = echo

    def __enter__(self) -> Cluster:
        self._folder = RunFolder("course-ps-")
        self.folder = str(self._folder.path)
        self._processes: dict[int, Any] = {}
        self._links: dict[int, tuple[int, Connection]] = {}  # by file number: whose, and what it says
        self._outputs: dict[int, Output] = {}  # ... and what it prints
        self._surroundings = surroundings(self.folder)
        self._poller = zmq.Poller()
        return self

    def __exit__(self, *_: object) -> None:
        with DeferredInterrupts(), contextlib.ExitStack() as cleaning:
            cleaning.callback(self._folder.remove)
            cleaning.callback(self._hear_the_last)
            for process in self._processes.values():
                kill_with_children(process)
            for process in self._processes.values():
                process.join(5)
                with contextlib.suppress(ValueError):
                    process.close()

    def _hear_the_last(self) -> None:
        """Print what dead members have said; what one of them has left alive is heard no longer than a second."""
        until_s = time.monotonic() + 1.0
        try:
            while time.monotonic() < until_s and (
                said := [number for number, _event in self._poller.poll(0) if number in self._outputs]
            ):
                for number in said:
                    self._show(number)
        finally:
            for _rank, link in self._links.values():
                link.close()
            for output in self._outputs.values():
                output.close()

    @property
    def ranks(self) -> list[int]:
        """Members that were started and not killed."""
        return list(self._processes)

    def start(self, rank: int, function: Callable[..., Any], *args: Any) -> None:
        """Start a member at this address; nobody may live there.

        Raises:
            TransportError: if the function or an argument cannot be copied, or the machine has no room for it.
        """
        if rank in self._processes:
            raise ValueError(f"member {rank} lives; kill it before another one takes its place")
        packed = pack(function, args, None)
        refuse_too_many(len(self._processes) + 1, len(packed))
        with DeferredInterrupts():
            process, link, output = start_process(live, MemberJob(rank, self._surroundings, packed))
            self._processes[rank] = process
            self._links[link.fileno()] = rank, link
            self._outputs[output.fileno()] = Output(output, f"member {rank}" if self.echo else None)
            for connection in (link, output):
                self._poller.register(connection.fileno(), zmq.POLLIN)

    def kill(self, rank: int) -> None:
        """`kill -9`, and return when the member is dead."""
        kill_with_children(self._processes[rank])
        self._bury(rank)

    def listen(self, patience_s: float, socket: zmq.Socket | None = None) -> Iterator[tuple[int, Any]]:
        """What members say within `patience_s`, as (rank, message).

        The last message of a member that ends by itself is `Ended`; that of one that died is a `RankDiedError`. Those
        whom `kill` has killed are silent.

        Args:
            socket: come back at once when something is to be read here.
        """
        if socket is not None and socket not in self._poller:
            self._poller.register(socket, zmq.POLLIN)
        for ready, _ in self._poller.poll(int(patience_s * 1000)):
            if ready in self._outputs:
                self._show(ready)
            elif ready in self._links:
                rank, link = self._links[ready]
                try:
                    yield rank, pickle.loads(link.recv_bytes())
                except (EOFError, OSError):
                    yield rank, self._died(rank)

    def _died(self, rank: int) -> CommError:
        how = how_it_ended(self._processes[rank])
        self._bury(rank)
        return RankDiedError(f"member {rank} died without an answer ({how})")

    def _bury(self, rank: int) -> None:
        """Forget a member that is dead or dying, and wait until it is dead."""
        process = self._processes.pop(rank)
        process.join(5)
        process.close()
        for number, (whose, link) in list(self._links.items()):
            if whose == rank:
                self._poller.unregister(number)
                del self._links[number]
                link.close()

    def _show(self, number: int) -> None:
        """Print the whole lines that have come; at its end, what is left."""
        if not self._outputs[number].show():
            self._poller.unregister(number)
            del self._outputs[number]


def run_members(
    programs: dict[int, Callable[[Member], Any]], *, timeout_s: float = 60.0, echo: bool = True
) -> dict[int, Any]:
    """Run a function for each address on a process of its own, until all have ended; what they returned, by address.

    Raises:
        RankError: if one raises, with its traceback.
        RankDiedError: if a process ends without an answer.
        RankTimeoutError: if they have not all ended after `timeout_s`.
    """
    deadline_s = time.monotonic() + timeout_s
    found: dict[int, Any] = {}
    with Cluster(echo) as cluster:
        for rank, program in programs.items():
            cluster.start(rank, program)
        while len(found) < len(programs):
            for rank, message in cluster.listen(_PATIENCE_S):
                if isinstance(message, Ended):
                    found[rank] = message.result()
                elif isinstance(message, CommError):
                    raise message
            if time.monotonic() > deadline_s:
                late = sorted(set(programs) - set(found))
                raise RankTimeoutError(f"after {timeout_s:g} s members {late} have not ended")
    return found
