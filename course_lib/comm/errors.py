"""Errors of the communicator (deadlock, mismatch, dead rank, time-out), each with a message a student can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from course_lib.comm.collective import CollectiveProgress

FOREIGN = (
    "a started function may use only the communicator that it gets as its first argument, "
    "and wait for no function that is started after it"
)
JOIN = "join"  # the verb of a rank that waits for a function it started


class CommError(RuntimeError):
    """Base of every error of the communicator. A notebook shows its message without our own stack frames.

    `symptom` is the row of the page of symptoms that fits: its table and its cause. It is a note of the error: who
    does not catch the error sees it as the last line; `str(error)` is without it. `collectives` says of each rank how
    many collectives it had begun and ended by then, where that is known.
    """

    symptom = ""
    collectives: Sequence[CollectiveProgress] = ()

    def __init__(self, *args: object, symptom: str = "") -> None:
        super().__init__(*args)
        self.symptom = symptom or self.symptom
        if self.symptom:
            self.add_note(f"See symptoms.md, {self.symptom}")

    def full_text(self) -> str:
        """Its kind, its message and its notes."""
        return "\n".join([f"{type(self).__name__}: {self}", *getattr(self, "__notes__", ())])

    def _render_traceback_(self) -> list[str]:
        return [self.full_text()]


class DeadlockError(CommError):
    """Ranks wait for each other and none of them can ever go on.

    `pending` says what each blocked program waits in, by rank, and `finished` who had ended: all of them, where the
    message names the first 16 only.
    """

    symptom = "It hangs: A collective that not all ranks call, or a message without its other side."

    pending: Mapping[int, Pending] = MappingProxyType({})
    finished: tuple[int, ...] = ()


class MismatchError(CommError):
    """A send and its recv disagree about dtype or shape, or are of two collectives.

    Rank `src` sent what `sent` says, and `expected` was expected.
    """

    symptom = "It dies: Ranks bring tensors of different sizes or types."

    src = -1
    sent = expected = ""


class UnmatchedError(CommError):
    """A program ended while messages were still waiting for their other side."""

    symptom = "It hangs: A collective that not all ranks call, or a message without its other side."


class RankError(CommError):
    """A rank raised an exception; `rank`, `cause_type` and `cause_text` say which and why."""

    def __init__(self, rank: int, cause_type: str, cause_text: str, where: str = "", details: str = "") -> None:
        self.rank = rank
        self.cause_type = cause_type
        self.cause_text = cause_text
        self.where, self.details = where, details
        location = f"\n  {where}" if where else ""
        rest = f"\n\nThe traceback of rank {rank}:\n{details}" if details else ""
        super().__init__(f"rank {rank} raised {cause_type}: {cause_text}{location}{rest}")
        self._parts = (rank, cause_type, cause_text, where, details)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._parts


class RankDiedError(CommError):
    """A rank's process ended without an answer (killed, crashed, or it called exit)."""

    symptom = "It dies: One rank died, and the others noticed."
    of_signal: ClassVar[Mapping[str, str]] = MappingProxyType(
        dict.fromkeys(("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"), "It dies: Something outside ended it")
        | dict.fromkeys(("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"), "It dies: Code outside of Python")
        | {"SIGABRT": MismatchError.symptom}
    )

    @classmethod
    def ended(cls, message: str, how: str) -> RankDiedError:
        """The error with the row that fits how it ended: "signal SIGKILL" or "exit code 3"."""
        return cls(message, symptom=cls.of_signal.get(how.rpartition(" ")[2], ""))


class RankTimeoutError(CommError):
    """Ranks did not finish in time; the message names what each of them was doing."""

    symptom = "It hangs: A collective that not all ranks call, or a message without its other side."


class TransportError(CommError):
    """A program or a result cannot travel between processes, or the machine cannot hold so many ranks."""


class Pending(NamedTuple):
    """What one rank is blocked in: `verb` is send, recv or wait; `peer` is None for any source.

    Under NCCL's rules `behind` is what of its own must end first.
    """

    verb: str
    peer: int | None
    where: str
    behind: Pending | None = None

    def __str__(self) -> str:
        before = f"\n    and before that, in its stream, {self.behind._where_it_waits()}" if self.behind else ""
        return f"waits {self._where_it_waits()}{before}"

    def _where_it_waits(self) -> str:
        direction = "to" if "send" in self.verb else "from"
        peer = "anyone" if self.peer is None else self.peer
        what = "for a function it started" if self.verb == JOIN else f"in {self.verb} {direction} {peer}"
        return what + (f", {self.where}" if self.where else "")


class Leftover(NamedTuple):
    """An unmatched operation: its other side was never posted."""

    verb: str
    rank: int
    peer: int | None
    where: str

    def __str__(self) -> str:
        direction = "to" if "send" in self.verb else "from"
        return f"rank {self.rank}: {self.verb} {direction} {'anyone' if self.peer is None else self.peer}, {self.where}"


def unmatched_error(left: Sequence[Leftover]) -> UnmatchedError:
    """The error for messages left over at the end of a program; long lists are cut after 16."""
    more = f"\n  ... and {len(left) - 16} more" if len(left) > 16 else ""
    lines = "\n".join(f"  {one}" for one in left[:16])
    return UnmatchedError("the program ended while messages waited for their other side:\n" + lines + more)


