"""Processes of this machine that are started, killed and started again one by one, and that end with their cluster."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import zmq

from course_lib.comm.errors import CommError, RankDiedError, RankTimeoutError, TransportError
from course_lib.comm.processes.family import Family
from course_lib.comm.processes.folder import RunFolder
from course_lib.comm.processes.fork_server import surroundings
from course_lib.comm.processes.machine import refuse_too_many
from course_lib.comm.processes.undisturbed import DeferredInterrupts
from course_lib.comm.program import check_timeout, pack
from course_lib.comm.tracebacks import text_of
from course_lib.parameter_server.fault_tolerance.member import Ended, Member, MemberJob, live

__all__ = ["Cluster", "run_members"]

_PATIENCE_S = 0.25


class Cluster:
    """A context with a temporary `folder`: on leaving it, however that happens, members and folder are gone.

    A member runs `function(member, *args)` in a fresh process; functions of a notebook travel by value. The same
    cluster may be entered again: it begins with a new folder and without members.

    Args:
        echo: show what members print, each line marked with its rank.
    """

    def __init__(self, echo: bool = True) -> None:
        self.echo = echo
        self._folder: RunFolder | None = None

    def __enter__(self) -> Cluster:
        if self._folder is not None:
            raise RuntimeError("this cluster is in use: leave its with statement first, or make another one")
        with DeferredInterrupts() as interrupts:
            self._folder = RunFolder("course-ps-")
            self._family = Family("member", self.folder, self.echo)
            self._surroundings = surroundings(self.folder)
            try:
                interrupts.deliver()
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        with DeferredInterrupts():
            folder, self._folder = self._folder, None
            assert folder is not None
            try:
                self._family.end()
            finally:
                folder.remove()

    @property
    def folder(self) -> str:
        """The folder of all members, which is there while the cluster is in use."""
        if self._folder is None:
            raise RuntimeError("a cluster lives in a with statement: with Cluster() as cluster: ...")
        return str(self._folder.path)

    @property
    def ranks(self) -> list[int]:
        """Members that were started and not killed."""
        return self._family.ranks if self.folder else []

    def start(self, rank: int, function: Callable[..., Any], *args: Any) -> None:
        """Start a member at this address; nobody may live there.

        Raises:
            TransportError: if the function or an argument cannot be copied, or the machine has no room for it.
        """
        if rank in self.ranks:
            raise ValueError(f"member {rank} lives; kill it before another one takes its place")
        packed = pack(function, args, None)
        refuse_too_many(len(self.ranks) + 1, len(packed))
        with DeferredInterrupts():
            self._family.start(rank, live, MemberJob(rank, self._surroundings, packed))

    def kill(self, rank: int) -> None:
        """`kill -9`, and return when the member is dead."""
        if rank not in self.ranks:
            raise ValueError(f"no member {rank} lives, only {self.ranks}")
        self._family.bury(rank)

    def listen(self, patience_s: float, socket: zmq.Socket[Any] | None = None) -> Iterator[tuple[int, Any]]:
        """What members say within `patience_s`, as (rank, message).

        The last message of a member that ends by itself is `Ended`; that of one that died is a `RankDiedError`, and
        one that cannot be unpacked is a `TransportError`. Those whom `kill` has killed are silent.

        Args:
            socket: come back at once when something is to be read here.
        """
        family = self._family if self.folder else None
        assert family is not None
        for rank, message in family.listen(patience_s, lambda those, within_s: _ready(those, within_s, socket)):
            yield rank, self._died(rank) if message is None else _unpacked(rank, message)

    def where(self, ranks: Collection[int]) -> list[str]:
        """What members do now, each in a line."""
        return [f"member {rank} {doing.program}" for rank, doing in self._family.doings(ranks).items()]

    def _died(self, rank: int) -> CommError:
        how = self._family.how_it_ended(rank)
        self._family.bury(rank)
        return RankDiedError(f"member {rank} died without an answer ({how})")


def _ready(those: list[Any], within_s: float, socket: zmq.Socket[Any] | None) -> list[Any]:
    """Those that can be read; what can be read from a socket is left to others."""
    poller = zmq.Poller()
    by_number = {one.fileno(): one for one in those}
    for number in by_number:
        poller.register(number, zmq.POLLIN)
    if socket is not None:
        poller.register(socket, zmq.POLLIN)
    return [by_number[one] for one, _event in poller.poll(int(within_s * 1000)) if one in by_number]


def _unpacked(rank: int, message: bytes) -> Any:
    try:
        return pickle.loads(message)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it may even exit while it is unpacked
        return TransportError(f"what member {rank} said cannot be unpacked: {type(error).__name__}: {text_of(error)}")


def run_members(
    programs: dict[int, Callable[[Member], Any]], *, timeout_s: float = 60.0, echo: bool = True
) -> dict[int, Any]:
    """Run a function for each address on a process of its own, until all have ended; what they returned, by address.

    Raises:
        RankError: if one raises, with its traceback.
        RankDiedError: if a process ends without an answer.
        RankTimeoutError: if they have not all ended after `timeout_s`.
    """
    check_timeout(timeout_s)
    found: dict[int, Any] = {}
    with DeferredInterrupts() as interrupts, Cluster(echo) as cluster:
        for rank, program in programs.items():
            cluster.start(rank, program)
        deadline_s = time.monotonic() + timeout_s
        while len(found) < len(programs):
            for rank, message in cluster.listen(_PATIENCE_S):
                if isinstance(message, Ended):
                    found[rank] = message.result()
                elif isinstance(message, CommError):
                    raise message
            interrupts.deliver()
            if time.monotonic() > deadline_s:
                late = sorted(set(programs) - set(found))
                where = "".join(f"\n  {line}" for line in cluster.where(late))
                raise RankTimeoutError(f"after {timeout_s:g} s members {late} have not ended:{where}")
    return found
