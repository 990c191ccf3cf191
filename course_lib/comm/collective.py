"""Collectives by kind and name: to which of them a message belongs, and which ones each rank has begun and ended."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Protocol, overload

from course_lib.comm.source_location import SourceLocation, describe_line, is_ours

if TYPE_CHECKING:
    import torch

    from course_lib.comm.communicator import Communicator

P = ParamSpec("P")
BARRIER = "barrier"  # a collective, and the channel of its messages


class Label(NamedTuple):
    """What a collective is, the same on every rank: its kind, and its name if it was given one.

    >>> print(Label("ring_all_reduce", "bucket 0"), "and", Label("broadcast"))
    ring_all_reduce of "bucket 0" and broadcast
    """

    kind: str
    name: str = ""

    def __str__(self) -> str:
        return f'{self.kind} of "{self.name}"' if self.name else self.kind


@functools.lru_cache(maxsize=4096)
def label_of(kind: str, name: str) -> Label:
    """The label of this kind and name: one object, so that equal ones are mostly known by identity.

    Raises:
        TypeError: if one of them is no text, or the kind is empty.
    """
    if not (isinstance(kind, str) and isinstance(name, str) and kind):
        raise TypeError(f"a collective's kind and name are texts, got {kind!r} and {name!r}")
    return Label(kind, name)


def agree(one: Label | None, other: Label | None) -> bool:
    """True unless the two sides of a message are in collectives of two kinds, or of two names where both have one.

    What is in no collective, or in a barrier (whose messages meet no others anyway), agrees with everything.

    >>> agree(Label("broadcast", "a"), Label("broadcast")), agree(Label("broadcast", "a"), Label("broadcast", "b"))
    (True, False)
    """
    if one is other or one is None or other is None or BARRIER in (one.kind, other.kind):
        return True
    return one.kind == other.kind and (one.name == other.name or not (one.name and other.name))


@functools.lru_cache(maxsize=4096)
def code_of_label(label: Label | None) -> int:
    """The label as 64 bits, kind above name; 0 in a half that agrees with everything."""
    if label is None or label.kind == BARRIER:
        return 0
    kind, name = (zlib.crc32(text.encode()) or 1 if text else 0 for text in label)
    return kind << 32 | name


def codes_agree(one: int, other: int) -> bool:
    """What `agree` says of two labels, by their codes.

    >>> labels = [Label("broadcast", "a"), Label("broadcast", "b"), Label("broadcast"), Label("gather"), None]
    >>> all(agree(a, b) == codes_agree(code_of_label(a), code_of_label(b)) for a in labels for b in labels)
    True
    """
    if not (one and other):
        return True
    names = one & 0xFFFFFFFF, other & 0xFFFFFFFF
    return one >> 32 == other >> 32 and (names[0] == names[1] or 0 in names)


class CollectiveCall(NamedTuple):
    """One rank's call of a collective; `ended_s` is None if it has not returned.

    `stream` is "" in the program itself and "started" in functions that it started.
    """

    rank: int
    kind: str
    name: str
    begun_s: float
    ended_s: float | None
    file: str
    line: int
    stream: str = ""

    @property
    def where(self) -> str:
        """The student's line, in words."""
        return describe_line(self.file, self.line)


class Calls:
    """The collectives of one stream, of one rank or of all, as they begin and end.

    Args:
        stream: as `CollectiveCall` has it.
    """

    def __init__(self, stream: str = "") -> None:
        self._stream = stream
        self._rows: list[list[Any]] = []

    def begin(self, rank: int, label: Label, at_s: float, at: SourceLocation) -> int:
        """Record that a collective begins; returns its index."""
        self._rows.append([rank, *label, at_s, None, *at.file_and_line, self._stream])
        return len(self._rows) - 1

    def end(self, place: int, at_s: float) -> None:
        """Record that the collective of this index has ended."""
        self._rows[place][4] = at_s

    def __iter__(self) -> Iterator[CollectiveCall]:
        return (CollectiveCall(*row) for row in self._rows)


