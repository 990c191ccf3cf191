"""Member processes: started, killed and restarted one by one, and reaped with their cluster, so none is orphaned."""

from __future__ import annotations

import contextlib
import pickle
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

import zmq

from course_lib.comm.errors import CommError, RankDiedError, RankError, RankTimeoutError, TransportError
from course_lib.comm.processes.children import ChildProcesses
from course_lib.comm.processes.folder import RunFolder
from course_lib.comm.processes.fork_server import DeferredInterrupts, surroundings
from course_lib.comm.processes.machine import refuse_too_many
from course_lib.comm.processes.startup import Surroundings, settle
from course_lib.comm.program import check_timeout, pack, pack_result, seed_rank, unpack, unpack_result
from course_lib.comm.source_location import belongs_to_program, cause_text, explain, raised_in, text_of


@dataclass(frozen=True)
class MemberJob:
    """What a member's process is sent at its start: its rank, its environment, its pickled function."""

    rank: int
    surroundings: Surroundings
    packed: bytes


@dataclass(frozen=True)
class MemberEnded:
    """A member's exit message: what its function returned, packed; or the error that it raised."""

    rank: int
    packed: bytes = b""
    error: CommError | None = None

    def result(self) -> Any:
        """What its function returned.

        Raises:
            RankError: if it raised.
            TransportError: if what it returned cannot be unpacked here.
        """
        if self.error is not None:
            raise self.error
        return unpack_result(self.packed, f"member {self.rank}")


class Member:
    """A member's own handle: its address, the folder of all addresses, and `tell` for messages to the parent."""

    def __init__(self, rank: int, folder: str, link: Connection) -> None:
        self.rank = rank
        self.folder = folder
        self._link = link

    def tell(self, message: Any) -> None:
        """Send a message to the parent process."""
        self._link.send_bytes(pickle.dumps(message))


def live(job: MemberJob, link: Connection, output: Connection) -> None:
    """Main function of a member's process: run the function, send the result through `link`, wait to be killed."""
    settle(job.surroundings, job.rank, output)
    seed_rank(job.rank)
    member = Member(job.rank, job.surroundings.folder, link)
    try:
        function, args, kwargs = unpack(job.packed)
        ended = MemberEnded(job.rank, pack_result(function(member, *args, **kwargs), job.rank))
    except BaseException as error:
        ended = MemberEnded(job.rank, error=_in_words(error, job.rank))
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    member.tell(ended)
    threading.Event().wait()  # messages may still be on their way; the parent ends us


def _in_words(error: BaseException, rank: int) -> CommError:
    """The exception as a `RankError`, the traceback beginning with the program's own lines."""
    if isinstance(error, CommError) and raised_in(error, pack_result):
        return error
    frames = error.__traceback__
    while frames is not None and not belongs_to_program(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    shown: TracebackType | None = frames or error.__traceback__
    location, details = explain(error.with_traceback(shown))
    return RankError(rank, type(error).__name__, cause_text(error), location, details)


_PATIENCE_S = 0.25


class MemberProcesses:
    """Context manager that starts and kills member processes; on leaving it, all members and their `folder` are gone.

    A member runs `function(member, *args)` in a fresh process; functions of a notebook travel by value. The same
    cluster may be entered again: it begins with a new folder and without members.

    Args:
        echo: show what members print, each line marked with its rank.
    """

    def __init__(self, echo: bool = True) -> None:
        self.echo = echo
        self._folder: RunFolder | None = None

    def __enter__(self) -> MemberProcesses:
        if self._folder is not None:
            raise RuntimeError("this cluster is in use: leave its with statement first, or make another one")
        with DeferredInterrupts() as interrupts:
            self._folder = RunFolder("course-ps-")
            self._members = ChildProcesses("member", self.folder, self.echo)
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
                self._members.terminate()
            finally:
                folder.remove()

    @property
    def folder(self) -> str:
        """The folder of all members, which is there while the cluster is in use."""
        if self._folder is None:
            raise RuntimeError("a cluster lives in a with statement: with MemberProcesses() as cluster: ...")
        return str(self._folder.path)

    @property
    def ranks(self) -> list[int]:
        """Members that were started and not killed."""
        return self._members.ranks if self.folder else []

    def start(self, rank: int, function: Callable[..., Any], *args: Any) -> None:
        """Start a member at this address, at which none may be running.

        Raises:
            TransportError: if the function or an argument cannot be copied, or the machine has no room for it.
        """
        if rank in self.ranks:
            raise ValueError(f"member {rank} lives; kill it before another one takes its place")
        packed = pack(function, args, None)
        refuse_too_many(len(self.ranks) + 1, len(packed))
        with DeferredInterrupts():
            self._members.start(rank, live, MemberJob(rank, self._surroundings, packed))

    def kill(self, rank: int) -> None:
        """Kill a member with SIGKILL, and return when it is reaped."""
        if rank not in self.ranks:
            raise ValueError(f"no member {rank} lives, only {self.ranks}")
        self._members.reap(rank)

    def listen(self, patience_s: float, socket: zmq.Socket[Any] | None = None) -> Iterator[tuple[int, Any]]:
        """Poll: the messages that members send within `patience_s`, as (rank, message).

        A member that ends by itself sends `MemberEnded` last; for one that died comes a `RankDiedError`, and a message
        that cannot be unpacked is a `TransportError`. Those whom `kill` has killed are silent.

        Args:
            socket: come back at once when something is to be read here.
        """
        members = self._members if self.folder else None
        assert members is not None
        for rank, message in members.listen(patience_s, lambda those, within_s: _ready(those, within_s, socket)):
            yield rank, self._died(rank) if message is None else _unpacked(rank, message)

    def where(self, ranks: Collection[int]) -> list[str]:
        """What each member is doing now, one line each."""
        return [f"member {rank} {activity.program}" for rank, activity in self._members.activities(ranks).items()]

    def _died(self, rank: int) -> CommError:
        how = self._members.how_it_ended(rank)
        self._members.reap(rank)
        return RankDiedError(f"member {rank} died without an answer ({how})")


def _ready(those: list[Any], within_s: float, socket: zmq.Socket[Any] | None) -> list[Any]:
    """Poll: those connections that can be read; a readable socket only ends the wait."""
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
    """Run one function per address, each in its own process, until all have ended; what they returned, by address.

    Raises:
        RankError: if one raises, with its traceback.
        RankDiedError: if a process ends without an answer.
        RankTimeoutError: if they have not all ended after `timeout_s`.
    """
    check_timeout(timeout_s)
    found: dict[int, Any] = {}
    with DeferredInterrupts() as interrupts, MemberProcesses(echo) as cluster:
        for rank, program in programs.items():
            cluster.start(rank, program)
        deadline_s = time.monotonic() + timeout_s
        while len(found) < len(programs):
            for rank, message in cluster.listen(_PATIENCE_S):
                if isinstance(message, MemberEnded):
                    found[rank] = message.result()
                elif isinstance(message, CommError):
                    raise message
            interrupts.deliver()
            if time.monotonic() > deadline_s:
                late = sorted(set(programs) - set(found))
                where = "".join(f"\n  {line}" for line in cluster.where(late))
                raise RankTimeoutError(f"after {timeout_s:g} s members {late} have not ended:{where}")
    return found
