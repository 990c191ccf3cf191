"""`course run`: a program on the ranks that torchrun has started, on one machine or many, on Gloo or NCCL.

Without torchrun the same program runs as one rank. Every rank is a process that torchrun supervises; nothing here
starts, restarts or ends one.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from course_lib.comm.devices import device_of, use
from course_lib.comm.errors import CommError, RankError, is_echo, unmatched_error
from course_lib.comm.processes.machine import (
    LOOPBACK,
    STREAMED,
    Position,
    choose_backend,
    find_position,
    interface_to_others,
    under_torchrun,
)
from course_lib.comm.program import seed_rank
from course_lib.comm.source_location import cause_text, explain, raised_in, text_of
from course_lib.comm.trace import Report
from course_lib.comm.transport.batched import BatchedCommunicator, backends_for, meet
from course_lib.comm.transport.board import ENDED, FAILED
from course_lib.comm.transport.communicator import ProcessCommunicator
from course_lib.comm.transport.deadlock import Watch, watch
from course_lib.comm.transport.log import Log, carried, merge

_ALONE = (
    "One rank, because torchrun did not start this process. Four ranks on this machine:\n  torchrun --nproc-per-node 4"
)

_GRACE_S = 3.0  # a rank that only saw a peer vanish lets the cause be reported first; torchrun mostly ends it meanwhile

_ECHO = "another rank vanished during a message; what it said itself is the cause"


class _Part(NamedTuple):
    """What one rank contributes to the report."""

    result: str
    log: Log
    seconds: float


def find_program(target: str) -> Callable[..., Any]:
    """The function that "module:function" names; modules of the current folder are found too.

    Raises:
        ValueError: if the text has another form, or there is no such module or function.
    """
    name, colon, function = target.partition(":")
    if not (name and colon and function):
        raise ValueError(f"say which function of which module to run, as module:function, got {target!r}")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0] and error.name != name:
            raise  # the module is there; it misses another one
        raise ValueError(f"there is no module {name!r} in {os.getcwd()} or on the Python path") from error
    program = getattr(module, function, None)
    if not callable(program):
        raise ValueError(f"module {name!r} has no function {function!r}")
    return program


def run_target(
    target: str,
    args: Sequence[Any] | Mapping[str, Any] = (),
    trace_path: str | Path | None = None,
    device: str = "auto",
) -> Report | None:
    """Run `function(comm, *args)` of "module:function" on this rank; rank 0 prints and returns the report.

    `args` may be a mapping of named arguments. Times begin, on every rank's own clock, when it leaves a common
    barrier. The results of the report are texts.

    Raises:
        RankError: if the program raises on this rank; torchrun then ends the others.
        UnmatchedError: on rank 0, if messages are left over at the end.
    """
    program = find_program(target)
    position = find_position()
    if not under_torchrun():
        print(f"{_ALONE} -m course_lib run {target}\n", flush=True)
    backend, on_gpu, words = choose_backend(device, position.local_world_size, emulated=False)
    where = device_of(position.local_rank, on_gpu)
    _join(position, backend, where)
    watching = watch(position.rank, position.world_size, _give_up)
    part = _run(program, args, _communicator(position, backend, where, watching), watching)
    parts = _gather(part, position)
    dist.barrier()
    if watching is not None:
        watching.close()
    dist.destroy_process_group()
    if on_gpu and (counts := carried([part.log for part in parts])):
        words = f"{words}: {counts}"
    return _report(parts, words, position, trace_path) if position.rank == 0 else None


def tell_agent(error: BaseException) -> None:
    """Leave torchrun's agent what its own summary shows of this rank: the first lines of the error."""
    if path := os.environ.get("TORCHELASTIC_ERROR_FILE"):
        text = f"{type(error).__name__}: {text_of(error)}".split("\n\n")[0]
        more = {"py_callstack": text, "timestamp": str(int(time.time()))}
        Path(path).write_text(json.dumps({"message": {"message": text, "extraInfo": more}}))


def _give_up(error: CommError) -> None:
    """Exit: this rank is in a deadlock."""
    print(error.full_text(), file=sys.stderr, flush=True)
    tell_agent(error)
    os._exit(1)


