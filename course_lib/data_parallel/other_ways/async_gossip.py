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
from typing import NamedTuple

import torch
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_lib.checks import positive
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.data_parallel.other_ways.local_sgd import drift, part_batches
from course_lib.tasks import Digits, digits_model, scores

__all__ = ["AsyncGossipRun", "SharedRow", "keep_averaging", "train_with_async_gossip"]


class AsyncGossipRun(NamedTuple):
    """What came out of a training without a common clock; loss, accuracy and drift are the same on every rank.

    Attributes:
        loss: of the mean of all ranks' models on the test digits.
        accuracy: of the mean of all ranks' models on the test digits.
        drift: root mean square distance of the ranks' parameters from their mean, at the end.
        steps: gradients that this rank computed.
        averagings: how often this rank averaged with a neighbor.
    """

    loss: float
    accuracy: float
    drift: float
    steps: int
    averagings: int


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


def train_with_async_gossip(
    comm: Communicator,
    digits: Digits,
    *,
    seconds: float = 96.0,
    step_s: float = 1.0,
    pause_s: float = 0.5,
    part_size: int = 8,
    rate: float = 0.2,
    sort: bool = False,
    seed: int = 0,
) -> AsyncGossipRun:
    """Train a classifier of digits for `seconds`, each rank at its own pace, and judge the mean of all models.

    Args:
        step_s: what a gradient costs a rank at full speed; `network.stragglers` says who is slower.
        pause_s: how long an even rank rests between two averagings.
        sort: ranks hold neighboring labels; False: all labels.

    Source: S. Boyd, A. Ghosh, B. Prabhakar and D. Shah, "Randomized gossip algorithms", IEEE Transactions on
    Information Theory 52(6), 2006 (averaging in pairs); X. Lian, W. Zhang, C. Zhang and J. Liu, "Asynchronous
    decentralized parallel stochastic gradient descent", ICML 2018 (AD-PSGD), which splits the ranks into two kinds for
    the same reason.
    """
    model = digits_model(seed).to(digits.train_inputs.device)
    shared = SharedRow(parameters_to_vector(model.parameters()).detach())
    beside = comm.start(keep_averaging, shared, pause_s, seed)
    steps = 0
    for inputs, labels in part_batches(comm, digits, part_size, sort=sort, seed=seed):
        if comm.now() >= seconds:
            break
        vector_to_parameters(shared.read(), model.parameters())
        model.zero_grad()
        functional.cross_entropy(model(inputs), labels).backward()
        comm.compute(step_s, label="step")
        shared.move(-rate * parameters_to_vector([parameter.grad for parameter in model.parameters()]))
        steps += 1
    shared.over = True
    beside.wait()
    mean = shared.read()
    vector_to_parameters(mean.clone(), model.parameters())
    apart = drift(comm, model)
    ring_all_reduce(comm, mean, "mean")
    vector_to_parameters(mean, model.parameters())
    return AsyncGossipRun(*scores(model, digits.test_inputs, digits.test_labels), apart, steps, shared.averagings)
