"""Gossip averaging: every rank averages with its two neighbors on a ring, and nobody ever computes a mean of all.

    round 0     9   0   0   0   0   0          x_i ← (left + own + right) / 3
    round 1     3   3   0   0   0   3          the sum stays, the spread shrinks
    round 2     3   2   1   0   1   2

One round costs two messages, however many ranks there are; what one rank knows moves one rank further in each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_lib.checks import at_least
from course_lib.comm import Communicator
from course_lib.data_parallel.other_ways.local_sgd import average_parameters, part_batches
from course_lib.tasks import Digits, digits_model, scores

__all__ = ["GossipRun", "gossip_factor", "gossip_round", "rounds_to_agree", "train_with_gossip"]


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