def is_echo(text: str) -> bool:
    """True for a secondary error, "connection closed by peer" and the like: another rank knows the cause."""
    signs = ("Connection closed by peer", "Connection reset by peer", "Gloo connect", "Broken pipe")
    return any(sign in text for sign in signs)


def find_cycle(waits_for: Mapping[Any, Any]) -> list[Any]:
    """A cycle of the wait-for graph, its first node repeated at the end; empty if there is none.

    >>> find_cycle({0: 1, 1: 2, 2: 1})
    [1, 2, 1]
    >>> find_cycle({0: None, 1: 0})
    []
    """
    leads_nowhere: set[Any] = set()
    for start in sorted(waits_for):
        path: dict[Any, Any] = {}  # in order, as a set
        rank = start
        while rank is not None and rank in waits_for and rank not in path and rank not in leads_nowhere:
            path[rank] = None
            rank = waits_for[rank]
        if rank in path:
            cycle = list(path)
            cycle = cycle[cycle.index(rank) :]
            return [*cycle, cycle[0]]
        leads_nowhere.update(path)
    return []


def deadlock_error(
    pending: Mapping[int, Pending],
    finished: Sequence[int],
    started: Mapping[int, Pending] | None = None,
    left: Mapping[int, Pending] | None = None,
) -> DeadlockError:
    """The error that says who waits for whom, where, and in which circle. Long lists are cut after 16 lines.

    Args:
        pending: what each blocked program waits in, by rank.
        started: what each blocked started function waits in, by rank.
        left: what has not ended of ranks whose program has, by rank.
    """
    started, left = started or {}, left or {}
    said = [(rank, "", what) for rank, what in pending.items()]
    said += [(rank, ", in a function it started,", what) for rank, what in started.items()]
    said += [(rank, ", whose program has ended,", what) for rank, what in left.items()]
    lines = [f"  rank {rank}{within} {what}" for rank, within, what in sorted(said)]
    if len(lines) > 16:
        lines = [*lines[:16], f"  ... and {len(lines) - 16} more ranks"]
    if finished:
        shown = ", ".join(map(str, finished[:16])) + (", ..." if len(finished) > 16 else "")
        lines.append(f"  finished already: rank{'s' if len(finished) > 1 else ''} {shown}")
    cycle = _circle({**left, **pending}, started)
    if cycle:
        lines.append("  the circle: " + " -> ".join(map(str, cycle)))
    error = DeadlockError("no rank can go on:\n" + "\n".join(lines))
    error.pending, error.finished = dict(pending), tuple(finished)
    return error


def _circle(pending: Mapping[int, Pending], started: Mapping[int, Pending]) -> list[int]:
    """The ranks in a circle of programs and started functions, keyed (rank, whether it is a started function).

    Who waits for a started function that is not there waits for the program that has not started it.
    """
    waits_for: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for rank, what in pending.items():
        what = what.behind or what
        waits_for[rank, False] = (rank, True) if what.verb == JOIN else (what.peer, False)
    for rank, what in started.items():
        what = what.behind or what
        waits_for[rank, True] = what.peer, what.peer in started
    cycle = [rank for rank, _ in find_cycle(waits_for)]
    return [rank for position, rank in enumerate(cycle) if position == 0 or cycle[position - 1] != rank]


def mismatch_error(
    src: int, sent: object, send_where: str, dst: int, expected: object, recv_where: str
) -> MismatchError:
    """The error for a send of one dtype and shape that met a recv of another."""
    error = MismatchError(
        "the two sides of a message disagree:\n"
        f"  rank {src} sends {sent} to {dst}{', ' if send_where else ''}{send_where}\n"
        f"  rank {dst} receives {expected} from {src}{', ' if recv_where else ''}{recv_where}\n"
        "Both sides need the same dtype and the same shape."
    )
    error.src = src
    error.sent = str(sent)
    error.expected = str(expected)
    return error


def order_error(src: int, sent: object, send_where: str, dst: int, expected: object, recv_where: str) -> MismatchError:
    """The error for a send of one collective that met a recv of another."""
    error = MismatchError(
        "the two sides of a message are in two collectives:\n"
        f"  rank {src}, in {sent}, sends to {dst}{', ' if send_where else ''}{send_where}\n"
        f"  rank {dst}, in {expected}, receives from {src}{', ' if recv_where else ''}{recv_where}\n"
        "All ranks need the same collectives in the same order.",
        symptom="It is wrong: Two ranks call the same collectives in another order, and shapes agree.",
    )
    error.src = src
    error.sent = str(sent)
    error.expected = str(expected)
    return error


def tell_collectives(error: CommError, collectives: Sequence[CollectiveProgress]) -> CommError:
    """The error with each rank's progress in collectives; a deadlock or time-out also says who has begun the fewest."""
    error.collectives = collectives
    counts = [one.begun for one in collectives]
    if isinstance(error, (DeadlockError, RankTimeoutError)) and counts and min(counts) < max(counts):
        ranks = [one.rank for one in collectives if one.begun == min(counts)]
        shown = ", ".join(map(str, ranks[:16])) + (", ..." if len(ranks) > 16 else "")
        whose = f"rank{'s' if len(ranks) > 1 else ''} {shown}"
        error.args = (f"{error}\n  fewest collectives begun: {min(counts)}, by {whose}; most: {max(counts)}",)
    return error
