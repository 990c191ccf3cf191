"""The object store's server process: started, killed, restarted on the same port, and never orphaned."""

from __future__ import annotations

import contextlib
import math
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from course_lib.comm.processes.folder import RunFolder
from course_lib.comm.processes.fork_server import DeferredInterrupts
from course_lib.storage.object_store.request_log import Request, read_log

_START_S = 60.0  # a machine that is busy with other things may take long to start a process
_END_S = 2.0
_LOOK_S = 0.002
# Run as a file: as a module it would load the whole package, torch included, before it serves.
_SERVER = Path(__file__).with_name("server.py")


class ObjectStore:
    """A context in which a server of its own process serves the files of `folder`; `url` is its address.

    On leaving it, however that happens, the server has ended. It also ends when this process does. Without the limits,
    the store is as fast as this machine.

    Args:
        operations_per_s: emulated metadata operations a second.
        latency_s: emulated, beside the operation.
        bytes_per_s: emulated bandwidth of all answers together.
        queue: how many requests are served at a time; what comes beyond is refused with 503.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        operations_per_s: float = 1e6,
        latency_s: float = 0.0,
        bytes_per_s: float = 1e12,
        queue: int = 1000,
    ) -> None:
        positive = all(0 < limit < math.inf for limit in (operations_per_s, bytes_per_s, queue))
        if not positive or not 0 <= latency_s < math.inf:  # as nan would be
            limits = {"operations_per_s": operations_per_s, "bytes_per_s": bytes_per_s, "queue": queue}
            raise ValueError(f"a store's limits must be positive and finite, got {limits | {'latency_s': latency_s}}")
        if not Path(folder).is_dir():
            raise ValueError(f"a store serves a folder, got {str(folder)!r}, which is none")
        self._arguments = [str(folder), f"--operations-per-s={operations_per_s}", f"--latency-ms={latency_s * 1e3}"]
        self._arguments += [f"--MB-per-s={bytes_per_s / 1e6}", f"--queue={queue}"]
        self._process: subprocess.Popen[bytes] | None = None
        self.kills = 0

    def __enter__(self) -> ObjectStore:
        with contextlib.ExitStack() as cleaning:
            self._folder = RunFolder("course-store-")
            cleaning.callback(self._folder.remove)
            self._reserved = cleaning.enter_context(_reserve_port())
            self.url = f"http://127.0.0.1:{self._reserved.getsockname()[1]}"
            cleaning.callback(self._end)
            self.start()
            self._cleaning = cleaning.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with DeferredInterrupts():
            self._cleaning.close()

    def log(self) -> list[Request]:
        """The requests that were answered so far, refused ones included; it survives the server."""
        return read_log(self._folder.path / "requests.log")

    def start(self) -> None:
        """Start the server, on the same port each time, and return once it listens.

        Raises:
            RuntimeError: if it ends instead, with what it said; or if it is running already.
        """
        if self._process is not None:
            raise RuntimeError(f"the server of {self.url} is running already")
        more = [f"--port={self._reserved.getsockname()[1]}", f"--log={self._folder.path / 'requests.log'}"]
        with open(self._folder.path / "said", "wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_SERVER), *self._arguments, *more, "--with-parent"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,  # an interrupt of the notebook is not for it
            )
        until_s = time.monotonic() + _START_S
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > until_s:
                said_text = (self._folder.path / "said").read_text(errors="replace").strip()
                self._end()
                raise RuntimeError(f"the server of {self.url} did not start: {said_text or 'it said nothing'}")
            time.sleep(_LOOK_S)

    def kill(self) -> None:
        """End the server by SIGKILL, in the middle of whatever it does."""
        if self._process is None:
            raise RuntimeError(f"the server of {self.url} is not running")
        self._process.kill()
        self._forget()
        self.kills += 1

    @contextlib.contextmanager
    def killed_after(self, requests: int) -> Iterator[None]:
        """Once so many requests were answered, kill the server and start it again, while the caller goes on."""
        over = threading.Event()
        with ThreadPoolExecutor(1) as background:
            done = background.submit(self._kill_and_restart, requests, over)
            try:
                yield
            finally:
                over.set()
        done.result()

    def _kill_and_restart(self, requests: int, over: threading.Event) -> None:
        while len(self.log()) < requests:
            if over.wait(_LOOK_S):
                return
        self.kill()
        self.start()

    def _listens(self) -> bool:
        try:
            socket.create_connection(self._reserved.getsockname(), timeout=1).close()
        except OSError:
            return False
        return True

    def _end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self._forget()

    def _forget(self) -> None:
        assert self._process is not None
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process = None


def _reserve_port() -> socket.socket:
    """A socket bound to a free port that never listens: nobody else is given the port while the server is down.

    Without it, the kernel could give the port to a client that calls it, which would then be connected to itself.
    """
    reserved = socket.socket()
    if hasattr(socket, "SO_REUSEPORT"):
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved
