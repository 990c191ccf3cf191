"""A simulated rank's communicator in the check, which refuses what the judge's refuses."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import torch

from course_lib.comm.group import Group
from course_lib.comm.source_location import is_ours, locate
from course_lib.grading.exercise import refused_dtype
from course_lib.grading.judge import Transfers


class Watched:
    """A rank's communicator that refuses what the judge refuses: other dtypes, and tensors used while under way."""

    network = None  # the judge's ranks do not know theirs

    def __init__(self, comm: Any, dtypes: Sequence[torch.dtype], parent: Watched | None = None) -> None:
        self._comm, self._dtypes = comm, dtypes
        self._count: itertools.count[int] = parent._count if parent else itertools.count()
        self.transfers: Transfers = parent.transfers if parent else Transfers()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    def send(self, tensor: Any, dst: int) -> None:
        if isinstance(tensor, torch.Tensor):
            self._refuse_dtype(tensor, dst)
            self.transfers.refuse_arriving(tensor, str(locate()))
        self._comm.send(_plain(tensor), dst)

    def recv(self, tensor: Any, src: int | None = None) -> int:
        if isinstance(tensor, torch.Tensor):
            self.transfers.refuse_shared(tensor, str(locate()))
        return self._comm.recv(tensor, src)

    def isend(self, tensor: Any, dst: int) -> Any:
        if isinstance(tensor, torch.Tensor):
            self._refuse_dtype(tensor, dst)
        return self._watched(self._comm.isend(_plain(tensor), dst), tensor, self.transfers.sends)

    def irecv(self, tensor: Any, src: int | None = None) -> Any:
        return self._watched(self._comm.irecv(tensor, src), tensor, self.transfers.receives)

    def group(self, ranks: Sequence[int]) -> Group:
        return Group(self, ranks)  # type: ignore[arg-type]  # what it asks of a communicator, this one has

    def start(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        if not callable(function):
            return self._comm.start(function)
        watched = lambda comm, *a, **k: function(Watched(comm, self._dtypes, self), *a, **k)  # noqa: E731
        return self._comm.start(watched, *args, **kwargs)

    def _watched(self, work: Any, tensor: torch.Tensor, begins: Callable[[int, torch.Tensor, str], None]) -> Any:
        frame, number = _students_frame(), next(self._count)
        if frame is not None:
            work.where = frame.f_code, frame.f_lasti
        begins(number, tensor, str(locate()))
        return _WatchedWork(work, self.transfers, number)

    def _refuse_dtype(self, tensor: Any, dst: int) -> None:
        wrong = refused_dtype(self._dtypes, tensor, self.rank, dst)
        if wrong:
            raise DtypeRefused(f"{wrong} ({locate()})")


def _plain(tensor: Any) -> Any:
    """A tensor of a class of the student's without its class: a message has none, and each rank knows only its own."""
    if not isinstance(tensor, torch.Tensor) or type(tensor) in (torch.Tensor, torch.nn.Parameter):
        return tensor
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.as_subclass(torch.Tensor)


def _students_frame() -> FrameType | None:
    frame = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back  # type: ignore[assignment]
    return frame


class _WatchedWork:
    """What `isend` and `irecv` return; its wait looks whether the tensor is as it was."""

    def __init__(self, work: Any, transfers: Transfers, number: int) -> None:
        self._work = work
        self._transfers = transfers
        self._number = number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def wait(self) -> bool:
        self._transfers.waited(self._number)
        return self._work.wait()

    def finish(self, verb: str) -> None:
        self._transfers.waited(self._number)
        self._work.finish(verb)


class DtypeRefused(TypeError):
    """A message of a dtype that the exercise does not have."""
