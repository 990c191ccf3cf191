"""Copies on a grid: near ranks cut a row into shards, far ranks sum them. So less crosses between nodes.

          near: rank 0  1  2  3           far, from node to node
node 0          0  1  2  3  shards        0 ◄─► 0, 1 ◄─► 1, …
node 1          0  1  2  3  shards
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_lib.collectives import all_gather, reduce_scatter, ring_all_reduce
from course_lib.comm import Communicator
from course_lib.data_parallel.zero import ShardedOptimizer


def near_and_far(comm: Communicator, near: int) -> tuple[Communicator, Communicator]:
    """This rank's group of `near` ranks side by side, and that of the ranks in the same place of each such group.

    Raises:
        ValueError: unless `near` divides the ranks.

    >>> from course_lib import simulate
    >>> simulate(lambda comm: [group.ranks for group in near_and_far(comm, 4)], 8).results[5]
    [(4, 5, 6, 7), (1, 5)]
    """
    if near < 1 or comm.world_size % near:
        raise ValueError(f"near must divide the ranks, got {near} of {comm.world_size}")
    first = comm.rank - comm.rank % near
    return comm.group(range(first, first + near)), comm.group(range(comm.rank % near, comm.world_size, near))


def hybrid_step(sharded: ShardedOptimizer, far: Communicator) -> None:
    """A step of ZeRO among near ranks (any stage, usually the third) whose copies are `far`: HSDP.

    Source: Zhang et al., "MiCS: near-linear scaling for training gigantic model on public cloud", arXiv 2205.00119.
    """
    sharded.reduce_gradients()
    for unit in sharded.units:
        if unit.shard.grad is not None:
            ring_all_reduce(far, unit.shard.grad, op="mean")
    sharded.step()


def sum_near_and_far(
    near: Communicator,
    far: Communicator,
    comm: Communicator,
    tensor: torch.Tensor,
    all_reduce: Callable[..., None] = ring_all_reduce,
) -> None:
    """Leave on every rank of `comm`, which is near × far, the sum of all: an all-reduce in three parts.

    Cost: of n numbers each rank sends 2n (g - 1)/g near and 2(n/g)(k - 1)/k far, for g near and k far ranks: together
    as many as a ring of all of them.
    """
    shards = list(tensor.view(-1).tensor_split(near.world_size))
    mine = torch.empty_like(shards[near.rank])
    reduce_scatter(near, mine, shards)
    all_reduce(far, mine)
    all_gather(near, shards, mine)
