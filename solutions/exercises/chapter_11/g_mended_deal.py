"""Exercise 11g: find the bugs in how shards are dealt to ranks and workers."""

from course_lib.grading.exercises.common import function_exercise


def epochs(rng):
    """Shards that divide and that do not, workers that get none, several epochs of one seed."""
    for number, world_size, workers in ((4, 2, 1), (12, 2, 3), (13, 3, 2), (5, 2, 4), (9, 1, 2)):
        seed = int(rng.integers(1, 10**6))
        shards = [f"{chr(97 + shard)}.tar" for shard in range(number)]
        yield from ((shards, seed, epoch, world_size, workers) for epoch in (0, 1, 2))


MISTAKES = r"""
That is the colleague's program: which shards does nobody read in epoch 0?
    order[rank -> shuffled(shards, seed + rank)[rank
    mine[worker::workers] -> mine[worker::world_size]
The workers' deal is mended; the ranks still shuffle differently, and every epoch is the same
    order[rank -> shuffled(shards, seed + rank)[rank
Ranks that shuffle differently deal from different orders: shards are lost and doubled
    order[rank -> shuffled(shards, seed + epoch + rank)[rank
Every epoch has the same order there
    seed + epoch -> seed
The epoch alone would be the same for every seed
    seed + epoch -> epoch
A rank's shards go to its workers in turn: there are `workers` of them
    mine[worker::workers] -> mine[worker::world_size]
or
    seed + epoch -> seed
    mine[worker::workers] -> mine[worker::world_size]
Each shard is read once, but the deal is another one: first to the ranks, then each rank's to its workers
    mine[worker::workers] -> order[mine * workers + worker :: world_size * workers]
    mine in ranks -> mine in range(world_size)
In turn means one by one, not block by block
    ranks = -> share = -(-len(order) // world_size)\n    ranks =
    order[rank::world_size] -> order[rank * share : (rank + 1) * share]
A worker without shards has an empty list
    for worker in range(workers) -> for worker in range(min(workers, len(mine)))
A list for each rank, and in it one for each worker
    mine[worker::workers] for worker in range(workers) -> shard for worker in range(workers) for shard in mine[worker::workers]
or
    [[mine[worker::workers] for worker in range(workers)] for mine in ranks] -> [shard for mine in ranks for worker in range(workers) for shard in mine[worker::workers]]
or
    [[mine[worker::workers] for worker in range(workers)] for mine in ranks] -> [[mine[worker::workers] for mine in ranks] for worker in range(workers)]
A rank's shards keep the order in which they were dealt: they are not shuffled again
    order[rank::world_size] -> shuffled(order[rank::world_size], seed + epoch)
or
    order[rank::world_size] -> shuffled(order[rank::world_size], seed + epoch + rank)
That is dealt from another order than shuffled(shards, seed + epoch)
    order = shuffled(shards, seed + epoch) -> order = list(shards)\n    random.Random(seed + epoch).shuffle(order)
or
    seed + epoch -> f"{seed}/{epoch}"
or
    seed + epoch -> f"{seed}{epoch}"
or
    seed + epoch -> hash((seed, epoch))
or
    seed + epoch -> seed * (epoch + 1)
or
    seed + epoch -> seed * epoch
or
    seed + epoch -> 1000 * seed + epoch
"""

EXERCISE = function_exercise(
    __name__,
    calls=epochs,
    label="three epochs of five data sets",
    mistakes=MISTAKES,
    hints="""
Print what the colleague's function gives for four shards and two ranks. Which shard comes twice?
All ranks must deal from the same order, and it must be another one in the next epoch.
Count the workers of a rank in the last line: is world_size their number?
""",
)
