"""Whatever runs answers in this very process does so alone: what torch and Python keep for a process is shared."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator

from course_lib.comm.program import fixed_seeds
from course_lib.grading.settings import FILLED, JUDGES, Settings, settings, with_settings

LONG_S = 60.0  # that nobody else has had a turn
WAITING = (
    "this waits for a check in another thread, which has not got on for more than a minute. If it waits for something "
    "that never comes, nothing can end it from outside: restart the kernel, and call check in a cell of its own"
)
_LOCK = threading.RLock()
_turns = 0  # that have begun
_theirs: list[Settings] = []  # those of who waits for the turn's end


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """No other thread runs an answer meanwhile; random numbers and torch's settings are the same whoever came before.

    Graders of several submissions, and checks in several threads, take turns here. One inside another is a part of it.
    What is set inside, such as a default dtype, is as it was before when this ends.
    """
    _take_turn()
    with contextlib.ExitStack() as turn:
        turn.callback(_LOCK.release)
        is_outermost = not _theirs
        _theirs.append(settings())
        turn.callback(_theirs.pop)
        turn.enter_context(fixed_seeds())
        if is_outermost:
            turn.enter_context(with_settings(JUDGES))
        yield


@contextlib.contextmanager
def as_a_student() -> Iterator[None]:
    """Inside `alone` holds here what the caller of the outermost one has set, such as a default dtype.

    A tensor that nobody has filled holds nan, and not what memory held.
    """
    with with_settings({**(_theirs[0] if _theirs else {}), **FILLED}):
        yield


def _take_turn() -> None:
    """Wait for it; who waits long for one and the same says so, and what can be done."""
    global _turns
    before = -1
    while not _LOCK.acquire(timeout=LONG_S):
        if before == _turns:
            warnings.warn(WAITING, stacklevel=5)
        before = _turns
    _turns += 1
