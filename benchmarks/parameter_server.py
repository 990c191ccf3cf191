"""An asynchronous parameter server on processes, ours against one of Ray's actors, and how ours grows with shards."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from benchmarks.row import Row
from course_lib.parameter_server import (
    Durable,
    Journal,
    Member,
    Server,
    Sgd,
    Worker,
    ZmqMailbox,
    asynchronous,
    converse,
    run_members,
    shard_length,
    shard_plan,
)

__all__ = ["measure"]

_WORKERS = 4
_SKIPPED = 0.2  # the first part of each run, while processes still start, is not counted
# Parameters -> numbers in a row, updates in a run.
_SIZES = {"2.6 KB": (650, 3000), "1 MiB": (2**18, 800)}


def measure(rounds: int = 5) -> Iterator[Row]:
    """Updates a second: of ours and of Ray's in turns; then of ours with shards, and with a log, in turns."""
    yield from _against_ray(rounds)
    yield from _among_ourselves(rounds)


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


def _among_ourselves(rounds: int) -> Iterator[Row]:
    ways: dict[str, tuple[int, bool]] = {"1 server": (1, False), "2 servers": (2, False), "4 servers": (4, False)}
    ways |= {"1 server that logs first": (1, True)}
    for label, (length, updates) in _SIZES.items():
        found: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, (servers, logs) in ways.items():
                found[name].append(_ours(length, updates, servers, logs))
        for name in list(ways)[1:]:
            ratios = [rate / one for rate, one in zip(found[name], found["1 server"], strict=True)]
            yield _row(f"updates a second, {name} over 1, {_WORKERS} workers, {label}", ratios, "x")


def _ours(length: int, updates: int, servers: int = 1, logs: bool = False) -> float:
    """Updates a second of the slowest server; an update is made when all servers have made it."""
    plan = shard_plan([length], servers)

    def serve(member: Member) -> float:
        torch.set_num_threads(1)
        workers = range(servers, servers + _WORKERS)
        zeros = torch.zeros(shard_length(plan[member.rank]))
        server = Server(member.rank, zeros, asynchronous(), workers, Sgd(0.1), updates=updates)
        journal = Journal(Path(member.folder) / f"journal-{member.rank}") if logs else None
        mailbox = ZmqMailbox(member.folder, member.rank)
        converse(mailbox, server if journal is None else Durable(server, journal, keep_every=updates))
        return _rate([update.at_s for update in server.log])

    def work(member: Member) -> None:
        torch.set_num_threads(1)
        gradient = torch.ones(length)
        mailbox = ZmqMailbox(member.folder, member.rank, calls=range(servers))
        converse(mailbox, Worker(member.rank, dict(enumerate(plan)), lambda parameters, clock: gradient))

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


def _row(what: str, values, unit: str, goal: str = "") -> Row:
    return Row("parameter server", what, statistics.median(values), unit, (min(values), max(values)), goal)
