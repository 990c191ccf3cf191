"""The simulator: the time and memory of a ring all-reduce over many ranks, beside SimGrid's Python where there is one.

(Debian's `python3-simgrid`, or the package `simgrid` of PyPI, which is compiled where it is installed.)
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator

import torch

from benchmarks.row import Row, row_of
from course_lib import Network, simulate
from course_lib.collectives import ring_all_reduce

__all__ = ["measure"]

_GOALS = {64: "", 256: "at most 1", 1024: "at most 10"}
_NETWORK = Network(latency_s=5e-6, bytes_per_s=12.5e9)
_TENSOR_BYTES = 2**26


def measure(rounds: int = 3) -> Iterator[Row]:
    """Seconds, microseconds a message (a constant one means a cost linear in messages), and peak memory."""
    for world_size, goal in _GOALS.items():
        with multiprocessing.get_context("forkserver").Pool(1) as fresh:
            seconds, messages, peak_bytes = fresh.apply(_simulated, (world_size, rounds))
        what = f"ring all-reduce of {world_size:,} ranks, {messages:,} messages"
        yield row_of("simulator", what, seconds, "s", goal)
        per_message = [second / messages * 1e6 for second in seconds]
        yield row_of("simulator", f"one message among {world_size:,} ranks", per_message, "µs")
    megabytes = peak_bytes / 1e6
    what = f"peak memory of {world_size:,} ranks, above that of 64"
    yield row_of("simulator", what, [megabytes], "MB")
    if importlib.util.find_spec("simgrid"):
        yield from _beside_simgrid(64, rounds)


def _beside_simgrid(world_size: int, rounds: int) -> Iterator[Row]:
    """SimGrid keeps one simulation a process, so each round has a fresh one; both must find the same time."""
    ratios = []
    for _ in range(rounds):
        with multiprocessing.get_context("forkserver").Pool(1) as fresh:
            theirs_s, found_s = fresh.apply(_by_simgrid, (world_size,))
            (ours_s,), _, _ = fresh.apply(_simulated, (world_size, 1))
        due_s = 2 * (world_size - 1) * (_NETWORK.latency_s + _TENSOR_BYTES / world_size / _NETWORK.bytes_per_s)
        assert abs(found_s / due_s - 1) < 1e-9, f"SimGrid found {found_s} s, the formula gives {due_s} s"
        ratios.append(ours_s / theirs_s)
    what = f"ring all-reduce of {world_size} ranks, the same simulated time: ours over SimGrid's Python"
    yield row_of("simulator", what, ratios, "x")


def _simulated(world_size: int, rounds: int) -> tuple[list[float], int, int]:
    """Seconds of each round, its number of messages, and the bytes by which peak memory grew; in a fresh process."""
    tensor = torch.empty(_TENSOR_BYTES // 4, device="meta")
    simulate(ring_all_reduce, 64, args=(tensor,), network=_NETWORK)
    before_bytes, seconds = _peak_bytes(), []
    for _ in range(rounds):
        began_s = time.perf_counter()
        report = simulate(ring_all_reduce, world_size, args=(tensor,), network=_NETWORK)
        seconds.append(time.perf_counter() - began_s)
    return seconds, len(report.trace.messages), _peak_bytes() - before_bytes


def _by_simgrid(world_size: int) -> tuple[float, float]:
    """Seconds that the simulation of a ring all-reduce takes, and the seconds that it finds; a link a rank."""
    from simgrid import Actor, Engine, LinkInRoute, Mailbox, NetZone

    settings = ("network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0")  # no more than α + βn
    engine = Engine(["bench", "--log=root.thresh:warning", *(f"--cfg={each}" for each in settings)])
    zone = NetZone.create_star_zone("all")
    hosts = [zone.create_host(f"host {rank}", 1e9) for rank in range(world_size)]
    for rank, host in enumerate(hosts):
        link = zone.create_link(f"out of {rank}", _NETWORK.bytes_per_s).set_latency(_NETWORK.latency_s).seal()
        zone.add_route(host.netpoint, None, None, None, [LinkInRoute(link)], False)
        back = zone.create_link(f"into {rank}", _NETWORK.bytes_per_s).set_latency(0).seal()
        zone.add_route(None, host.netpoint, None, None, [LinkInRoute(back)], False)
    zone.seal()

    def ring(rank: int) -> None:
        right, own = (Mailbox.by_name(str(each)) for each in ((rank + 1) % world_size, rank))
        for step in range(2 * (world_size - 1)):
            sent = right.put_async(step, _TENSOR_BYTES // world_size)
            own.get()
            sent.wait()

    for rank, host in enumerate(hosts):
        Actor.create(f"rank {rank}", host, ring, rank)
    began_s = time.perf_counter()
    engine.run()
    return time.perf_counter() - began_s, engine.clock


def _peak_bytes() -> int:
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit_bytes
