"""What a fresh process does first: it knows its notebook, prints where it should, and dies with its parent."""

from __future__ import annotations

import linecache
import multiprocessing as mp
import os
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from course_lib.comm.processes.folder import remove
from course_lib.comm.processes.stacks import dump_on_signal
from course_lib.comm.source_location import adopt_cells

__all__ = ["Surroundings", "settle"]


@dataclass(frozen=True)
class Surroundings:
    """The folder to work in, and what the notebook has: the lines of its cells, their numbers, its environment."""

    folder: str
    lines: dict[str, tuple[Any, ...]]
    cells: dict[str, int]
    environment: dict[str, str]


def settle(surroundings: Surroundings, rank: int, output: Connection) -> None:
    """Make this process one of the notebook's: what it prints goes to `output`, and it does not outlive its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the notebook decides what an interrupt means
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # for what the program starts itself
    _allow_children()
    dump_on_signal(surroundings.folder, rank)
    threading.Thread(target=_die_with_parent, args=(surroundings.folder,), daemon=True).start()
    _redirect_output(output)
    linecache.cache.update(surroundings.lines)
    adopt_cells(surroundings.cells)
    os.environ.update(surroundings.environment)


def _allow_children() -> None:
    """Let a program start processes of its own, such as the workers of a DataLoader, in the platform's usual way.

    They belong to the rank's process group, which ends as a whole.
    """
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    mp.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    mp.set_start_method(None, force=True)


def _redirect_output(output: Connection) -> None:
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


def _die_with_parent(folder: str) -> None:
    parent = mp.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    remove(Path(folder))
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
