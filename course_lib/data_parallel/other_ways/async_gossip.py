"""Asynchronous gossip: every rank trains at its own pace and averages with one neighbor at a time, beside the training.

    rank 0  even   ▕ step ▏ step ▏ step ▏ step ▏         an even rank asks a neighbor and waits for the answer,
                       ⇅       ⇅        ⇅                an odd one answers whoever asks,
    rank 1  odd    ▕     step     ▏     step   ▏         so no two ranks wait for each other

    even rank → odd rank     [0 | x_even]                [1 | ...] says that it will not ask again
    odd rank → even rank     [0 | x_odd]                 both move by half of the difference: the sum stays

While a gradient is computed the parameters move on. It is subtracted from what they are by then.
"""

from __future__ import annotations

import random
import threading

import torch

from course_lib.checks import positive
from course_lib.comm import Communicator

__all__ = ["SharedRow", "keep_averaging"]


class SharedRow:
    """A rank's parameters in one row, which its training and its averaging both move; a lock keeps each move whole."""

    def __init__(self, row: torch.Tensor) -> None:
        self._row, self._lock = row.clone(), threading.Lock()
        self.averagings, self.over = 0, False

    def read(self) -> torch.Tensor:
        """A copy of the parameters as they are now."""
        with self._lock:
            return self._row.clone()

    def move(self, difference: torch.Tensor) -> None:
        """Add a difference to the parameters as they are now."""
        with self._lock:
            self._row += difference

    def move_halfway(self, other: torch.Tensor) -> torch.Tensor:
        """Go half the way to `other`, and return where they stood before."""
        with self._lock:
            before = self._row.clone()
            self._row += (other - before) / 2
        return before


def keep_averaging(comm: Communicator, shared: SharedRow, pause_s: float, seed: int = 0) -> None:
    """Average with the neighbors on the ring until `shared.over` is true on all of them: for `comm.start`.

    Args:
        pause_s: how long an even rank rests between two averagings; more than 0, or the clock would stand still.

    Raises:
        ValueError: if the number of ranks is odd, for then two even ranks would be neighbors and wait for each other.

    Invariant: the sum of all ranks' rows changes by what their trainings add and nothing else.

    Source: S. Boyd, A. Ghosh, B. Prabhakar and D. Shah, "Randomized gossip algorithms", IEEE Transactions on
    Information Theory 52(6), 2006 (averaging in pairs); X. Lian, W. Zhang, C. Zhang and J. Liu, "Asynchronous
    decentralized parallel stochastic gradient descent", ICML 2018 (AD-PSGD), which splits the ranks into two kinds for
    the same reason.
    """
    if comm.world_size % 2:
        raise ValueError(f"asynchronous gossip needs an even number of ranks, got {comm.world_size}")
    positive(pause_s=pause_s)
    neighbors = sorted({(comm.rank - 1) % comm.world_size, (comm.rank + 1) % comm.world_size})
    if comm.rank % 2:
        _answer(comm, shared, neighbors)
    else:
        _ask(comm, shared, neighbors, pause_s, seed)


def _ask(comm: Communicator, shared: SharedRow, neighbors: list[int], pause_s: float, seed: int) -> None:
    """An even rank: ask a random neighbor, again and again, and take leave of all at the end."""
    draw = random.Random(f"{seed} {comm.rank}")
    while not shared.over:
        sent, neighbor = shared.read(), draw.choice(neighbors)
        comm.send(_letter(0, sent), neighbor)
        answer = _letter(0, sent)
        comm.recv(answer, neighbor)
        shared.move((answer[1:] - sent) / 2)
        shared.averagings += 1
        comm.compute(pause_s, label="rest")
    for neighbor in neighbors:
        comm.send(_letter(1, shared.read()), neighbor)


def _answer(comm: Communicator, shared: SharedRow, neighbors: list[int]) -> None:
    """An odd rank: answer whoever asks, until both neighbors have taken leave."""
    letter = _letter(0, shared.read())
    staying = len(neighbors)
    while staying:
        neighbor = comm.recv(letter)
        if letter[0]:
            staying -= 1
        else:
            comm.send(_letter(0, shared.move_halfway(letter[1:])), neighbor)
            shared.averagings += 1


def _letter(leave: int, row: torch.Tensor) -> torch.Tensor:
    return torch.cat([row.new_tensor([leave]), row])
