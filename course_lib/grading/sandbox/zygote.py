"""The process that ranks are forked from: it has loaded torch once, knows no exercise, and never runs student code.

The judge starts it as a fresh interpreter and talks to it over a socket pair on standard input: one line of JSON per
order, both sides trusted. `spawn` comes with the rank's end of its socket pair; `end` kills ranks and reaps them;
`used` says how much processor time ranks have used.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import confine
from .confine import Walls

PROBE_CPU_S, HELD = 5, 7
PROCESS_TIME = 2  # with the complement of a process's number: the clock of its processor time, to Linux
GONE_S = 1.0


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
    import torch

    from . import stubs

    torch.set_num_threads(1)
    stubs.load_all()
    stubs.install()
    from .child import live

    sys.path[:] = [entry for entry in sys.path if not entry.endswith("grading")]
    _warm_up(torch.ones(4))
    confine.measure_address_space()
    gc.collect()
    gc.freeze()
    return live


def _warm_up(tensor: Any) -> None:
    """Do once what every rank does first, so that each finds it done."""
    from . import frames, seccomp

    tensor.add_(1).sum().item()
    repr(tensor)  # imports what shows a tensor
    ast.unparse(ast.Pass())  # from Python 3.14 on it imports what it needs
    time.strptime("0", "%S")  # imports what it needs, on every version
    _, value = frames.split(bytearray(frames.pack(frames.Frame.RESULT, [tensor]))) or (0, [])
    value[0].tensor()
    if seccomp.supported():
        seccomp.prepare()


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
        elif order["do"] == "used":
            _say(judge, {"used_s": _used_s(order["pids"])})
        else:
            _say(judge, {"exits": [_end(pid, pid == order["gone"]) for pid in order["pids"]]})


def _used_s(pids: list[int]) -> float | None:
    """Processor time that these ranks have used, all together; None where the system does not say."""
    if sys.platform != "linux":
        return None
    used_s = 0.0
    for pid in pids:
        try:
            used_s += time.clock_gettime(~pid << 3 | PROCESS_TIME)
        except OSError:
            continue  # it has ended
    return used_s


def _end(pid: int, is_gone: bool) -> tuple[int | None, float]:
    """Reap a rank: its exit code (negative: the signal; None: it had to be killed) and its processor time.

    One that has hung up gets a moment to end by itself, so that its exit code says why.
    """
    until, code = time.monotonic() + (GONE_S if is_gone else 0.0), None
    try:
        reaped, status, used = os.wait4(pid, os.WNOHANG)
        while not reaped and time.monotonic() < until:
            time.sleep(0.001)
            reaped, status, used = os.wait4(pid, os.WNOHANG)
        if reaped:
            code = os.waitstatus_to_exitcode(status)
        else:
            os.kill(pid, signal.SIGKILL)
            _, _, used = os.wait4(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return None, 0.0
    return code, used.ru_utime + used.ru_stime


def _say(judge: socket.socket, answer: dict[str, Any]) -> None:
    judge.sendall(json.dumps(answer).encode() + b"\n")
