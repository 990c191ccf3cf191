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
from typing import Any

from . import confine
from .confine import Walls

__all__ = ["main"]

PROBE_CPU_S = 5


def main(arguments: list[str]) -> None:
    """Serve the judge until it hangs up."""
    judge = socket.socket(fileno=os.dup(0))
    wanted = Walls(**json.loads(arguments[0]))
    notes = []
    confine.die_with_parent()
    if wanted.namespaces:
        try:
            confine.leave_the_system()
        except OSError as error:
            notes.append(f"no namespaces: {error.strerror}")
            wanted = Walls(wanted.seccomp, False, wanted.users)
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


def _proved(wanted: Walls) -> tuple[Walls, list[str]]:
    """The walls that really stand: a throw-away process tries to get through each of them."""
    notes = []
    if wanted.users and os.geteuid() != 0:
        wanted = Walls(wanted.seccomp, wanted.namespaces, False)
        notes.append("no user id per rank: not root")
    if wanted.seccomp and not _filter_holds(wanted):
        wanted = Walls(False, wanted.namespaces, wanted.users)
        notes.append("no seccomp: the filter could not be put up here")
    return wanted, notes


def _filter_holds(walls: Walls) -> bool:
    child = os.fork()
    if not child:
        try:
            confine.confine_rank(walls, 0, PROBE_CPU_S)
            try:
                os.open("/", os.O_RDONLY)
            except PermissionError:
                os._exit(7)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


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
