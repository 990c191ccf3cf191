"""What a signal's handler raises so that a program does not get rid of it.

Python swallows an exception of a weakref callback or a `__del__`, and a program may catch all. So raising one of these
has the handler run once more, at the next line of Python, and it raises again if the program still runs there.
"""

from __future__ import annotations

import _thread
import functools
import signal
from typing import Any, TypeVar

Error = TypeVar("Error", bound=BaseException)


def persistent(error: type[Error], number: int, **about: Any) -> type[Error]:
    """A class like this one, to be raised without arguments, with which this signal comes to the main thread again.

    The handler cannot send it by itself: it would be interrupted by it in its own next line.
    """
    sends = staticmethod(functools.partial(_thread.interrupt_main, signal.Signals(number)))
    return type(error.__name__, (error,), {"__init__": sends, "__module__": error.__module__, **about})
