"""Who trains on what: one shuffle for all, batches that all ranks share, and of each batch a part for every rank.

    epoch    7 2 5 0 9 1 4 8 3 6            one order, the same on every rank
    batches  7 2 5 0 | 9 1 4 8 | 3 6        each is one step
    rank 0   7 2     | 9 1     | 3          shares 2 : 1 : 1
    rank 1       5   |     4   |   6
    rank 2         0 |       8 |            nothing is left for it in the last step

All of it is computed and nothing is sent: a rank that knows length, seed and epoch knows everybody's part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import torch

from course_lib.checks import at_least


class Shard(NamedTuple):
    """A rank's part of one global batch.

    Attributes:
        examples: their numbers in the data set, int64.
        share: their number divided by the batch's, the factor of their mean gradient; those of all ranks add up to 1.
    """

    examples: torch.Tensor
    share: float


def epoch_order(length: int, *, epoch: int, seed: int = 0) -> torch.Tensor:
    """The numbers from 0 to length - 1, shuffled: the same on every rank, another order in every epoch.

    It is the order that torch's DistributedSampler shuffles into, so seed 1 in epoch 0 is seed 0 in epoch 1.

    >>> epoch_order(6, epoch=0).tolist(), epoch_order(6, epoch=1).tolist()
    ([2, 5, 3, 0, 1, 4], [1, 5, 2, 0, 3, 4])
    """
    return torch.randperm(length, generator=torch.Generator().manual_seed(seed + epoch))


def global_batches(order: torch.Tensor, batch_size: int, *, drop_last: bool = False) -> list[torch.Tensor]:
    """The batches of an epoch, in order. The last one is smaller where batch_size does not divide; or is dropped.

    Raises:
        ValueError: if `batch_size` is less than 1.

    >>> [batch.tolist() for batch in global_batches(torch.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    at_least(1, batch_size=batch_size)
    whole = len(order) // batch_size * batch_size
    kept = order[:whole] if drop_last else order
    return list(kept.split(batch_size)) if len(kept) else []


def part_lengths(length: int, shares: Sequence[float]) -> list[int]:
    """How many of `length` examples each rank gets: whole numbers in proportion to `shares`, `length` in all.

    Each gets its quota rounded down; those with the largest remainders get one more, of equals the lower rank.

    Raises:
        ValueError: if a share is negative or no finite number, or if all are 0.

    >>> part_lengths(10, [1, 1, 1]), part_lengths(10, [3, 1]), part_lengths(2, [1, 1, 1])
    ([4, 3, 3], [8, 2], [1, 1, 0])
    """
    if not all(0 <= share < math.inf for share in shares) or not any(shares):
        raise ValueError(f"shares must be 0 or more, one of them more than 0, got {list(shares)}")
    exact = [Fraction(share) for share in shares]
    quotas = [length * share / sum(exact) for share in exact]
    lengths = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(quotas)), key=lambda rank: lengths[rank] - quotas[rank])
    for rank in by_remainder[: length - sum(lengths)]:
        lengths[rank] += 1
    return lengths


def split_batch(batch: torch.Tensor, world_size: int, shares: Sequence[float] | None = None) -> list[torch.Tensor]:
    """Every rank's part of a batch, one after the other; parts are empty where there are fewer examples than ranks.

    Args:
        shares: how much each rank gets, in any unit; None: equal parts, the first ones longer by one at most.

    Raises:
        ValueError: unless there is one share for each rank, none is negative and one is more than 0.

    >>> [part.tolist() for part in split_batch(torch.arange(8), world_size=3, shares=[2, 1, 1])]
    [[0, 1, 2, 3], [4, 5], [6, 7]]
    """
    if shares is None:
        return list(batch.tensor_split(world_size))
    if len(shares) != world_size:
        raise ValueError(f"there must be one share for each of the {world_size} ranks, got {len(shares)}")
    return list(batch.split(part_lengths(len(batch), shares)))


def epoch_shards(
    length: int,
    batch_size: int,
    *,
    rank: int,
    world_size: int,
    epoch: int,
    seed: int = 0,
    shares: Sequence[float] | None = None,
    drop_last: bool = False,
) -> Iterator[Shard]:
    """Yield this rank's part of each global batch of an epoch, with the factor of its mean gradient.

    The parts of all ranks together hold every example once (`drop_last`: all but the last, smaller batch).
    torch's DistributedSampler gives every rank equally many instead: it repeats examples until the ranks divide them,
    which makes those count twice.

    Raises:
        ValueError: if `rank` is not one of 0 to world_size - 1, or a number is one that the parts cannot be made of.

    >>> [shard.examples.tolist() for shard in epoch_shards(5, 2, rank=1, world_size=2, epoch=0)]
    [[0], [3], []]
    """
    if not 0 <= rank < world_size:
        raise ValueError(f"rank must be from 0 to {world_size - 1}, got {rank}")
    for batch in global_batches(epoch_order(length, epoch=epoch, seed=seed), batch_size, drop_last=drop_last):
        part = split_batch(batch, world_size, shares)[rank]
        yield Shard(part, len(part) / len(batch))
