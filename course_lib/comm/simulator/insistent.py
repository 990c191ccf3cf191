"""An asynchronous exception for another thread that is raised there again whenever something there has caught it.

Python swallows what a weakref callback or a `__del__` raises, and a program may catch all: one exception is not enough.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["raise_in", "unraisable_unseen"]

# As in `ctypes.pythonapi`, but it returns nothing, so that it can stand for an exception's `__init__`.
_set_exception = ctypes.PYFUNCTYPE(None, ctypes.c_ulong, ctypes.py_object)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)


def raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise this exception at that thread's next line of Python, and again until its `take_back` is called there.

    Python makes an exception's instance when something catches it. So the instance's making orders the next exception,
    and whatever the handler does is interrupted, too. `take_back` must be the first that the last handler calls.
    """
    again: Any = type(error.__name__, (error,), {"__module__": error.__module__})
    again.__init__ = staticmethod(functools.partial(_set_exception, thread, again))
    again.take_back = staticmethod(functools.partial(_set_exception, thread, ctypes.py_object()))
    _set_exception(thread, again)


@contextlib.contextmanager
def unraisable_unseen() -> Iterator[None]:
    """Nothing is printed meanwhile of what is raised in a weakref callback or in a `__del__`, hundreds of times.

    The hook is not written in Python, for then it would be interrupted itself. Several threads may be in here at once.
    """
    hook, sys.unraisablehook = sys.unraisablehook, bool
    try:
        yield
    finally:
        if hook is not bool:
            sys.unraisablehook = hook
