"""Fresh processes in a tenth of a second: a warm fork server that has torch loaded, and their clean end."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing import spawn
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

import psutil

from course_lib.comm.board import Board
from course_lib.comm.child import Job, live
from course_lib.comm.communicator import describe_line, notebook_cells
from course_lib.comm.errors import MismatchError, TransportError
from course_lib.comm.network import Network
from course_lib.comm.program import notebook_lines
from course_lib.comm.tracebacks import belongs_to_program

__all__ = ["Ranks", "warm_up"]

_PRELOAD = ["torch", "torch.distributed", "torch._dynamo", "torch.distributed.fsdp", "numpy", "course_lib.comm.child"]
_PRELOAD += ["course_lib.parameter_server"]  # its processes are killed and started again while others wait for them
_ABORT_SIGNS = (b"gloo::EnforceNotMet", b"[enforce fail at")  # Gloo's own last words; our error says what happened
_RANK_BYTES = 64 * 2**20  # memory that a rank needs beside its program (11 MB unique were measured; the rest is care)
_QUIET = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # one thread, and only the loopback interface
if sys.platform != "win32":
    _QUIET["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
_ROOM_S = 0.002  # how soon the parent looks again whether a rank has room for what it has to say


def warm_up() -> None:
    """Start the fork server in the background, so that the first `run` does not wait three seconds for it."""
    context = _context()
    if context.get_start_method() == "forkserver":
        from multiprocessing import forkserver

        with _quiet_environment(), _without_main():
            forkserver.ensure_running()


def _context() -> Any:
    """Fork server where there is one, spawn elsewhere."""
    method = "forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn"
    context = mp.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(_PRELOAD)
    return context


class Ranks:
    """The processes of one run, as a context: on leaving it, however that happens, all of them are gone."""

    def __init__(
        self,
        world_size: int,
        packed: bytes,
        network: Network | None,
        backend: str,
        on_gpu: bool,
        timeout_s: float,
        echo: bool,
    ) -> None:
        refuse_too_many(world_size, len(packed))
        self.world_size, self.echo = world_size, echo
        self._folder = tempfile.mkdtemp(prefix="course-run-")
        known = notebook_lines(), dict(notebook_cells()), {**os.environ, **_QUIET}
        self._jobs = [
            Job(rank, world_size, self._folder, packed, *known, network, backend, on_gpu, timeout_s)
            for rank in range(world_size)
        ]
        self._processes: list = []
        self._links: dict[Any, int] = {}
        self._outputs: dict[Any, int] = {}
        self._partial: dict[int, bytes] = {}
        self._unsaid: dict[int, deque] = {}

    def __enter__(self) -> Ranks:
        try:
            self.board = Board(Path(self._folder) / "board", self.world_size, create=True)
            self.board_of_started = self.board.beside(create=True)
            context = _context()
            with _quiet_environment(), _without_main():
                for job in self._jobs:
                    self._start(context, job)
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                raise TransportError(f"this machine cannot start {self.world_size} ranks: {error}") from error
            raise
        return self

    def _start(self, context: Any, job: Job) -> None:
        link, link_of_rank = context.Pipe()
        output, output_of_rank = context.Pipe(duplex=False)
        process = context.Process(target=live, args=(job, link_of_rank, output_of_rank), daemon=True)
        process.start()
        link_of_rank.close()
        output_of_rank.close()
        self._processes.append(process)
        self._links[link], self._outputs[output] = job.rank, job.rank

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            _kill_with_children(process)
        for process in self._processes:
            process.join(5)
        self._drain_outputs()
        for connection in (*self._links, *self._outputs):
            connection.close()
        for process in self._processes:
            with contextlib.suppress(ValueError):
                process.close()
        for name in ("board", "board_of_started"):
            if hasattr(self, name):
                getattr(self, name).close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def tell(self, rank: int, message: Any) -> None:
        """Send a message to a rank as soon as it has room for it; one that has gone does not mind."""
        self._unsaid.setdefault(rank, deque()).append(message)
        self._say()

    def _say(self) -> None:
        """Send what ranks have room for: a parent that waited for a rank which waits for its parent would hang."""
        for link, rank in self._links.items():
            unsaid = self._unsaid.get(rank)
            while unsaid and _has_room(link):
                with contextlib.suppress(OSError):
                    link.send(unsaid.popleft())

    def listen(self, patience_s: float) -> Iterator[tuple[int, bytes | None]]:
        """What ranks say within `patience_s`, as (rank, message); None instead of a message if a rank has died."""
        self._say()
        if any(self._unsaid.values()):
            patience_s = min(patience_s, _ROOM_S)
        for ready in _ready([*self._links, *self._outputs], patience_s):
            if ready in self._outputs:
                self._echo(ready)
                continue
            rank = self._links[ready]
            try:
                yield rank, ready.recv_bytes()
            except (EOFError, OSError):
                del self._links[ready]
                ready.close()
                yield rank, None

    def mismatch(self) -> MismatchError | None:
        """The first message, of programs or of started functions, whose two sides disagree."""
        return self.board.mismatch() or self.board_of_started.mismatch()

    def how_it_ended(self, rank: int) -> str:
        """A dead rank's exit code or signal, in words."""
        process = self._processes[rank]
        process.join(1)
        code = process.exitcode
        return f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"

    def stack_of(self, rank: int) -> str:
        """What a rank that is in no communication call is doing, from its own stack."""
        if not hasattr(signal, "SIGUSR1"):
            return "is still running"
        path = Path(self._folder) / f"stack{rank}"
        with contextlib.suppress(OSError, ProcessLookupError):
            os.kill(self._processes[rank].pid, signal.SIGUSR1)
            time.sleep(0.2)
            for line in path.read_text().splitlines():
                place = _program_line(line)
                if place:
                    return f"runs {place}"
        return "is still running"

    def _echo(self, output: Connection) -> None:
        """Print the whole lines that have arrived."""
        rank = self._outputs[output]
        data = os.read(output.fileno(), 65536)
        if not data:
            del self._outputs[output]
            output.close()
        *lines, self._partial[rank] = (self._partial.get(rank, b"") + data).split(b"\n")
        if not data and self._partial[rank]:
            lines.append(self._partial.pop(rank))
        lines = [line for line in lines if not any(sign in line for sign in _ABORT_SIGNS)]
        if self.echo and lines:
            text = "\n".join(f"[rank {rank}] {line.decode(errors='replace')}" for line in lines)
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def _drain_outputs(self) -> None:
        while self._outputs and (ready := _ready([*self._outputs], 0)):
            for output in ready:
                self._echo(output)


