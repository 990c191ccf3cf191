"""The communicator: what a rank can say, in the words of torch.distributed, and the handles that it waits for."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from course_lib.comm.collective import BARRIER
from course_lib.comm.devices import CPU
from course_lib.comm.network import Network
from course_lib.comm.source_location import locate

if TYPE_CHECKING:
    from course_lib.comm.group import Group


class Work(ABC):
    """A send or receive under way, as torch.distributed's `Work`: call `wait()` before you use the tensor again."""

    __slots__ = ()

    @abstractmethod
    def wait(self) -> bool:
        """Block until the message has left (isend) or arrived (irecv); True, as in torch.distributed."""

    @abstractmethod
    def source_rank(self) -> int:
        """The rank that the message came from, known after `wait()`."""

    def finish(self, verb: str) -> None:
        """`wait()` under the name of what the program called: send, recv or wait."""
        self.wait()


class Started(Work):
    """A function that `comm.start` runs concurrently with the program. After `wait()`, `result` is what it returned."""

    __slots__ = ("_call", "_comm", "_result", "end_s", "ended", "error", "location", "number", "start_s", "step")

    def __init__(
        self, comm: Communicator, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if not callable(function):
            raise TypeError(f"start needs a function of (comm, ...), rank {comm.rank} got {type(function).__name__}")
        self._comm = comm
        self._call = (function, args, kwargs)
        self.location = locate()
        self._result: Any = None
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self.number = self.step = 0  # which of its rank's started functions; the largest step completed, for executors
        self.start_s = self.end_s = 0.0

    def run(self, comm: Communicator) -> None:
        """Call the function, and keep what it returns or raises."""
        function, args, kwargs = self._call
        try:
            self._result = function(self._comm._as_started(comm), *args, **kwargs)
        except BaseException as error:
            if isinstance(error, comm._unwinding):
                raise
            error.add_note(f"(in a function that rank {comm.rank} started, {self.location})")
            self.error = error

    def wait(self) -> bool:
        """Block until the function has ended, and raise what it raised."""
        self._comm._join(self)
        if self.error is not None:
            raise self.error
        return True

    @property
    def result(self) -> Any:
        """What the function returned, known after `wait()`."""
        if not self.ended.is_set():
            raise RuntimeError("the result of a started function is known after wait()")
        self.wait()
        return self._result

    def source_rank(self) -> int:
        raise RuntimeError("a started function comes from no other rank")


Peer = TypeVar("Peer", int, int | None)


class Communicator(ABC):
    """One rank's view of the others. Programs get it as their first argument.

    `rank` and `world_size` say who you are among how many; `network` is the model of the links, or None where the
    links are real and nothing slows them. `device` is where your tensors and modules belong.
    """

    __slots__ = ("_channel", "network", "rank", "world_size")

    _channel: tuple[Any, ...]  # where it posts now; () is the program's own
    _unwinding: tuple[type[BaseException], ...] = ()  # they end a rank from outside: no program may swallow them
    rank: int
    world_size: int
    network: Network | None

    @property
    def device(self) -> torch.device:
        """This rank's device: the processor, or an accelerator where the program was started with device="gpu"."""
        return CPU

    @property
    def in_order(self) -> bool:
        """Whether this rank's operations run one after the other, as NCCL has it, unless they are in one `batch()`."""
        return False

    @abstractmethod
    def isend(self, tensor: torch.Tensor, dst: int) -> Work:
        """Start to send `tensor` to rank `dst`. Do not change it before `wait()`."""

    @abstractmethod
    def irecv(self, tensor: torch.Tensor, src: int | None = None) -> Work:
        """Start to receive into `tensor` from rank `src`, or from anyone. Do not read it before `wait()`."""

    @abstractmethod
    def now(self) -> float:
        """Seconds since the program began, on this rank's clock."""

    @abstractmethod
    def compute(self, seconds: float, label: str = "compute") -> None:
        """Be busy for `seconds`: on the virtual clock when simulated, by sleeping on real processes."""

    @abstractmethod
    def _record_span(self, label: str, start_s: float, end_s: float) -> None:
        """Keep a labelled stretch of this rank's time for the trace."""

    def send(self, tensor: torch.Tensor, dst: int) -> None:
        """Send `tensor` to rank `dst` and wait until it is received."""
        self.isend(tensor, dst).finish("send")

    def recv(self, tensor: torch.Tensor, src: int | None = None) -> int:
        """Receive into `tensor` from rank `src` (None: from anyone) and return the sender's rank."""
        work = self.irecv(tensor, src)
        work.finish("recv")
        return work.source_rank()

    def group(self, ranks: Sequence[int]) -> Group:
        """Some of the ranks as a communicator of their own, in which they are numbered from 0 in the order given.

        Every member calls it with the same ranks. Messages inside never meet those outside.

        >>> from course_lib import simulate
        >>> def program(comm):
        ...     row = comm.group([0, 1, 2] if comm.rank < 3 else [3, 4, 5])
        ...     return row.rank, row.world_size, row.ranks
        >>> simulate(program, world_size=6).results[4]
        (1, 3, (3, 4, 5))
        """
        from course_lib.comm.group import Group  # it is a communicator itself

        return Group(self, ranks)

    def start(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Started:
        """Run `function(comm, *args, **kwargs)` concurrently with the program, as torch's async_op=True does.

        A rank's started functions run one after the other, in the order of their start, without recording gradients.
        Their messages meet only those of other ranks' started functions, though they share the rank's ports. Starting
        takes no time; `wait()` on what this returns blocks until the function has ended and raises what it raised.
        A program that ends without waiting waits for them all.

        >>> from course_lib import simulate
        >>> def program(comm):
        ...     work = comm.start(lambda beside: beside.compute(1.0) or beside.now())
        ...     comm.compute(1.0)
        ...     work.wait()
        ...     return work.result, comm.now()
        >>> simulate(program, world_size=1).results
        [(1.0, 1.0)]
        """
        work = Started(self, function, args, kwargs)
        self._run_started(work)
        return work

    def _run_started(self, work: Started) -> None:
        """Begin a started function: here at once and to its end, where an executor cannot run it concurrently."""
        with torch.no_grad():
            work.run(self)
        work.ended.set()

    def _join(self, work: Started) -> None:  # noqa: B027 (one that ran at once has ended)
        """Block until a started function has ended."""

    def _as_started(self, comm: Communicator) -> Communicator:
        """What a function started here gets, if `comm` is the rank as started functions see it."""
        return comm

    def collective(self, kind: str, name: str = "") -> AbstractContextManager[None]:
        """Say that what is posted inside is one collective, of this kind and, if it has one, of this name.

        Where the other side of a message is in a collective of another kind or name, it is refused (MismatchError):
        so two ranks that call the same collectives in another order are told, though shapes agree. It is compared
        outside the messages, and adds no byte to them. The course's own say their kind themselves, and take a name as
        in `ring_all_reduce(comm, tensor, name="a")`. When collectives nest, only the outermost is compared.

        >>> from course_lib import simulate
        >>> def program(comm):
        ...     for name in ("a", "b") if comm.rank == 0 else ("b", "a"):
        ...         with comm.collective("swap", name):
        ...             comm.isend(torch.ones(1), 1 - comm.rank), comm.recv(torch.empty(1), 1 - comm.rank)
        >>> simulate(program, world_size=2)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        course_lib.comm.errors.MismatchError: the two sides of a message are in two collectives:
          rank 1, in swap of "b", sends to 0, ...
        """
        return contextlib.nullcontext()

    def batch(self) -> AbstractContextManager[None]:
        """Start together what is posted inside: at the end of it, or as soon as the rank waits for something inside.

        NCCL runs the operations of a rank one after the other, in the order of their start. A send and a receive that
        need each other belong into one batch, as in `torch.distributed.batch_isend_irecv`; otherwise the second waits
        behind the first for ever. Gloo runs everything that is started at once, so there a batch changes nothing.

        >>> from course_lib import simulate
        >>> def swap(comm, tensor):
        ...     theirs = torch.empty_like(tensor)
        ...     with comm.batch():
        ...         sent = comm.isend(tensor, 1 - comm.rank)
        ...         received = comm.irecv(theirs, 1 - comm.rank)
        ...     received.wait(), sent.wait()
        >>> simulate(swap, 2, args=(torch.ones(1),), rules="nccl").trace.steps
        1
        """
        return _AT_ONCE

    def barrier(self) -> None:
        """Return once every rank has called it: ceil(log2 world_size) rounds of empty messages.

        Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", IJPP 17(1), 1988.
        """
        distance = 1
        with self.collective(BARRIER):
            while distance < self.world_size:
                with self._apart(BARRIER):
                    sent = self.isend(torch.empty(0), (self.rank + distance) % self.world_size)
                    received = self.irecv(torch.empty(0), (self.rank - distance) % self.world_size)
                received.wait()
                sent.wait()
                distance *= 2

    def _apart(self, name: object) -> AbstractContextManager[None]:
        """A channel: what is posted inside meets only what others post on it, as in a barrier or a group."""
        return _Apart(self, name)

    def span(self, label: str) -> AbstractContextManager[None]:
        """Mark what happens inside as `label` on the timeline."""
        return _Marked(self, label)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Communicator:
        """Itself: a copy of a module that holds it belongs to the same rank."""
        return self

    @property
    def _of(self) -> str:
        """What the rank's number belongs to, in words; nothing for the program."""
        return ""

    def _check_seconds(self, seconds: float) -> None:
        with contextlib.suppress(TypeError):
            if seconds >= 0:
                return
        raise ValueError(f"seconds must be a number of 0 or more, rank {self.rank} got {seconds!r}")

    def _check(self, tensor: torch.Tensor, peer: Peer, name: str) -> Peer:
        """The peer as a plain number. Refuses another type, gaps in memory, a peer that is not there or is oneself."""
        is_peer = type(peer) is int and 0 <= peer < self.world_size and peer != self.rank
        if is_peer and isinstance(tensor, torch.Tensor) and tensor.is_contiguous():
            return peer  # as almost always: a simulated message costs few microseconds in all
        if peer is not None or name == "dst":
            if type(peer) is not int and isinstance(peer, Integral):
                peer = int(peer)  # numpy's
            if not isinstance(peer, int) or not 0 <= peer < self.world_size:
                rule = f"{name} must be a rank from 0 to {self.world_size - 1}"
                raise ValueError(f"{rule}, rank {self.rank}{self._of} got {peer!r}")
            if peer == self.rank:
                raise ValueError(f"{name} is rank {peer} itself: a rank cannot send to or receive from itself")
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"rank {self.rank}: a message must be a torch.Tensor, got {type(tensor).__name__}")
        if tensor.layout is not torch.strided:
            raise TypeError(f"rank {self.rank}: a message must be dense, got {tensor.layout}; .to_dense() makes it so")
        if not tensor.is_contiguous():
            instead = "call .contiguous() first" if name == "dst" else "receive into a new tensor, and copy it"
            raise ValueError(f"rank {self.rank}: a message must be contiguous in memory; {instead}")
        return peer


_AT_ONCE = contextlib.nullcontext()


class _Marked(contextlib.ContextDecorator):
    """Context manager of `span`: a labelled stretch of the timeline. It may be entered again, also inside itself."""

    def __init__(self, comm: Communicator, label: str) -> None:
        self._comm, self._label = comm, label
        self._starts_s: list[float] = []

    def __enter__(self) -> None:
        self._starts_s.append(self._comm.now())

    def __exit__(self, *_: object) -> None:
        self._comm._record_span(self._label, self._starts_s.pop(), self._comm.now())


class _Apart:
    """Context manager: what is posted inside goes on a channel of its own, that of a barrier or of a group."""

    __slots__ = ("_before", "_comm", "_name")

    def __init__(self, comm: Communicator, name: object) -> None:
        self._comm = comm
        self._name = name
        self._before = comm._channel

    def __enter__(self) -> None:
        self._comm._channel = (*self._before, self._name)

    def __exit__(self, *_: object) -> None:
        self._comm._channel = self._before
