"""An asynchronous parameter server on processes, ours against one of Ray's actors, and how ours grows with shards."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks.row import Row, row_of
from course_lib.parameter_server import Server, Worker, asynchronous, run_actor, shard_length, shard_plan
from course_lib.parameter_server.fault_tolerance import Durable, Member, WriteAheadLog, ZmqMailbox, run_members

__all__ = ["measure"]

_WORKERS = 4
_PORT = 125e6  # bytes per second: 1 Gbit/s
_SKIPPED = 0.2  # the first part of each run, while processes still start, is not counted
# Parameters -> numbers in a row, updates in a run.
_SIZES = {"2.6 KB": (650, 3000), "1 MiB": (2**18, 800)}


def measure(rounds: int = 5) -> Iterator[Row]:
    """Updates a second: of ours and of Ray's in turns; then of ours with shards, and with a log, in turns."""
    yield from _against_ray(rounds)
    yield from _among_ourselves(3)


def _against_ray(rounds: int) -> Iterator[Row]:
    actors = _start_ray()
    try:
        for label, (length, updates) in _SIZES.items():
            actors(length, updates // 4)  # the first run loads libraries
            pairs = [(_ours(length, updates), actors(length, updates // 4)) for _ in range(rounds)]
            ours, theirs = zip(*pairs, strict=True)
            about = f"asynchronous, {_WORKERS} workers, {label}"
            yield _row(f"{about}, ours", ours, "updates/s")
            yield _row(f"{about}, Ray", theirs, "updates/s")
            ratios = [mine / peer for mine, peer in pairs]
            yield _row(f"updates a second, ours over Ray's, {_WORKERS} workers, {label}", ratios, "x", "at least 1")
    finally:
        import ray

        ray.shutdown()


@dataclass(frozen=True)
class _Way:
    """How servers work: `bytes_per_s` emulates the port through which their gradients come."""

    servers: int = 1
    logs: bool = False
    bytes_per_s: float = math.inf


def _among_ourselves(rounds: int) -> Iterator[Row]:
    """Shards, on this machine's cores and behind emulated ports, and a log: each over one plain server."""
    for label, (length, updates) in _SIZES.items():
        ways = {
            "1 server": _Way(),
            "2 servers": _Way(2),
            "4 servers": _Way(4),
            "1 server that logs first": _Way(logs=True),
        }
        yield from _over_the_first(f"{_WORKERS} workers, {label}", ways, length, updates, rounds)
    ways = {f"{servers} server{'s' if servers > 1 else ''}": _Way(servers, bytes_per_s=_PORT) for servers in (1, 2, 4)}
    about = f"{_WORKERS} workers, 1 MiB, each server behind 1 Gbit/s (emulated)"
    yield from _over_the_first(about, ways, 2**18, 300, rounds)


def _over_the_first(about: str, ways: dict[str, _Way], length: int, updates: int, rounds: int) -> Iterator[Row]:
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(_ours(length, updates, way))
    first, *others = found
    for name in others:
        ratios = [rate / one for rate, one in zip(found[name], found[first], strict=True)]
        yield _row(f"updates a second, {name} over {first}, {about}", ratios, "x")


def _ours(length: int, updates: int, way: _Way = _Way()) -> float:
    """Updates a second of the slowest server; an update is made when all servers have made it."""
    servers, plan = way.servers, shard_plan([length], way.servers)

    def optimizer(parameters: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        if math.isfinite(way.bytes_per_s):
            time.sleep(4 * len(gradient) / way.bytes_per_s)
        return torch.sub(parameters, gradient, alpha=0.1)

    def serve(member: Member) -> float:
        torch.set_num_threads(1)
        workers = range(servers, servers + _WORKERS)
        zeros = torch.zeros(shard_length(plan[member.rank]))
        server = Server(member.rank, zeros, asynchronous(), workers, optimizer, updates=updates)
        log = WriteAheadLog(Path(member.folder) / f"log-{member.rank}") if way.logs else None
        mailbox = ZmqMailbox(member.folder, member.rank)
        run_actor(mailbox, server if log is None else Durable(server, log, keep_every=updates + 1))
        return _rate([update.at_s for update in server.log])

    def work(member: Member) -> None:
        torch.set_num_threads(1)
        gradient = torch.ones(length)
        mailbox = ZmqMailbox(member.folder, member.rank, calls=range(servers))
        run_actor(mailbox, Worker(member.rank, dict(enumerate(plan)), lambda parameters, clock: gradient))

    programs = {rank: serve if rank < servers else work for rank in range(servers + _WORKERS)}
    found = run_members(programs, timeout_s=120.0)
    return min(found[rank] for rank in range(servers))


def _start_ray():
    """Ray with an actor as its server: returns a function as `_ours`. One call pushes and pulls, as ours does."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    import ray

    ray.init(num_cpus=_WORKERS + 1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")

    @ray.remote
    class Actor:
        def __init__(self, length: int) -> None:
            self.parameters, self.times = np.zeros(length, np.float32), []

        def step(self, gradient: np.ndarray) -> np.ndarray:
            self.parameters = self.parameters - np.float32(0.1) * gradient
            self.times.append(time.perf_counter())
            return self.parameters

        def rate(self) -> float:
            return _rate(self.times)

    @ray.remote
    def work(actor, length: int, updates: int) -> None:
        gradient = np.ones(length, np.float32)
        for _ in range(updates):
            ray.get(actor.step.remote(gradient))

    def run_actors(length: int, updates: int) -> float:
        actor = Actor.remote(length)
        ray.get([work.remote(actor, length, updates // _WORKERS) for _ in range(_WORKERS)])
        return ray.get(actor.rate.remote())

    return run_actors


def _rate(times: list[float]) -> float:
    """Updates a second, of the moments of all updates."""
    first = int(len(times) * _SKIPPED)
    return (len(times) - 1 - first) / (times[-1] - times[first])


def _row(what: str, values: Sequence[float], unit: str, goal: str = "") -> Row:
    return row_of("parameter server", what, values, unit, goal)
