"""Gets ranks for the judge: starts the zygote, asks it for processes, and replaces it when it dies."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.comm.processes.fork_server import HUGE_PAGES
from course_lib.grading.sandbox.confine import Walls

START = "import sys; sys.path[:0] = sys.argv[2:]; from sandbox import zygote; zygote.main(sys.argv[1])"
START_S, ANSWER_S = 90.0, 15.0  # patience with the start, which imports torch, and with an order


class LauncherError(RuntimeError):
    """No rank can be started."""


@dataclass
class RankProcess:
    """A rank: the judge's end of its socket pair, and its number in the zygote's world."""

    socket: socket.socket
    pid: int


@dataclass(frozen=True)
class Exit:
    """How a rank ended.

    Attributes:
        code: its exit code, negative for a signal; None if it was still alive and has been killed.
        used_s: processor time that it has used.
    """

    code: int | None
    used_s: float


class Launcher:
    """Ranks behind these walls. Use it as a context manager.

    Attributes:
        walls: the walls that really stand, known once started.
        notes: why others do not.
    """

    def __init__(self, walls: Walls) -> None:
        self._wanted = walls
        self.walls = walls
        self.notes = list[str]()
        self._insists = False
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    def __enter__(self) -> Launcher:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the zygote and wait until it has loaded torch and tried its walls. Nothing happens if it runs."""
        if self._process is not None and self._process.poll() is None:
            return
        self.stop()
        ours, theirs = socket.socketpair()
        quiet = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG") if name in os.environ}
        packages = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
        command = [
            sys.executable,
            "-I",
            "-c",
            START,
            json.dumps(vars(self._wanted)),
            str(Path(__file__).parents[1]),
            *packages,
        ]
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd="/",
                env=environment | quiet | HUGE_PAGES,
                start_new_session=True,
            )
        self._link = ours
        ours.settimeout(START_S)
        try:
            ready = self._answer()
        except (OSError, LauncherError) as error:
            self._process.kill()
            _, words = self._process.communicate()
            raise LauncherError(f"{error}: {words.decode(errors='replace')[-500:]}") from error
        ours.settimeout(ANSWER_S)
        self.walls, self.notes = Walls(**ready["walls"]), ready["notes"]
        if self._insists and self.walls != self._wanted:
            self.stop()
            raise LauncherError(f"walls that stood before do not stand any more: {'; '.join(self.notes)}")

    def insist(self) -> None:
        """Start from now on with all the walls that are wanted or, once started, that stand; or not at all."""
        self._wanted, self._insists = self.walls, True

    def spawn(self, slot: int, cpu_s: int) -> RankProcess:
        """A new rank that waits for its first frame.

        Raises:
            LauncherError: if it cannot be had, also from a fresh zygote.
        """
        for attempt in (1, 2):
            ours, theirs = socket.socketpair()
            try:
                self.start()
                assert self._link is not None
                order = json.dumps({"do": "spawn", "slot": slot, "cpu_s": cpu_s}).encode()
                with theirs:
                    socket.send_fds(self._link, [order], [theirs.fileno()])
                return RankProcess(ours, self._answer()["pid"])
            except (OSError, LauncherError) as error:
                ours.close()
                self.stop()
                if attempt == 2:
                    raise LauncherError(f"could not start a rank: {error}") from error
        raise AssertionError("unreachable")

    def used_s(self, ranks: list[RankProcess]) -> float | None:
        """Processor time of these ranks so far, all together; None where the system does not say."""
        try:
            return self._ask({"do": "used", "pids": [rank.pid for rank in ranks]})["used_s"]
        except (OSError, LauncherError):
            return None

    def end(self, ranks: list[RankProcess], gone: int | None = None) -> list[Exit] | None:
        """Kill these ranks; returns how each ended, or None if that is not known, for the zygote has died.

        `gone` is the number of the rank that has hung up by itself, if one has.
        """
        for rank in ranks:
            rank.socket.close()
        pids = [rank.pid for rank in ranks]
        try:
            exits = self._ask({"do": "end", "pids": pids, "gone": None if gone is None else pids[gone]})["exits"]
            return [Exit(*each) for each in exits]
        except (OSError, LauncherError):
            self.stop()
            return None

    def stop(self) -> None:
        """End the zygote and with it every rank."""
        if self._link is not None:
            self._link.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stderr is not None
            self._process.stderr.close()
        self._process = self._link = None

    def _ask(self, order: dict[Any, Any]) -> dict[Any, Any]:
        if self._link is None:
            raise LauncherError("nothing runs")
        self._link.sendall(json.dumps(order).encode())
        return self._answer()

    def _answer(self) -> dict[Any, Any]:
        assert self._link is not None
        line = b""
        while not line.endswith(b"\n"):
            more = self._link.recv(4096)
            if not more:
                raise LauncherError("the process that starts ranks has died")
            line += more
        return json.loads(line)
