"""The logs of ranks of which one gets into trouble: real processes, whose launcher ends nobody before all have spoken.

`run` ends every rank as soon as one has died, as torchrun does; here the others live on until they notice it.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import torch
import torch.distributed as dist

from course_lib.comm.processes.fork_server import start_process
from course_lib.comm.program import pack, unpack

_LOOK_S, _GRACE_S = 0.01, 1.5
_START_S = 60.0  # how long ranks may take to meet


class LogLine(NamedTuple):
    """A line of a rank's log, and when it was written, in seconds since the first line of all."""

    at_s: float
    rank: int
    words: str


class Logs(NamedTuple):
    """What all ranks wrote, sorted by time, and how the process of each ended.

    `exits` has a word for each rank: "exit code 0", "exit code 1", "signal 9", or "did not end".
    """

    lines: list[LogLine]
    exits: list[str]


@dataclass(frozen=True)
class _Job:
    packed: bytes
    rank: int
    world_size: int
    timeout_s: float
    folder: Path


def logs_of(program: Callable[..., None], world_size: int, timeout_s: float, patience_s: float = 20.0) -> Logs:
    """Start `program(rank, log)` on so many processes; wait until all have ended, or all but one that hangs.

    In the program torch.distributed is initialized (Gloo). `log(words)` writes a line. An error of the program is its
    last line, and then its process ends.

    Args:
        timeout_s: how long a rank waits in a collective before it gives up.
        patience_s: how much longer at most to wait for the others.
    """
    with tempfile.TemporaryDirectory(prefix="course-logs-") as name:
        packed = pack(program, (), None)
        jobs = [_Job(packed, rank, world_size, timeout_s, Path(name)) for rank in range(world_size)]
        processes = [start_process(_live, job).process for job in jobs]
        try:
            give_up_s = time.monotonic() + _START_S + timeout_s + patience_s
            while sum(process.is_alive() for process in processes) > 1 and time.monotonic() < give_up_s:
                time.sleep(_LOOK_S)
            end_s = time.monotonic() + _GRACE_S  # the last one may be about to end
            for process in processes:
                process.join(max(0.0, end_s - time.monotonic()))
            exits = [_how(process.exitcode) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.join()
        return Logs(_sorted(Path(name), world_size), exits)


def _live(job: _Job, link: Connection, output: Connection) -> None:
    program, _, _ = unpack(job.packed)
    torch.set_num_threads(1)
    store = dist.FileStore(str(job.folder / "store"), job.world_size)
    limit = timedelta(seconds=_START_S)
    dist.init_process_group("gloo", store=store, rank=job.rank, world_size=job.world_size, timeout=limit)
    dist.barrier()
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=job.timeout_s))
    code = 0
    with open(job.folder / f"log-{job.rank}", "a", buffering=1) as file:

        def log(words: str) -> None:
            file.write(f"{time.monotonic()} {' '.join(words.split())}\n")

        try:
            program(job.rank, log)
        except Exception as error:
            log(f"{type(error).__name__}: {str(error).split('] ')[-1].split('. ')[0]}")
            code = 1
    os._exit(code)  # as a process that crashes: its connections close, and nobody is told


def _how(code: int | None) -> str:
    if code is None:
        return "did not end"
    return f"signal {signal.Signals(-code).value}" if code < 0 else f"exit code {code}"


def _sorted(folder: Path, world_size: int) -> list[LogLine]:
    """All lines by time."""
    lines = []
    for rank in range(world_size):
        path = folder / f"log-{rank}"
        for line in path.read_text().splitlines() if path.exists() else []:
            at, _, words = line.partition(" ")
            lines.append(LogLine(float(at), rank, words))
    first_s = min((line.at_s for line in lines), default=0.0)
    return sorted(LogLine(at_s - first_s, rank, words) for at_s, rank, words in lines)