def _join(position: Position, backend: str, device: torch.device) -> None:
    """Join the other ranks' process group, and see that all chose the same backend."""
    one_machine = position.world_size == position.local_world_size
    if "GLOO_SOCKET_IFNAME" not in os.environ and (name := LOOPBACK if one_machine else interface_to_others()):
        os.environ["GLOO_SOCKET_IFNAME"] = name
    use(device)
    store = None if under_torchrun() else dist.HashStore()
    dist.init_process_group(
        backends_for(backend, device), store=store, rank=position.rank, world_size=position.world_size
    )
    chosen: list[Any] = [None] * position.world_size
    dist.all_gather_object(chosen, backend)
    if len(set(chosen)) > 1:
        ranks = ", ".join(f"rank {rank}: {one}" for rank, one in enumerate(chosen))
        raise CommError(f"the machines differ ({ranks}): choose with --device cpu or --device gpu")


def _communicator(
    position: Position, backend: str, device: torch.device, watching: Watch | None
) -> ProcessCommunicator:
    meet(backend, device)
    kind = BatchedCommunicator if backend in STREAMED else ProcessCommunicator
    board = watching.board if watching else None
    return kind(position.rank, position.world_size, board, time.perf_counter(), device)


def _run(
    program: Callable[..., Any],
    args: Sequence[Any] | Mapping[str, Any],
    comm: ProcessCommunicator,
    watching: Watch | None,
) -> _Part:
    seed_rank(comm.rank)
    named = dict(args) if isinstance(args, Mapping) else {}
    try:
        result = program(comm, *(() if named else args), **named)
        comm.end()
        part = _Part(repr(result), comm.log, comm.now())
    except BaseException as error:  # sys.exit() too: this rank would leave, and its peers would be blamed
        failure = _failure(comm.rank, error)
    else:
        if watching is not None:
            watching.end(ENDED)
        return part
    if isinstance(failure, RankError) and is_echo(failure.cause_text):
        time.sleep(_GRACE_S)  # a watch may say more about it
        failure = RankError(comm.rank, failure.cause_type, _ECHO, failure.where)
    elif watching is not None:
        watching.end(FAILED)
    if not under_torchrun():
        dist.destroy_process_group()
    raise failure


def _failure(rank: int, error: BaseException) -> CommError:
    """What a program has raised, in words: its own line first."""
    if isinstance(error, CommError) and raised_in(error, ProcessCommunicator.arrived):
        return error
    where, details = explain(error)
    return RankError(rank, type(error).__name__, cause_text(error), where, details * isinstance(error, Exception))


def _gather(part: _Part, position: Position) -> list[_Part]:
    """All ranks' parts on rank 0, nothing elsewhere."""
    parts: list[Any] | None = [None] * position.world_size if position.rank == 0 else None
    dist.gather_object(part, parts)
    return parts or []


def _report(parts: list[_Part], words: str, position: Position, trace_path: str | Path | None) -> Report:
    seconds = max(part.seconds for part in parts)
    trace, left = merge([part.log for part in parts], seconds)
    if trace_path is not None:
        trace.to_chrome(trace_path)
    nodes = -(-position.world_size // position.local_world_size)
    backend = words if nodes == 1 else f"{words} on each of {nodes} nodes"
    report = Report([part.result for part in parts], seconds, trace, "measured", backend)
    print(summary(report), flush=True)
    if left:
        raise unmatched_error(left)
    return report


def summary(report: Report) -> str:
    """The report as a table: one line for each rank, at most 32 of them."""
    trace = report.trace
    ranks = "1 rank" if trace.world_size == 1 else f"{trace.world_size} ranks"
    lines = [
        f"{ranks}, {report.backend}: {report.seconds:.6f} s ({report.origin}), "
        f"{len(trace.messages)} messages in {trace.steps} steps, {trace.total_bytes} bytes",
        f"{'rank':>6} {'messages sent':>14} {'bytes sent':>14} {'received':>14} {'waiting s':>10}  result",
    ]
    columns = zip(trace.messages_sent, trace.bytes_sent, trace.bytes_received, trace.waiting_s, strict=True)
    for rank, (messages, sent, received, waiting_s) in enumerate(list(columns)[:32]):
        result = str(report.results[rank])
        shown = result if len(result) <= 60 else result[:57] + "..."
        lines.append(f"{rank:>6} {messages:>14} {sent:>14} {received:>14} {waiting_s:>10.6f}  {shown}")
    if trace.world_size > 32:
        lines.append(f"   ... and {trace.world_size - 32} more ranks")
    return "\n".join(lines)