def _ready(connections: list[Connection], patience_s: float) -> list[Connection]:
    """Those of the connections that have something to say, or have ended."""
    return cast(list[Connection], wait(connections, patience_s))


def _kill_with_children(process: Any) -> None:
    """End a rank and whatever it has started: they form a process group of their own."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _has_room(link: Connection) -> bool:
    """True if a short message can be sent without waiting."""
    if not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    poll.register(link, select.POLLOUT)
    return bool(poll.poll(0))


def refuse_too_many(world_size: int, program_bytes: int) -> None:
    """Raise TransportError if the machine has too little memory or too few file handles for so many ranks."""
    free = psutil.virtual_memory().available
    most = int(free / (_RANK_BYTES + 2 * program_bytes))
    why = f"each needs about {(_RANK_BYTES + 2 * program_bytes) / 1e6:.0f} MB and {free / 1e9:.1f} GB are free"
    files = _most_open_files()
    if 4 * world_size + 100 > files or 2 * world_size + 100 > files:
        most, why = min(most, (files - 100) // 4), f"this process may open {files} files"
    if world_size > most:
        raise TransportError(
            f"this machine holds at most {most} ranks, not {world_size}: {why}. simulate() takes thousands of ranks."
        )


def _most_open_files() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 2**31
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if soft == resource.RLIM_INFINITY else soft


def _program_line(line: str) -> str:
    """The place of a stack line if it belongs to the program, else nothing."""
    line = line.strip()
    if not line.startswith('File "'):
        return ""
    file, rest = line.removeprefix('File "').split('"', 1)
    if not belongs_to_program(file):
        return ""
    number = rest.removeprefix(", line ").split(" ")[0]
    return describe_line(file, int(number)) if number.isdigit() else ""


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Keep multiprocessing from importing the caller's main module again in every rank.

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
