"""Gossip averaging: every rank averages with its neighbors on a ring, in rounds or asynchronously; no mean of all.

    round 0     9   0   0   0   0   0          x_i ← (left + own + right) / 3
    round 1     3   3   0   0   0   3          the sum stays, the spread shrinks
    round 2     3   2   1   0   1   2

One round costs two messages, however many ranks there are; what one rank knows moves one rank further in each.

Asynchronously every rank trains at its own pace, and a thread averages with one neighbor at a time:

    rank 0  even   ▕ step ▏ step ▏ step ▏ step ▏         an even rank asks a neighbor and waits for the answer,
                       ⇅       ⇅        ⇅                an odd one answers whoever asks,
    rank 1  odd    ▕     step     ▏     step   ▏         so no two ranks wait for each other

    even rank → odd rank     [0 | x_even]                [1 | ...] says that it will not ask again
    odd rank → even rank     [0 | x_odd]                 both move by half of the difference: the sum stays

While a gradient is computed the parameters move on. It is subtracted from what they are by then.
"""

from __future__ import annotations

import math
import random
import threading
from typing import NamedTuple

import torch
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_lib.checks import at_least, positive
from course_lib.comm import Communicator
from course_lib.data_parallel.other_ways.local_sgd import average_parameters, part_batches
from course_lib.tasks import Digits, digits_model, scores


class GossipRun(NamedTuple):
    """What came out of a training with gossip; all but `parameters` and `step_s` is the same on every rank.

    Attributes:
        loss: of the mean of all ranks' models on the test digits.
        accuracy: of the mean of all ranks' models on the test digits.
        parameters: this rank's own at the end, in one row.
        step_s: mean seconds of a step, without the averaging at the end that judges the models together.
    """

    loss: float
    accuracy: float
    parameters: torch.Tensor
    step_s: float


def gossip_round(comm: Communicator, tensor: torch.Tensor) -> None:
    """Replace `tensor` by the mean of this rank's, its left and its right neighbor's.

    Invariant: the sum over all ranks stays.
    Cost: two messages from each rank and to it: 2(α + nβ), whatever the number of ranks; 3(α + nβ) where messages meet
    at ports in an unlucky order, for each shares its two ports with one other.
    Source: L. Xiao and S. Boyd, "Fast linear iterations for distributed averaging", Systems & Control Letters 53(1),
    2004.
    """
    if comm.world_size == 1:
        return
    left, right = (comm.rank - 1) % comm.world_size, (comm.rank + 1) % comm.world_size
    from_left, from_right = torch.empty_like(tensor), torch.empty_like(tensor)
    # All at once: a rank that waited for one neighbor first would hold back the other.
    with comm.batch():
        received = [comm.irecv(from_left, left), comm.irecv(from_right, right)]
        sent = [comm.isend(tensor, right), comm.isend(tensor, left)]
    for work in received + sent:
        work.wait()
    tensor.add_(from_left).add_(from_right).div_(3)


def gossip_factor(world_size: int) -> float:
    """What is left of the ranks' distance from their mean after a round, at worst: W's second largest eigenvalue.

    A round is x ← W x, where W has a third for the rank itself and for each neighbor. W's eigenvalues are
    (1 + 2 cos(2πk/p)) / 3 for k from 0 to p - 1; k = 0 is the mean itself, which stays.

    >>> [round(gossip_factor(world_size), 3) for world_size in (1, 2, 3, 4, 8, 64)]
    [0.0, 0.333, 0.0, 0.333, 0.805, 0.997]
    """
    waves = range(1, world_size)
    return max((abs(1 + 2 * math.cos(2 * math.pi * k / world_size)) / 3 for k in waves), default=0.0)


def rounds_to_agree(world_size: int, left: float = 1e-3) -> int:
    """Rounds after which at most the part `left` of the distance is left: about p² × ln(1/left) × 3 / 4π².

    Raises:
        ValueError: unless `left` lies between 0 and 1.

    >>> [rounds_to_agree(world_size) for world_size in (1, 3, 8, 16, 32)]
    [0, 1, 32, 133, 536]
    """
    if not 0 < left < 1:
        raise ValueError(f"left must be between 0 and 1, got {left}")
    factor = gossip_factor(world_size)
    if factor < 1e-12:  # three ranks know all after one round, one rank before it
        return int(world_size > 1)
    return math.ceil(math.log(left) / math.log(factor))


def train_with_gossip(
    comm: Communicator,
    digits: Digits,
    *,
    steps: int = 96,
    part_size: int = 8,
    rate: float = 0.2,
    sort: bool = False,
    rounds: int = 1,
    seed: int = 0,
) -> GossipRun:
    """Train a classifier of digits: each step mixes the parameters with the neighbors' and takes the own gradient.

    Gradients are those of the parameters before they were mixed, so that a real system can do both at once.

    Args:
        sort: ranks hold neighboring labels; False: all labels.
        rounds: gossip rounds in each step; 0: every rank trains for itself.

    Raises:
        ValueError: if `steps` is less than 1.

    Source: X. Lian et al., "Can decentralized algorithms outperform centralized algorithms?", NeurIPS 2017 (D-PSGD).
    """
    at_least(1, steps=steps)
    model = digits_model(seed).to(digits.train_inputs.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    began_s = comm.now()
    for inputs, labels in part_batches(comm, digits, part_size, steps, sort=sort, seed=seed):
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs), labels).backward()
        row = parameters_to_vector(model.parameters()).detach()
        for _ in range(rounds):
            gossip_round(comm, row)
        vector_to_parameters(row, model.parameters())
        optimizer.step()
    step_s = (comm.now() - began_s) / steps
    own = parameters_to_vector(model.parameters()).detach().clone()
    average_parameters(comm, model)
    return GossipRun(*scores(model, digits.test_inputs, digits.test_labels), own, step_s)


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