class CollectiveProgress(NamedTuple):
    """How many collectives a rank has begun and how many it has ended; the last that it began, and in which line."""

    rank: int
    begun: int
    ended: int
    last: str = ""
    where: str = ""

    def with_started(self, started: CollectiveProgress) -> CollectiveProgress:
        """The progress of a program and of its started functions together; `last` is one that has not ended, if any."""
        shown = started if started.begun > started.ended or not self.begun else self
        begun, ended = self.begun + started.begun, self.ended + started.ended
        return CollectiveProgress(self.rank, begun, ended, shown.last, shown.where)


def progress_of(calls: Iterable[CollectiveCall], world_size: int) -> list[CollectiveProgress]:
    """How many collectives each rank has begun and ended, by rank.

    Where a rank is in a collective now, that stands for the last one.
    """
    by_rank: list[list[CollectiveCall]] = [[] for _ in range(world_size)]
    for call in calls:
        by_rank[call.rank].append(call)
    return [_progress(rank, calls) for rank, calls in enumerate(by_rank)]


def _progress(rank: int, calls: Sequence[CollectiveCall]) -> CollectiveProgress:
    if not calls:
        return CollectiveProgress(rank, 0, 0)
    last = max(reversed(calls), key=lambda call: (call.ended_s is None, call.begun_s))
    ended = sum(call.ended_s is not None for call in calls)
    return CollectiveProgress(rank, len(calls), ended, str(Label(last.kind, last.name)), last.where)


class Inside:
    """Context manager: messages posted inside belong to a collective. When collectives nest, the outermost counts.

    Args:
        comm: has `within`, the label of the collective in which it is, and is told when one begins and ends.
    """

    __slots__ = ("_comm", "_label", "_outermost", "is_ours")

    def __init__(self, comm: Any, label: Label) -> None:
        self._comm, self._label = comm, label
        self._outermost = False
        self.is_ours = False  # whether nothing but the library posts inside

    def __enter__(self) -> None:
        comm = self._comm
        if comm.within is None:
            self._outermost = True
            comm.within = self._label
            comm.begin_collective(self._label, self.is_ours)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._outermost:
            self._outermost, self._comm.within = False, None
            if kind is None:
                self._comm.end_collective()


def all_reduce_named(comm: Communicator, all_reduce: Callable[..., None], row: torch.Tensor, name: str) -> None:
    """Call an all-reduce, of the course or somebody's own, as a collective of this name."""
    with comm.collective(_kind_of(all_reduce), name):
        all_reduce(comm, row)


def _kind_of(function: Callable[..., Any]) -> str:
    """A function's name: for a partial that of what it calls, for an object that of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


class Collective(Protocol[P]):
    """A function of the communicator that takes a name besides, as in `ring_all_reduce(comm, tensor, name="loss")`."""

    __name__: str

    @overload
    def __call__(self, comm: Communicator, *args: P.args, **kwargs: P.kwargs) -> None: ...
    @overload
    def __call__(self, comm: Communicator, *args: Any, name: str, **kwargs: Any) -> None: ...


def collective(function: Callable[Concatenate[Communicator, P], None]) -> Collective[P]:
    """The function as a collective of its own kind: `comm` refuses messages between it and another one.

    It takes one argument more, `name`: two of one kind are told apart by that.

    >>> import torch
    >>> from course_lib import simulate
    >>> @collective
    ... def pass_on(comm, tensor):
    ...     sent = comm.isend(tensor, (comm.rank + 1) % comm.world_size)
    ...     comm.recv(tensor.clone(), (comm.rank - 1) % comm.world_size)
    ...     sent.wait()
    >>> simulate(pass_on, 2, args=(torch.ones(1),), kwargs={"name": "loss"}).collectives[0].last
    'pass_on of "loss"'
    """

    ours = is_ours(function.__code__.co_filename)

    @functools.wraps(function)
    def named(comm: Communicator, *args: Any, name: str = "", **kwargs: Any) -> None:
        inside = comm.collective(function.__name__, name)
        if isinstance(inside, Inside):
            inside.is_ours = ours
        with inside:
            function(comm, *args, **kwargs)

    return named  # type: ignore[return-value]
