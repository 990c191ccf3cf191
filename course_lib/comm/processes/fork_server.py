"""Fresh processes in a tenth of a second: a warm fork server that has torch loaded starts them, and ends them."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing import spawn
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from course_lib.chapters import chapters
from course_lib.comm.processes.interfaces import LOOPBACK
from course_lib.comm.processes.startup import Surroundings
from course_lib.comm.program import notebook_lines
from course_lib.comm.source_location import notebook_cells

__all__ = [
    "HUGE_PAGES",
    "Fresh",
    "how_it_ended",
    "kill_with_children",
    "show_lines",
    "start_process",
    "surroundings",
    "warm_up",
]

_PRELOAD = [
    "torch",
    "torch.distributed",
    "torch._dynamo",
    "torch.distributed.fsdp",
    "numpy",
    "course_lib.comm.processes.child",
]
_ABORT_SIGNS = (b"gloo::EnforceNotMet", b"[enforce fail at")  # Gloo's own last words; our error says what happened
# glibc 2.35 and newer, where the kernel allows it: a fork copies one entry for 2 MiB in place of 512.
# A value of the user's own stands.
HUGE_PAGES = {"GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")}
_QUIET = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} | HUGE_PAGES  # one thread, and only the loopback interface
if LOOPBACK:
    _QUIET["GLOO_SOCKET_IFNAME"] = LOOPBACK


class Fresh(NamedTuple):
    """A process that has just been started, and our ends of the pipes: what we say to each other, what it prints."""

    process: Any
    link: Connection
    output: Connection


def warm_up() -> None:
    """Start the fork server in the background, so that the first `run` does not wait three seconds for it."""
    context = _context()
    if context.get_start_method() == "forkserver":
        from multiprocessing import forkserver

        with _quiet_environment(), _without_main():
            forkserver.ensure_running()


def surroundings(folder: str) -> Surroundings:
    """What a process that works in `folder` needs to know of this one."""
    return Surroundings(folder, notebook_lines(), dict(notebook_cells()), {**os.environ, **_QUIET})


def start_process(live: Callable[[Any, Connection, Connection], None], job: Any) -> Fresh:
    """Run `live(job, link, output)` in a process of its own."""
    context = _context()
    link, link_of_process = context.Pipe()
    output, output_of_process = context.Pipe(duplex=False)
    process = context.Process(target=live, args=(job, link_of_process, output_of_process), daemon=True)
    with _quiet_environment(), _without_main():
        process.start()
    link_of_process.close()
    output_of_process.close()
    return Fresh(process, link, output)


def kill_with_children(process: Any) -> None:
    """End a process and whatever it has started: they form a process group of their own."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def how_it_ended(process: Any) -> str:
    """A dead process's exit code or signal, in words."""
    process.join(5)
    code = process.exitcode
    return f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"


def show_lines(output: Connection, partial: bytes, name: str | None) -> bytes | None:
    """Print the whole lines that have come, each marked with `name` (None: print nothing).

    Args:
        partial: what has come of a line before.

    Returns:
        what has come of the next line; None at the end, and then `output` is closed.
    """
    data = os.read(output.fileno(), 65536)
    *lines, rest = (partial + data).split(b"\n")
    if not data:
        lines += [rest] if rest else []
        output.close()
    lines = [line for line in lines if not any(sign in line for sign in _ABORT_SIGNS)]
    if name is not None and lines:
        print("\n".join(f"[{name}] {line.decode(errors='replace')}" for line in lines), flush=True)
    return rest if data else None


def _context() -> Any:
    """Fork server where there is one, spawn elsewhere."""
    method = "forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn"
    context = mp.get_context(method)
    if method == "forkserver":
        lessons = [module for chapter in chapters() for module in chapter.preload]
        context.set_forkserver_preload(_PRELOAD + lessons)
    return context


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Keep multiprocessing from importing the caller's main module again in every process.

    Functions of main travel by value, so scripts without a guard, standard input and notebooks all work.
    """
    original = spawn.get_preparation_data

    def without_main(name: str) -> dict:
        data = original(name)
        data.pop("init_main_from_name", None)
        data.pop("init_main_from_path", None)
        return data

    spawn.get_preparation_data = without_main
    try:
        yield
    finally:
        spawn.get_preparation_data = original


@contextlib.contextmanager
def _quiet_environment() -> Iterator[None]:
    """Start the fork server with variables that must be there before torch is loaded."""
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ.update(_QUIET)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
