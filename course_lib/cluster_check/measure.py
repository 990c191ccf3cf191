"""Measurements of the ranks: reachability by TCP, clock offsets, links, all-reduce, speed of a matrix product."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist

from course_lib.checks import at_least
from course_lib.collectives import ring_all_reduce_seconds
from course_lib.comm import Network
from course_lib.comm.devices import wait_for
from course_lib.published import AlphaBeta, Timing, fit_alpha_beta

# --- Reachability by plain TCP, before Gloo tries it for half an hour; and clock offsets.


_PROBE = struct.Struct("!16sd")  # the server's name, and the time on its clock
_CONNECT_S = 3.0
_PROBES = 8


class ProbeAnswer(NamedTuple):
    """What probing a rank gave: the round trip and its clock minus ours, or why nobody answered."""

    seconds: float = 0.0
    clock_offset_s: float = 0.0
    trouble: str = ""


class ProbeServer:
    """A TCP server at this rank's address that tells whoever connects its name and the time on its clock.

    Args:
        address: where to listen.
        name: 16 bytes, this rank's alone; at a wrong address another rank's server may answer.
    """

    def __init__(self, address: str, name: bytes) -> None:
        self._name = name
        self._socket = socket.create_server((address, 0), backlog=256)
        self.port = int(self._socket.getsockname()[1])
        threading.Thread(target=self._answer, name="probe server", daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()

    def _answer(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                guest, _ = self._socket.accept()
                threading.Thread(target=self._talk, args=(guest,), daemon=True).start()

    def _talk(self, guest: socket.socket) -> None:
        with guest, contextlib.suppress(OSError):
            while guest.recv(1):
                guest.sendall(_PROBE.pack(self._name, time.time()))


def probe(address: str, port: int, name: bytes) -> ProbeAnswer:
    """Probe a rank's server several times by TCP; the quickest round trip gives the best estimate of its clock.

    The other clock was read somewhere within the round trip; its middle is off by half of it at most.

    Source: F. Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989.
    """
    best = ProbeAnswer(float("inf"))
    try:
        with socket.create_connection((address, port), timeout=_CONNECT_S) as door:
            door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(_PROBES):
                started_s, at_s = time.perf_counter(), time.time()
                door.sendall(b"?")
                who, clock_s = _PROBE.unpack(_read(door, _PROBE.size))
                took_s = time.perf_counter() - started_s
                if who != name:
                    return ProbeAnswer(trouble="somebody else answers there")
                if took_s < best.seconds:
                    best = ProbeAnswer(took_s, clock_s - (at_s + took_s / 2))
    except OSError as error:
        return ProbeAnswer(trouble=str(error) or type(error).__name__)
    return best


def _read(door: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        piece = door.recv(count - len(got))
        if not piece:
            raise OSError("somebody who is no rank answers there")
        got += piece
    return got


# --- Latency and bandwidth of each pair of ranks: messages there and back in several sizes, a line through the times.


_PAIR_SIZES = (1_000, 8_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000)
_COMPARED_BYTES = 1_000_000  # every pair is measured up to here, and further if it is quick
_PAIR_S = 0.25
_LEAST, _MOST = 3, 20  # messages of a size, there and back


class RankPair(NamedTuple):
    """Two ranks, the times of their messages by size, and the line through them."""

    one: int
    other: int
    times: list[tuple[int, float]]

    @property
    def line(self) -> AlphaBeta:
        """Latency and rate, fitted as in chapter 02."""
        return fit_alpha_beta(self.times)

    @property
    def bytes_per_s(self) -> float:
        """What a message of 1 MB had, by which pairs are compared."""
        return _COMPARED_BYTES / dict(self.times)[_COMPARED_BYTES]


def rounds_of_pairs(ranks: int) -> Iterator[list[tuple[int, int]]]:
    """Every pair once, in rounds in which each rank has one partner at most: a round-robin tournament.

    One rank stays, the others move up by one place a round. With an odd number one rests.

    >>> list(rounds_of_pairs(4))
    [[(0, 3), (1, 2)], [(0, 2), (1, 3)], [(0, 1), (2, 3)]]
    >>> list(rounds_of_pairs(3))
    [[(1, 2)], [(0, 2)], [(0, 1)]]
    """
    places = list(range(ranks + ranks % 2))
    for _ in range(len(places) - 1):
        met = [(places[i], places[-1 - i]) for i in range(len(places) // 2)]
        yield sorted((min(pair), max(pair)) for pair in met if max(pair) < ranks)
        places = [places[0], places[-1], *places[1:-1]]


def measure_pairs(rank: int, world_size: int, device: torch.device) -> list[RankPair]:
    """Measure the links of all pairs; returns those of which this rank is the lower one. All ranks call it.

    Pairs of a round are measured at one time, as ranks are busy in an all-reduce; those of one machine share its link.
    """
    found = []
    for pairs in rounds_of_pairs(world_size):
        for one, other in pairs:
            if rank == one:
                found.append(RankPair(one, other, _lead(other, device)))
            elif rank == other:
                _follow(one, device)
    return found


def _lead(peer: int, device: torch.device) -> list[tuple[int, float]]:
    """Ping-pong: send messages of one size after another there and back, until it has taken long enough."""
    started_s, times = time.perf_counter(), []
    for size in _PAIR_SIZES:
        tensor = torch.ones(size, dtype=torch.uint8, device=device)
        quickest_s, spent_s = float("inf"), 0.0
        for number in range(_MOST):
            if number >= _LEAST and spent_s > _PAIR_S / 8:
                break
            _tell(peer, size, device)
            there_and_back_s = _timed(lambda tensor=tensor: _there_and_back(tensor, peer), device)  # type: ignore[misc]
            quickest_s, spent_s = min(quickest_s, there_and_back_s), spent_s + there_and_back_s
        times.append((size, quickest_s / 2))
        if size >= _COMPARED_BYTES and time.perf_counter() - started_s > _PAIR_S:
            break
    _tell(peer, 0, device)
    return times


def _follow(peer: int, device: torch.device) -> None:
    size = torch.zeros(1, dtype=torch.int64, device=device)
    while True:
        dist.recv(size, peer)
        if not size.item():
            return
        tensor = torch.empty(int(size.item()), dtype=torch.uint8, device=device)
        dist.recv(tensor, peer)
        dist.send(tensor, peer)


def _tell(peer: int, size: int, device: torch.device) -> None:
    dist.send(torch.tensor([size], device=device), peer)


def _there_and_back(tensor: torch.Tensor, peer: int) -> None:
    dist.send(tensor, peer)
    dist.recv(tensor, peer)


def _timed(work: Callable[[], None], device: torch.device) -> float:
    started_s = time.perf_counter()
    work()
    wait_for(device)
    return time.perf_counter() - started_s


# --- All-reduce's time by size, and what the model makes of the pairs that were measured.


_SUM_SIZES = (4_000, 64_000, 1_000_000, 4_000_000, 16_000_000, 64_000_000)
_SUM_ROUNDS, _SUM_S = 5, 1.0


def measure_all_reduce(device: torch.device) -> list[Timing]:
    """Times of `dist.all_reduce` by size: of the slowest rank, in the quickest of five rounds. All ranks call it.

    It goes to larger messages until one has taken a second.
    """
    found = []
    for size in _SUM_SIZES:
        times = torch.tensor(
            [_sum_seconds(torch.ones(size // 4, device=device)) for _ in range(_SUM_ROUNDS)], device=device
        )
        dist.all_reduce(times, dist.ReduceOp.MAX)  # so all ranks know the same, and go on or stop together
        found.append(Timing(size, times.min().item()))
        if times.sum() > _SUM_S:
            break
    return found


def _sum_seconds(tensor: torch.Tensor) -> float:
    dist.all_reduce(torch.ones(1, device=tensor.device))  # all begin at about one time
    wait_for(tensor.device)
    started_s = time.perf_counter()
    dist.all_reduce(tensor)
    wait_for(tensor.device)
    return time.perf_counter() - started_s


def expected_seconds(message_bytes: float, pairs: Sequence[RankPair], world_size: int) -> float:
    """Seconds of a ring all-reduce on links like the slowest one between neighbors, by chapter 02's formula.

    >>> pairs = [RankPair(0, 1, [(0, 1.0), (10**6, 2.0)])]
    >>> round(expected_seconds(10**6, pairs, 2), 6)  # two steps of 1 s + 0.5 MB / 1 MB/s
    3.0
    """
    at_least(2, world_size=world_size)
    around = [pair for pair in pairs if (pair.other - pair.one) % world_size in (1, world_size - 1)]
    line = min(around, key=lambda pair: pair.bytes_per_s).line
    network = Network(latency_s=max(0.0, line.latency_s), bytes_per_s=line.bytes_per_s)
    return float(ring_all_reduce_seconds(message_bytes, world_size, network))


# --- A matrix product, the same on every rank: which rank is slower than the others?


_PRODUCT_SIZE, _PRODUCTS = 512, 12
_PRODUCT_SIZE_OF_A_GPU = 8192


def measure_product(device: torch.device) -> float:
    """Floating-point operations a second of a matrix product, in the middle one of some rounds."""
    size = _PRODUCT_SIZE_OF_A_GPU if device.type != "cpu" else _PRODUCT_SIZE
    matrix = torch.ones(size, size, device=device)
    times = sorted(_product_seconds(matrix) for _ in range(_PRODUCTS))
    return 2 * size**3 / times[_PRODUCTS // 2]


def _product_seconds(matrix: torch.Tensor) -> float:
    started_s = time.perf_counter()
    _ = matrix @ matrix
    wait_for(matrix.device)
    return time.perf_counter() - started_s
