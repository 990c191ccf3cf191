"""The process that ranks are forked from: it has loaded torch once, knows no exercise, and never runs student code.

The judge starts it as a fresh interpreter and talks to it over a socket pair on standard input: one line of JSON per
order, both sides trusted. `spawn` comes with the rank's end of its socket pair; `end` kills ranks and reaps them.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import confine
from .confine import Walls

__all__ = ["main"]

PROBE_CPU_S, HELD = 5, 7


def main(wanted_walls: str) -> None:
    """Serve the judge until it hangs up."""
    judge = socket.socket(fileno=os.dup(0))
    wanted = Walls(**json.loads(wanted_walls))
    notes = []
    confine.die_with_parent()
    if wanted.namespaces and not _holds(_through_namespaces):
        wanted = replace(wanted, namespaces=False)
        notes.append("no namespaces: this kernel, or a container around us, does not allow them")
    if wanted.namespaces:
        confine.leave_the_system()
    live = _load()
    if wanted.namespaces:
        confine.empty_world()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    walls, more = _proved(wanted)
    _say(judge, {"walls": vars(walls), "notes": notes + more})
    try:
        _serve(judge, walls, live)
    finally:
        os._exit(0)


def _load() -> Any:
    """Import all that a rank may need, since it cannot open files later, and return what a rank does."""
    import bisect, collections, copy, dataclasses, enum, functools, heapq, itertools, math, operator, random  # noqa: E401, F401, I001
    import contextlib, linecache, statistics, string, textwrap, time, traceback, typing, fractions, decimal, cmath  # noqa: E401, F401
    import numpy.linalg, numpy.random  # noqa: E401, F401
    import torch.nn.functional
    import torch

    from . import stubs
    from .child import live

    stubs.install()
    sys.path[:] = [entry for entry in sys.path if not entry.endswith("grading")]
    torch.ones(4).add_(1).sum().item()
    confine.measure_address_space()
    gc.collect()
    gc.freeze()
    return live


def _proved(walls: Walls) -> tuple[Walls, list[str]]:
    """The walls that really stand: throw-away processes try to get through them."""
    notes = []
    if walls.users and not _holds(lambda: confine.confine_rank(Walls(users=True), 0, PROBE_CPU_S)):
        walls = replace(walls, users=False)
        notes.append("no user id of its own for each rank: that needs root")
    if walls.seccomp and not _holds(lambda: _through_filter(walls)):
        walls = replace(walls, seccomp=False)
        notes.append("no system-call filter: this kernel, or a container around us, does not allow it")
    return walls, notes


def _holds(attempt: Callable[[], None]) -> bool:
    """Whether a throw-away process comes through this attempt without an error."""
    child = os.fork()
    if not child:
        try:
            attempt()
            os._exit(HELD)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == HELD


def _through_namespaces() -> None:
    confine.leave_the_system()
    confine.empty_world()


def _through_filter(walls: Walls) -> None:
    """Succeeds if a confined process cannot open a file."""
    confine.confine_rank(walls, 0, PROBE_CPU_S)
    try:
        os.open("/", os.O_RDONLY)
    except PermissionError:
        return
    raise RuntimeError("the filter let an open pass")


def _serve(judge: socket.socket, walls: Walls, live: Any) -> None:
    """Fork and end ranks as the judge says."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(judge, 4096, 1)
        if not message:
            return
        order = json.loads(message)
        if order["do"] == "spawn":
            pid = os.fork()
            if not pid:
                live(descriptors[0], walls, order["slot"], order["cpu_s"])
            os.close(descriptors[0])
            _say(judge, {"pid": pid})
        else:
            _say(judge, {"exits": [_end(pid) for pid in order["pids"]]})


def _end(pid: int) -> int:
    """Kill and reap a rank; returns its exit code (negative: the signal), -9 also when it lived until now."""
    try:
        os.kill(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except (ProcessLookupError, ChildProcessError):
        return 0


def _say(judge: socket.socket, answer: dict[str, Any]) -> None:
    judge.sendall(json.dumps(answer).encode() + b"\n")
