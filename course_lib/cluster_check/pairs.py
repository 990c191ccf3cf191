"""Latency and bandwidth of each pair of ranks: messages there and back in several sizes, a line through the times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
import torch.distributed as dist

from course_lib.comm.devices import wait_for
from course_lib.published import AlphaBeta, fit_alpha_beta

__all__ = ["Pair", "measure_pairs", "rounds_of_pairs"]

_SIZES = (1_000, 8_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000)
_COMMON = 1_000_000  # every pair is measured up to here, and further if it is quick
_ENOUGH_S = 0.25
_MIN, _MAX = 3, 20  # messages of a size, there and back


class Pair(NamedTuple):
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
        return _COMMON / dict(self.times)[_COMMON]


def rounds_of_pairs(ranks: int) -> Iterator[list[tuple[int, int]]]:
    """Every pair once, in rounds in which each rank has one partner at most: a tournament.

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


def measure_pairs(rank: int, world_size: int, device: torch.device) -> list[Pair]:
    """The pairs of which this rank is the lower one; all ranks call it.

    Pairs of a round are measured at one time, as ranks are busy in an all-reduce; those of one machine share its link.
    """
    found = []
    for pairs in rounds_of_pairs(world_size):
        for one, other in pairs:
            if rank == one:
                found.append(Pair(one, other, _lead(other, device)))
            elif rank == other:
                _follow(one, device)
    return found


def _lead(peer: int, device: torch.device) -> list[tuple[int, float]]:
    """Send messages of one size after another there and back, until it has taken long enough."""
    started_s, times = time.perf_counter(), []
    for size in _SIZES:
        tensor = torch.ones(size, dtype=torch.uint8, device=device)
        quickest_s, spent_s = float("inf"), 0.0
        for number in range(_MAX):
            if number >= _MIN and spent_s > _ENOUGH_S / 8:
                break
            _tell(peer, size, device)
            there_and_back_s = _timed(lambda tensor=tensor: _there_and_back(tensor, peer), device)  # type: ignore[misc]
            quickest_s, spent_s = min(quickest_s, there_and_back_s), spent_s + there_and_back_s
        times.append((size, quickest_s / 2))
        if size >= _COMMON and time.perf_counter() - started_s > _ENOUGH_S:
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
