"""The process of one rank: it joins the process group, runs the program, and sends its result or its exception."""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import os
import pickle
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import torch
import torch.distributed as dist

from course_lib.comm.devices import CPU, device_of, moved, use
from course_lib.comm.errors import CommError
from course_lib.comm.network import Network
from course_lib.comm.processes.machine import STREAMED
from course_lib.comm.processes.pipes import SharedPipe
from course_lib.comm.processes.startup import Surroundings, settle
from course_lib.comm.program import pack_result, seed_rank, unpack, with_hint
from course_lib.comm.source_location import cause_text, explain, is_of_the_call, locate, raised_in
from course_lib.comm.transport.batched import BatchedCommunicator, backends_for, meet
from course_lib.comm.transport.board import Board
from course_lib.comm.transport.communicator import ProcessCommunicator
from course_lib.comm.transport.emulated import EmulatedCommunicator, Post
from course_lib.comm.transport.log import Log

_KEPT: list[ProcessCommunicator] = []  # messages under way die with their communicator, so it outlives the program
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of glibc's mallopt
_LONGEST_S = 1e8  # three years: torch.distributed counts time-outs in a type that has no infinity
LEAD_S = 0.005  # emulated ranks begin together, this long after the last one is ready


@dataclass(frozen=True)
class RunPlan:
    """What all ranks of a run need to know."""

    world_size: int
    packed: bytes
    network: Network | None
    backend: str
    on_gpu: bool
    timeout_s: float
    called_at: str  # the student's line that called run, in words


@dataclass(frozen=True)
class RankJob:
    """All that one rank needs to know."""

    rank: int
    surroundings: Surroundings
    plan: RunPlan


@dataclass(frozen=True)
class Finished:
    """A rank's answer: its packed result, its log, and when it was done, on its own clock and on the real one."""

    packed: bytes
    log: Log
    seconds: float
    elapsed_s: float


@dataclass(frozen=True)
class Failed:
    """A rank's exception in words; `error` is it itself if it is one of ours, about this run."""

    cause_type: str
    cause_text: str
    where: str
    details: str
    error: CommError | None


@dataclass(frozen=True)
class Raised:
    """What a started function has raised and its program does not know yet; None once it does."""

    failed: Failed | None


def live(job: RankJob, link: Connection, output: Connection) -> None:
    """Be rank `job.rank`: join the others, run the program, answer through `link`, and wait to be ended."""
    pipe = SharedPipe(link)
    settle(job.surroundings, job.rank, output)
    _keep_freed_memory()
    try:
        answer: Finished | Failed = _work(job, pipe)
    except BaseException as error:
        answer = _failed(error, job)
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    pipe.send(answer)
    threading.Event().wait()  # the others may still need our sockets; the parent ends us


def _work(job: RankJob, pipe: SharedPipe) -> Finished:
    plan = job.plan
    seed_rank(job.rank)
    os.environ.update(RANK=str(job.rank), LOCAL_RANK=str(job.rank), WORLD_SIZE=str(plan.world_size))
    device = device_of(job.rank, plan.on_gpu)
    use(device)
    program, args, kwargs = unpack(plan.packed)
    folder = Path(job.surroundings.folder)
    board = Board(folder / "board", plan.world_size)
    store = dist.FileStore(str(folder / "store"), plan.world_size)
    limit = datetime.timedelta(seconds=min(plan.timeout_s + 30, _LONGEST_S))
    dist.init_process_group(
        backends_for(plan.backend, device), store=store, rank=job.rank, world_size=plan.world_size, timeout=limit
    )
    comm = _communicator(job, pipe, board, device)
    comm.on_error = lambda error: pipe.send(Raised(_failed(error, job) if error is not None else None))
    _KEPT.append(comm)
    if plan.on_gpu:
        args, kwargs = moved(args, device), moved(kwargs, device)
    comm.begin()
    result = program(comm, *args, **kwargs)
    comm.end()
    seconds, elapsed_s = comm.now(), comm.elapsed()
    result = moved(result, CPU) if plan.on_gpu else result
    return Finished(pack_result(result, job.rank), comm.log, seconds, elapsed_s)


def _communicator(job: RankJob, pipe: SharedPipe, board: Board, device: torch.device) -> ProcessCommunicator:
    """Meet the other ranks and agree on a common start."""
    plan = job.plan
    board.set_ready(job.rank, time.perf_counter())
    meet(plan.backend, device)
    start_s = board.start_s()
    if plan.network is not None:
        _warm_up()
        return EmulatedCommunicator(job.rank, plan.world_size, board, start_s + LEAD_S, plan.network, pipe)
    kind = BatchedCommunicator if plan.backend in STREAMED else ProcessCommunicator
    return kind(job.rank, plan.world_size, board, start_s, device)


def _warm_up() -> None:
    """Warm up what an emulated message needs: a fresh process pays 0.3 ms for the first of everything."""
    for _ in range(3):
        pieces = torch.ones(1024).tensor_split(2)
        pieces[0].add_(torch.empty_like(pieces[1]).copy_(pieces[1]))
        payload = str(pieces[0].dtype), tuple(pieces[0].shape), 0
        post = Post(0, 0, payload, locate().file_and_line, None, "send", 0, 0.0, 0, (), False)
        pickle.loads(pickle.dumps(post))
        pieces[0].detach().clone()


def _failed(error: BaseException, job: RankJob) -> Failed:
    """The exception with the program's own frames, ours left out."""
    location, details = explain(error)
    ours = isinstance(error, CommError) and raised_in(error, ProcessCommunicator.arrived, pack_result)
    where = job.plan.called_at if is_of_the_call(error) else location
    text = with_hint(cause_text(error), error, job.plan.packed, device_of(job.rank, job.plan.on_gpu))
    return Failed(type(error).__name__, text, where, details, cast(CommError, error) if ours else None)


def _keep_freed_memory() -> None:
    """Let glibc keep what large tensors give back, for the next ones: fresh pages from the kernel cost as much time as
    their content on the wire. A rank does not live long."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(_TRIM_THRESHOLD, 2**30)
        libc.mallopt(_MMAP_THRESHOLD, 2**30)
