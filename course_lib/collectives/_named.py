"""A collective says what it is: its kind, and its name where it was given one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, overload

from course_lib.comm import Communicator

__all__ = ["collective"]

P = ParamSpec("P")


class Collective(Protocol[P]):
    """A function of the communicator that takes a name besides, as in `ring_all_reduce(comm, tensor, name="loss")`."""

    __name__: str

    @overload
    def __call__(self, comm: Communicator, *args: P.args, **kwargs: P.kwargs) -> None: ...
    @overload
    def __call__(self, comm: Communicator, *args: Any, name: str, **kwargs: Any) -> None: ...


def collective(function: Callable[Concatenate[Communicator, P], None]) -> Collective[P]:
    """The function as a collective of its own name: `comm` refuses messages between it and another one.

    It takes one argument more, `name`: two of one kind are told apart by that.
    """

    @functools.wraps(function)
    def named(comm: Communicator, *args: Any, name: str = "", **kwargs: Any) -> None:
        with comm.collective(function.__name__, name):
            function(comm, *args, **kwargs)

    return named  # type: ignore[return-value]
