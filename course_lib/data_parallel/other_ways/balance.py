"""Load balancing: a slow device holds everybody back, unless it gets fewer examples and its mean counts less.

equal parts        rank 0 ▕ 8 ▏ waits                  by speed    rank 0 ▕ 12  ▏
                   rank 1 ▕ 8 ▏ waits                              rank 1 ▕ 12  ▏
3 times slower     rank 2 ▕       8       ▏                        rank 2 ▕  4  ▏   weights 12 : 12 : 4
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.checks import positive
from course_lib.collectives import all_gather
from course_lib.comm import Communicator
from course_lib.data_parallel.averaging import average_gradients_in_buckets
from course_lib.data_parallel.sharding import part_lengths
from course_lib.tasks import random_batches

__all__ = ["BalancedStep", "slowest_rank_s", "train_balanced"]


class BalancedStep(NamedTuple):
    """One step of a training: how many examples each rank had, and the seconds until the slowest was done."""

    lengths: tuple[int, ...]
    seconds: float


def slowest_rank_s(lengths: Sequence[int], speeds: Sequence[float]) -> float:
    """Seconds until the last rank has computed its part: what a synchronous step takes, without its messages.

    Raises:
        ValueError: if a rank that has examples has no speed.

    >>> slowest_rank_s((8, 8, 8), speeds=[3, 3, 1]), slowest_rank_s((10, 10, 4), speeds=[3, 3, 1])
    (8.0, 4.0)
    """
    pairs = [(length, speed) for length, speed in zip(lengths, speeds, strict=True) if length]
    if any(speed <= 0 for _, speed in pairs):
        raise ValueError(f"who has examples must have a speed of more than 0, got {lengths} and {speeds}")
    return max((length / speed for length, speed in pairs), default=0.0)


def train_balanced(
    comm: Communicator,
    model: nn.Module,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    *,
    batch_size: int,
    steps: int,
    adapt: bool = True,
    weighted: bool = True,
    seconds_per_example: float = 1.0,
    rate: float = 0.1,
) -> tuple[list[BalancedStep], nn.Module]:
    """What each step of a training took, and the trained model.

    The first step has equal parts. Every rank then tells all how many examples per second it did, and with `adapt` the
    next parts are in proportion to that.

    Args:
        weighted: False averages the ranks' means as if each were of equally many examples, which is wrong.
        seconds_per_example: what an example costs a rank at full speed; `network.stragglers` says who is slower, on
            virtual time (`simulate`) and on real processes that sleep for it (`run` with a network, emulated).

    Raises:
        ValueError: if `batch_size` is less than the number of ranks, for the speed of each must be seen, or an example
            costs nothing.
    """
    positive(seconds_per_example=seconds_per_example)
    if batch_size < comm.world_size:
        raise ValueError(f"batch_size must be at least the {comm.world_size} ranks, got {batch_size}")
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    lengths, done = part_lengths(batch_size, [1] * comm.world_size), []
    speeds = [torch.ones(1, dtype=torch.float64) for _ in range(comm.world_size)]
    for batch in islice(random_batches(len(labels), batch_size), steps):
        part = batch.split(lengths)[comm.rank]
        comm.barrier()
        began_s = comm.now()
        comm.compute(seconds_per_example * len(part))
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs[part]), labels[part]).backward()
        speed = torch.tensor([len(part) / (comm.now() - began_s)]).double() if len(part) else speeds[comm.rank].clone()
        average_gradients_in_buckets(comm, model, examples=len(part) if weighted else None)
        optimizer.step()
        done.append(BalancedStep(tuple(lengths), comm.now() - began_s))
        all_gather(comm, speeds, speed)
        if adapt:
            lengths = part_lengths(batch_size, [speed.item() for speed in speeds])
    return done, model
