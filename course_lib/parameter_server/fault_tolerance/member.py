"""What happens inside a process of a cluster, from its start to its answer or its death."""

from __future__ import annotations

import contextlib
import pickle
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from course_lib.comm.errors import CommError, RankError
from course_lib.comm.processes.startup import Surroundings, settle
from course_lib.comm.program import pack_result, seed_rank, unpack, unpack_result
from course_lib.comm.source_location import belongs_to_program
from course_lib.comm.tracebacks import cause_text, explain, raised_in

__all__ = ["Ended", "Member", "MemberJob", "live"]


@dataclass(frozen=True)
class MemberJob:
    """All that a member needs to know."""

    rank: int
    surroundings: Surroundings
    packed: bytes


@dataclass(frozen=True)
class Ended:
    """A member's last words: what its function returned, packed; or how it failed."""

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
    """What a member's function gets to know: its own address, and the folder of all addresses."""

    def __init__(self, rank: int, folder: str, link: Connection) -> None:
        self.rank = rank
        self.folder = folder
        self._link = link

    def tell(self, message: Any) -> None:
        """Say something to the process that started this one."""
        self._link.send_bytes(pickle.dumps(message))


def live(job: MemberJob, link: Connection, output: Connection) -> None:
    """Be member `job.rank`: run the function, answer through `link`, and wait to be ended."""
    settle(job.surroundings, job.rank, output)
    seed_rank(job.rank)
    member = Member(job.rank, job.surroundings.folder, link)
    try:
        function, args, kwargs = unpack(job.packed)
        ended = Ended(job.rank, pack_result(function(member, *args, **kwargs), job.rank))
    except BaseException as error:
        ended = Ended(job.rank, error=_in_words(error, job.rank))
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    member.tell(ended)
    threading.Event().wait()  # messages may still be on their way; the parent ends us


def _in_words(error: BaseException, rank: int) -> CommError:
    """The exception with the program's own lines first."""
    if isinstance(error, CommError) and raised_in(error, pack_result):
        return error
    frames = error.__traceback__
    while frames is not None and not belongs_to_program(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    shown: TracebackType | None = frames or error.__traceback__
    location, details = explain(error.with_traceback(shown))
    return RankError(rank, type(error).__name__, cause_text(error), location, details)
