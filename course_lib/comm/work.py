"""What a rank waits for: a message under way, or a function that it has started."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from course_lib.comm.source_location import locate

if TYPE_CHECKING:
    from course_lib.comm.communicator import Communicator

__all__ = ["Started", "Work"]


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
    """A function that `comm.start` runs beside the program. After `wait()`, `result` is what it returned."""

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
