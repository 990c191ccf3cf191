"""Exercise 11g: find the bugs in how shards are dealt to ranks and workers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

Deal = list[list[list[str]]]


# Cases


def epochs(rng: np.random.Generator) -> Iterator[Case]:
    """Shards that divide and that do not, workers that get none, several epochs of one seed."""
    calls = []
    for number, world_size, workers in ((4, 2, 1), (12, 2, 3), (13, 3, 2), (5, 2, 4), (9, 1, 2)):
        seed = int(rng.integers(1, 10**6))
        shards = [f"{chr(97 + shard)}.tar" for shard in range(number)]
        calls += [(shards, seed, epoch, world_size, workers) for epoch in (0, 1, 2)]
    yield Case(1, calls, [_dealt(*call) for call in calls], label="three epochs of five data sets")


def _shuffled(items: list[str], seed: int | str) -> list[str]:
    """The page's `shuffled`."""
    return random.Random(seed).sample(items, len(items))


def _dealt(
    shards: list[str],
    seed: int,
    epoch: int,
    world_size: int,
    workers: int,
    drawn: Callable[[int], int] | None = None,
    by: int = 0,
) -> Deal:
    """A list for each rank of a list for each worker; `drawn(rank)` is the number that shuffles, `by` the step."""
    drawn = drawn or (lambda rank: seed + epoch)
    ranks = [_shuffled(shards, drawn(rank))[rank::world_size] for rank in range(world_size)]
    return [[mine[worker :: by or workers] for worker in range(workers)] for mine in ranks]


# Diagnoses


def reasons(shards: list[str], seed: int, epoch: int, world_size: int, workers: int) -> Reasons:
    call = shards, seed, epoch, world_size, workers
    colleagues = _dealt(*call, drawn=lambda rank: seed + rank, by=world_size)
    yield "That is the colleague's program: which shards does nobody read in epoch 0?", colleagues
    half_mended = _dealt(*call, drawn=lambda rank: seed + rank)
    yield "The workers' deal is mended; the ranks still shuffle differently, and every epoch is the same", half_mended
    own_orders = _dealt(*call, drawn=lambda rank: seed + epoch + rank)
    yield "Ranks that shuffle differently deal from different orders: shards are lost and doubled", own_orders
    yield "Every epoch has the same order there", _dealt(*call, drawn=lambda rank: seed)
    yield "The epoch alone would be the same for every seed", _dealt(*call, drawn=lambda rank: epoch)
    yield "A rank's shards go to its workers in turn: there are `workers` of them", _dealt(*call, by=world_size)
    every_epoch = _dealt(*call, drawn=lambda rank: seed, by=world_size)
    yield "A rank's shards go to its workers in turn: there are `workers` of them", every_epoch
    yield from _other_deals(*call)
    yield from _other_orders(*call)


def _other_deals(shards: list[str], seed: int, epoch: int, world_size: int, workers: int) -> Reasons:
    order, dealt = _shuffled(shards, seed + epoch), _dealt(shards, seed, epoch, world_size, workers)
    readers = world_size * workers
    yield (
        "Each shard is read once, but the deal is another one: first to the ranks, then each rank's to its workers",
        [[order[r * workers + w :: readers] for w in range(workers)] for r in range(world_size)],
    )
    share = -(-len(shards) // world_size)
    blocks = [order[r * share : (r + 1) * share] for r in range(world_size)]
    in_blocks = [[each[w::workers] for w in range(workers)] for each in blocks]
    yield "In turn means one by one, not block by block", in_blocks
    yield "A worker without shards has an empty list", [[worker for worker in rank if worker] for rank in dealt]
    flat = [shard for rank in dealt for worker in rank for shard in worker]
    joined = [[shard for worker in rank for shard in worker] for rank in dealt]
    yield "A list for each rank, and in it one for each worker", joined
    yield "A list for each rank, and in it one for each worker", flat
    by_worker = [[rank[worker] for rank in dealt] for worker in range(workers)]
    yield "A list for each rank, and in it one for each worker", by_worker


def _other_orders(shards: list[str], seed: int, epoch: int, world_size: int, workers: int) -> Reasons:
    numbers = (
        f"{seed}/{epoch}",
        f"{seed}{epoch}",
        hash((seed, epoch)),
        seed * (epoch + 1),
        seed * epoch,
        1000 * seed + epoch,
    )
    for order in (_in_place(shards, seed + epoch), *(_shuffled(shards, number) for number in numbers)):
        dealt = [[order[r::world_size][w::workers] for w in range(workers)] for r in range(world_size)]
        yield "That is dealt from another order than shuffled(shards, seed + epoch)", dealt


def _in_place(shards: list[str], seed: int) -> list[str]:
    """Another way to shuffle with the same number."""
    order = list(shards)
    random.Random(seed).shuffle(order)
    return order


# The exercise

EXERCISE = function_exercise(
    id="11g",
    title="Find the bugs in a deal of shards",
    function="mended_deal",
    points=4,
    cases=epochs,
    reasons=reasons,
    hints=(
        "Print what the colleague's function gives for four shards and two ranks. Which shard comes twice?",
        "All ranks must deal from the same order, and it must be another one in the next epoch.",
        "Count the workers of a rank in the last line: is world_size their number?",
    ),
)
