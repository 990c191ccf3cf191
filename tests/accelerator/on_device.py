"""`@on_device`: a test whose body runs in a process of its own, in which there is the device "pretend".

One process imports the device and the test's module, and forks for each test. So no test changes what another one sees,
a test that hangs is ended and says where it stood, and no other test of the course finds an accelerator.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import functools
import importlib.util
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

PATIENCE_S = 100  # no test takes more than seconds, but a machine may be busy
_BEGIN_S = 1000  # the first process of all compiles the device


def on_device(test: Callable[..., None]) -> Callable[..., None]:
    """The test as pytest sees it: its arguments travel to the other process, its failure comes back as a text."""

    @functools.wraps(test)
    def there(**arguments: Any) -> None:
        from compiled import why_not

        if why := why_not():
            pytest.skip(why)
        failure = _process().call(test.__code__.co_filename, test.__name__, arguments)
        if failure:
            pytest.fail(failure, pytrace=False)

    return there


class _Process:
    """The process that has the device, and what it is asked."""

    def __init__(self) -> None:
        here, there = multiprocessing.Pipe()
        command = [sys.executable, __file__, str(there.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[there.fileno()], start_new_session=True)
        there.close()
        self._pipe, self._patience_s = here, _BEGIN_S

    def call(self, file: str, name: str, arguments: dict[str, Any]) -> str:
        """Run a test there; returns how it failed, "" if it passed."""
        stands = Path(tempfile.gettempdir()) / f"on_device-{self._process.pid}"
        self._pipe.send((file, name, arguments, str(stands)))
        try:
            if self._pipe.poll(self._patience_s + PATIENCE_S):
                self._patience_s = 0
                return str(self._pipe.recv())
            failure = f"no end after {PATIENCE_S} s; it stands\n{stands.read_text() if stands.exists() else 'nowhere'}"
        except EOFError:
            failure = f"the process with the device has ended: {self._process.wait()}"
        self.close()
        return failure

    def close(self) -> None:
        """End it, and whatever it has begun."""
        _process.cache_clear()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._pipe.close()


@functools.cache
def _process() -> _Process:
    process = _Process()
    atexit.register(process.close)
    return process


def _serve(pipe: Connection) -> None:
    """Fork for each test that is asked for, until nobody asks any more."""
    with contextlib.suppress(EOFError):
        while True:
            file, name, arguments, stands = pipe.recv()
            try:
                test = getattr(_module(file), name).__wrapped__
            except BaseException:
                pipe.send(traceback.format_exc())
                continue
            if not (child := os.fork()):
                _run(pipe, functools.partial(test, **arguments), stands)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status:
                pipe.send(f"the test's process has ended with {status}")


def _run(pipe: Connection, test: Callable[[], None], stands: str) -> None:
    """The life of a test's process."""
    import torch

    # After a fork torch makes its pool of threads anew when somebody first asks; two threads of devices that ask at the
    # same moment end the process ("Invalid thread pool!"). So this one asks first.
    torch.set_num_threads(1)
    failure = ""
    with open(stands, "w") as file:
        faulthandler.dump_traceback_later(PATIENCE_S - 10, file=file)
        signal.alarm(2 * PATIENCE_S)
        try:
            test()
        except BaseException:
            failure = traceback.format_exc()
        faulthandler.cancel_dump_traceback_later()
    os.unlink(stands)
    pipe.send(failure)
    os._exit(0)


@functools.cache
def _module(file: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    asking, here = Connection(int(sys.argv[1])), Path(__file__).parent
    sys.path[:0] = [str(here), str(here.parents[1])]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(here / "autoload"), *sys.path[:2]])  # of the ranks of `run`
    import torch
    import torch.distributed.tensor  # torch.testing asks for it: here once, and not in each test's process

    torch.set_num_threads(1)
    import pretend  # noqa: F401  (for the whole process: this is what it is for)

    sys.modules["on_device"] = sys.modules["__main__"]
    _serve(asking)
