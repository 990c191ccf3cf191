"""An object store over HTTP with the limits of a shared storage system, which are emulated; run it as a program.

    python -m course_lib.storage.object_store FOLDER --operations-per-s 400 --latency-ms 10 --MB-per-s 20 --queue 64

serves the files of FOLDER: `GET /name` answers with 200 and the bytes, with 404 if there is no such object, and with
503 at once if `queue` requests are being served. Answers are whole objects, whatever part a request asks for (Range);
one whose client does not read takes the memory of a piece, not of the object. HTTP is aiohttp's; the disk under it is
this machine's own.

Of the course this file imports `checks` alone, so that a server starts without loading torch.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import os
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from course_lib.checks import positive

_NO_NAMES = (errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL)
_PIECE_BYTES = 2**18


class Pace:
    """When a request would be done on a storage of these limits.

    Metadata operations are done one after the other; each takes 1 / `operations_per_s`. Then the latency passes, for
    many requests at the same time. Then the bytes cross one link, an object after the other.
    """

    def __init__(self, operations_per_s: float, latency_s: float, bytes_per_s: float) -> None:
        positive(operations_per_s=operations_per_s, bytes_per_s=bytes_per_s)
        self.operation_s = 1 / operations_per_s
        self.latency_s = latency_s
        self.bytes_per_s = bytes_per_s
        self._metadata_free_s = self._link_free_s = 0.0

    def end_s(self, now_s: float, sent_bytes: int) -> float:
        """The time at which a request that comes now has its last byte; requests come in the order of the calls.

        >>> pace = Pace(operations_per_s=100, latency_s=0.5, bytes_per_s=1000)
        >>> [pace.end_s(0.0, 100) for _ in range(2)]
        [0.61, 0.71]
        """
        self._metadata_free_s = max(now_s, self._metadata_free_s) + self.operation_s
        found_s = self._metadata_free_s + self.latency_s
        self._link_free_s = max(found_s, self._link_free_s) + sent_bytes / self.bytes_per_s
        return self._link_free_s


class Store:
    """Answers requests for the files of `folder`, at most `queue` at a time, each when `pace` says.

    Args:
        log: a line for each request is appended here: when it came and ended, the status, the bytes, the name.
    """

    def __init__(self, folder: Path, pace: Pace, queue: int, log: Path | None = None) -> None:
        self.folder = folder.resolve()
        self.pace, self.queue = pace, queue
        self.in_flight = 0
        # Without a buffer, and before the answer: whatever a client has is on record, even if this process is killed.
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if log else None

    def application(self) -> web.Application:
        """What aiohttp serves."""
        application = web.Application()
        application.router.add_get("/{name:.+}", self.answer)
        return application

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Serve one request, or refuse it at once."""
        came_ns = time.monotonic_ns()
        if self.in_flight >= self.queue:
            return await self._send(request, 503, None, came_ns)
        self.in_flight += 1
        try:
            path = self._find(request.match_info["name"])
            path = path if path and path.is_file() else None
            await self._pass_time(path.stat().st_size if path else 0)
            return await self._send(request, 200 if path else 404, path, came_ns)
        finally:
            self.in_flight -= 1

    async def _pass_time(self, sent_bytes: int) -> None:
        await asyncio.sleep(self.pace.end_s(time.monotonic(), sent_bytes) - time.monotonic())

    def _find(self, name: str) -> Path | None:
        """Where the file of this name lies; None: none may have this name."""
        try:
            path = (self.folder / name).resolve()
            path.is_file()  # which refuses what no name can be
            return path if path.is_relative_to(self.folder) else None
        except (ValueError, RuntimeError):  # a name with a zero byte in it; links in a circle
            return None
        except OSError as error:
            if error.errno in _NO_NAMES:
                return None
            raise

    async def _send(self, request: web.Request, status: int, path: Path | None, came_ns: int) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Accept-Ranges": "none"})
        with contextlib.ExitStack() as cleaning:
            file = cleaning.enter_context(open(path, "rb", buffering=0)) if path else None
            response.content_length = os.fstat(file.fileno()).st_size if file else 0
            self._note(request, response, came_ns)
            cleaning.enter_context(contextlib.suppress(ConnectionError))  # the client has hung up, and is not told
            await response.prepare(request)
            while file is not None and (piece := file.read(_PIECE_BYTES)):
                await response.write(piece)  # waits while the client does not read
            await response.write_eof()
        return response

    def _note(self, request: web.Request, response: web.StreamResponse, came_ns: int) -> None:
        if self._log is not None:
            size, name = response.content_length, quote(request.match_info["name"])
            os.write(self._log, f"{came_ns} {time.monotonic_ns()} {response.status} {size} {name}\n".encode())


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until somebody ends this process."""
    about = "Serve the files of a folder over HTTP, with the limits of a shared storage system (emulated)."
    parser = argparse.ArgumentParser(prog="python -m course_lib.storage.object_store", description=about)
    parser.add_argument("folder", type=Path, help="its files are the objects")
    parser.add_argument("--operations-per-s", type=float, default=1e6, help="metadata operations a second")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="what each request waits beside them")
    parser.add_argument("--MB-per-s", type=float, default=1e6, help="bandwidth of all answers together")
    parser.add_argument("--queue", type=int, default=1000, help="requests at a time; what comes beyond gets 503")
    parser.add_argument("--port", type=int, default=0, help="0: a free one; the address is printed")
    parser.add_argument("--log", type=Path, help="a file that gets a line for each request")
    parser.add_argument("--with-parent", action="store_true", help="end when the standard input is closed")
    given = parser.parse_args(arguments)
    pace = Pace(given.operations_per_s, given.latency_ms / 1e3, given.MB_per_s * 1e6)
    store = Store(given.folder, pace, given.queue, given.log)
    if given.with_parent:
        threading.Thread(target=_end_with_input, daemon=True).start()
    with contextlib.suppress(ImportError, OSError, ValueError):  # each client has a connection, each answer a file
        import resource

        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with _listen(given.port) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]} serves {given.folder}", flush=True)
        web.run_app(store.application(), sock=listening, print=None, access_log=None, shutdown_timeout=0.5)


def _listen(port: int) -> socket.socket:
    # Whoever started this server may hold its port reserved, see `ObjectStore`.
    return socket.create_server(("127.0.0.1", port), backlog=1024, reuse_port=hasattr(socket, "SO_REUSEPORT"))


def _end_with_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
