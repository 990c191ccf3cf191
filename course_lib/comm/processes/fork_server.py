"""The fork server: fresh processes in a tenth of a second, started by a warm process that has torch loaded.

Interrupts wait while a process starts, and Python's multiprocessing is put right for notebooks.
"""

from __future__ import annotations

import contextlib
import errno
import multiprocessing as mp
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker, spawn, util
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, NamedTuple

from course_lib.comm.errors import TransportError
from course_lib.comm.processes.folder import RunFolder
from course_lib.comm.processes.machine import LOOPBACK
from course_lib.comm.processes.startup import Surroundings
from course_lib.comm.program import notebook_lines
from course_lib.comm.source_location import notebook_cells


class DeferredInterrupts:
    """Context manager: SIGINT (Ctrl-C, a notebook's interrupt) waits for `deliver()`, or for the end.

    So whoever cleans up inside is never interrupted in the middle. Other threads than the main one get no interrupts.
    """

    def __init__(self) -> None:
        self._handler: Callable[[int, FrameType | None], Any] | None = None
        self._came = False

    def __enter__(self) -> DeferredInterrupts:
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(handler):
            self._handler = handler
            signal.signal(signal.SIGINT, self._keep)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            self.deliver()

    def deliver(self) -> None:
        """Do now what an interrupt that has come would have done: raise KeyboardInterrupt, by default."""
        if self._came and self._handler is not None:
            self._came = False
            self._handler(signal.SIGINT, None)

    def _keep(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True


@contextlib.contextmanager
def blocked_interrupts() -> Iterator[None]:
    """Block SIGINT for processes that are started inside: a notebook's interrupt would reach them, too."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_FOLDERS: list[RunFolder] = []  # the last one is multiprocessing's


def own_folder() -> None:
    """Give multiprocessing a temporary folder that a later process sweeps: its own stays when a kernel is killed."""
    if "tempdir" not in _config():
        fresh_folder()


def fresh_folder() -> None:
    """Give multiprocessing another temporary folder: the one that it had is lost."""
    if _FOLDERS or "tempdir" not in _config():
        _FOLDERS[:] = [RunFolder("crs-mp-")]  # short: the path of a socket in it has 107 letters at most
        _config()["tempdir"] = str(_FOLDERS[0].path)
    else:  # somebody else's
        os.makedirs(util.get_temp_dir(), mode=0o700, exist_ok=True)


def _config() -> dict[Any, Any]:
    return mp.current_process()._config  # type: ignore[attr-defined]


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """What multiprocessing starts inside for itself gets a process group of its own.

    A Jupyter kernel that shuts down waits for all of its own group, dead ones and the tracker of resources, which hears
    no SIGTERM, among them: after two and a half seconds Jupyter would kill it.
    """
    original = util.spawnv_passfds
    if sys.platform == "linux":
        util.spawnv_passfds = _spawn_apart  # type: ignore[assignment]
    try:
        yield
    finally:
        util.spawnv_passfds = original


def _spawn_apart(path: bytes, args: list[bytes | str], passfds: list[int]) -> int:
    """multiprocessing's `spawnv_passfds`, but in a process group of its own."""
    kept = [(os.POSIX_SPAWN_DUP2, number, number) for number in passfds]
    return os.posix_spawn(path, args, os.environ, file_actions=kept, setpgroup=0)


@contextlib.contextmanager
def without_main() -> Iterator[None]:
    """Keep multiprocessing from importing the caller's main module again in every process that this thread starts.

    Functions of main travel by value, so scripts without a guard, standard input and notebooks all work.
    """
    original, starter = spawn.get_preparation_data, threading.get_ident()

    def without_main(name: str) -> dict[Any, Any]:
        data = original(name)
        if threading.get_ident() == starter:
            data.pop("init_main_from_name", None)
            data.pop("init_main_from_path", None)
        return data

    spawn.get_preparation_data = without_main
    try:
        yield
    finally:
        spawn.get_preparation_data = original


# --- Fresh processes in a tenth of a second: a warm fork server that has torch loaded starts them, and ends them.


_PRELOADED = [  # imported in the fork server, so that no fresh process has to
    "torch",
    "torch.distributed",
    "torch._dynamo",
    "torch.distributed.fsdp",
    "numpy",
    "course_lib.comm.transport.child",
]
# glibc 2.35 and newer, where the kernel allows it: a fork copies one entry for 2 MiB in place of 512.
# A value of the user's own stands.
HUGE_PAGES = {"GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")}
_QUIET = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} | HUGE_PAGES  # one thread, and only the loopback interface
if LOOPBACK:
    _QUIET["GLOO_SOCKET_IFNAME"] = LOOPBACK


_STARTING = threading.RLock()  # one start at a time: it sets variables of the whole process
_TRIES = 3
_LOOK_S = 0.25  # how often the fork server is looked after while a process starts
_LOST = (EOFError, ConnectionError, FileNotFoundError, ChildProcessError)  # what a fork server that died looks like


class Fresh(NamedTuple):
    """A process that has just been started, and our ends of its pipes: messages both ways, and its output."""

    process: Any
    link: Connection
    output: Connection


def preload(module: str) -> None:
    """Have a module imported already in processes whose fork server starts later.

    For one that starts processes one by one while others wait for them: its package says so when it is imported.
    """
    if module not in _PRELOADED:
        _PRELOADED.append(module)


def warm_up() -> None:
    """Start the fork server in the background, so that the first `run` does not wait three seconds for it."""
    context = _context()
    if context.get_start_method() == "forkserver":
        with _uninterrupted():
            _ensure_fork_server()


def surroundings(folder: str) -> Surroundings:
    """What a process that works in `folder` needs to know of this one."""
    return Surroundings(folder, notebook_lines(), dict(notebook_cells()), {**os.environ, **_QUIET})


def start_process(live: Callable[[Any, Connection, Connection], None], job: Any) -> Fresh:
    """Run `live(job, link, output)` in a process of its own.

    Raises:
        TransportError: if it cannot be started.
    """
    context = _context()
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        link, link_of_process = context.Pipe()
        output, output_of_process = context.Pipe(duplex=False)
        theirs.callback(link_of_process.close)
        theirs.callback(output_of_process.close)
        ours.callback(link.close)
        ours.callback(output.close)
        process = _start(context, live, (job, link_of_process, output_of_process))
        ours.pop_all()
    return Fresh(process, link, output)


def _start(context: Any, live: Callable[..., None], args: tuple[Any, ...]) -> Any:
    """Start the process, by a new fork server if the old one has died or cannot be reached."""
    _refuse_deleted_folder()
    forks = context.get_start_method() == "forkserver"
    for further in reversed(range(_TRIES)):
        process = context.Process(target=live, args=args, daemon=True)
        try:
            with _uninterrupted():
                if forks:
                    _ensure_fork_server()
                with without_main(), _awake() if forks else _quiet_environment():
                    process.start()
            return process
        except _LOST as error:
            if not (forks and further):
                raise TransportError(f"no process could be started: {type(error).__name__}: {error}") from error
            with _STARTING:
                _discard_fork_server()
        except OSError as error:
            raise TransportError(f"no process could be started: {error}{_advice(error)}") from error
    raise AssertionError("unreachable")


def _refuse_deleted_folder() -> None:
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise TransportError(
            "the working directory of this process has been deleted: change to one that exists, "
            "as in os.chdir(os.path.expanduser('~'))"
        ) from error


def _advice(error: OSError) -> str:
    if "AF_UNIX path too long" in str(error):
        return (
            f" (the folder for temporary files is {tempfile.gettempdir()}: set TMPDIR to a shorter one, such as /tmp)"
        )
    return " (more open files: ulimit -n)" if error.errno == errno.EMFILE else ""


def _context() -> Any:
    """Fork server where there is one, spawn elsewhere. The system libraries of macOS do not survive a fork."""
    forks = "forkserver" in mp.get_all_start_methods() and sys.platform != "darwin"
    context = mp.get_context("forkserver" if forks else "spawn")
    if forks:
        context.set_forkserver_preload(_PRELOADED)
    return context


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """No other thread starts a process meanwhile, and no interrupt reaches this process or the new one half-way."""
    with DeferredInterrupts(), _STARTING:
        if hasattr(os, "fork"):
            with apart():
                resource_tracker.ensure_running()  # it would unblock interrupts for what is started after it
        with blocked_interrupts():
            yield


def _ensure_fork_server() -> None:
    """Start the fork server if none runs."""
    wake_fork_server()
    if not _is_running(_server()._forkserver_pid):
        own_folder()
        with _quiet_environment(), without_main(), apart():
            _server().ensure_running()


def _server() -> Any:
    from multiprocessing import forkserver  # there is none on Windows

    return forkserver._forkserver


def _is_running(pid: int | None) -> bool:
    """True if this child process lives. It is not reaped, so that others can still ask."""
    try:
        return pid is not None and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def wake_fork_server() -> None:
    """Resume (SIGCONT) the fork server if Ctrl-Z or a debugger has stopped it: we wait for its answers."""
    if hasattr(os, "waitid") and hasattr(os, "WSTOPPED"):
        with contextlib.suppress(ChildProcessError, TypeError):  # it is dead, or there is none
            if os.waitid(os.P_PID, _server()._forkserver_pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None:
                os.kill(_server()._forkserver_pid, signal.SIGCONT)


@contextlib.contextmanager
def _awake() -> Iterator[None]:
    """Context manager: a thread resumes the fork server whenever somebody stops it, so that nothing hangs."""
    over = threading.Event()

    def wake() -> None:
        while not over.wait(_LOOK_S):
            wake_fork_server()

    looking = threading.Thread(target=wake, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


def _discard_fork_server() -> None:
    """Kill the fork server, so that the next start makes a new one, with a new temporary folder."""
    server = _server()
    with contextlib.suppress(OSError, TypeError):  # TypeError: there is none
        os.kill(server._forkserver_pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        server._stop()
    server._forkserver_pid = None
    fresh_folder()


@contextlib.contextmanager
def _quiet_environment() -> Iterator[None]:
    """Start a process with variables that must be there before torch is loaded."""
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ.update(_QUIET)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
