"""Exercise 11h: an epoch of shards, shuffled, that stops in the middle and goes on with other ranks: each sample once."""

import random

from course_lib.grading.exercises.common import function_exercise

# Samples of each shard, workers of a rank, the share of its samples that each old rank has taken, ranks of now.
EPOCHS = (
    ((5, 3, 6, 4, 2, 7), 2, (0.5, 0.5, 0.5), 2),
    ((4, 4, 4, 4, 4, 4), 3, (0.6, 0.6), 4),
    ((6, 1, 3), 2, (0.5, 0.4), 2),
    ((3, 5), 1, (0, 0), 3),
    ((5, 4, 6, 5, 3), 2, (0.9, 0.3), 1),
    ((3, 2, 4), 1, (1, 1), 2),
    ((9, 4, 4, 1, 6), 3, (0.3,), 5),
    ((2, 3, 2, 4, 3, 2, 5, 1), 2, (0.4, 0.6, 0.5), 3),
)


def epochs(rng):
    """At the beginning, in the middle and at the end; fewer ranks, as many and more; workers without a shard."""
    yield [[1, 2, 3], [4, 5], [6, 7, 8, 9], [10, 11]], 5, 2, 2, [3, 3], 3
    for sizes, workers, shares, ranks in EPOCHS:
        numbers, seed, epoch = rng.permutation(100).tolist(), int(rng.integers(1, 10_000)), int(rng.integers(1, 9))
        shards = [[numbers.pop() for _ in range(size)] for size in sizes]
        order = random.Random(seed + epoch).sample(sizes, len(sizes))
        taken = [round(share * sum(order[rank :: len(shares)])) for rank, share in enumerate(shares)]
        yield shards, seed, epoch, workers, taken, ranks


MISTAKES = r"""
What was taken before the stop comes again
    stream[:count] -> []
The ranks did not take the order from its front: which samples did each of them take?
    in shard if sample not in seen] -> in shard][sum(taken) :]
A rank takes one sample of each of its workers in turn, and not all of one first
    stream = [row[at] for at in range(max(map(len, rows))) for row in rows if at < len(row)] -> stream = sum(rows, [])
A worker that has none left is passed over, and the others go on
    at in range(max(map(len, rows))) -> at in range(min(map(len, rows)))
or
    at in range(max(map(len, rows))) -> at in range(min(filter(None, map(len, rows)), default=0))
Before the stop there were as many ranks as `taken` has numbers
    mine = order[rank :: len(taken)] -> mine = order[rank::ranks]
Those were the shares of the ranks of then: what is left is put together and cut anew
    answer each_goes_on
Each epoch has an order of its own: seed + epoch
    seed + epoch -> seed
The samples of each shard are shuffled, too
    shuffled(shard, seed + epoch) for -> shard for
The shards are shuffled, too
    in shuffled(shards, seed + epoch)] -> in shards]
A rank's shards go to its workers in turn: there are `workers` of them
    mine[worker::workers] -> mine[worker :: len(taken)]
or
    mine[worker::workers] -> mine[-(-len(mine) // workers) * worker :][: -(-len(mine) // workers)]
What is left is cut into stretches, as in c, so that few shards are opened twice
    [left[low:high] for low, high in pairwise(cuts)] -> [left[rank::ranks] for rank in range(ranks)]
The cuts of c are at left * r // ranks: so all of it goes to somebody
    len(left) * rank // ranks -> len(left) // ranks * rank
or
    len(left) * rank // ranks -> min(len(left), -(-len(left) // ranks) * rank)
What is left keeps the order of the epoch
    [left[low:high] -> [sorted(left)[low:high]
or
    [left[low:high] -> [shuffled(left, seed + epoch)[low:high]
All ranks' samples are taken, not only rank 0's
    seen.update(stream[:count]) -> seen = seen or set(stream[:count])
"""

EXERCISE = function_exercise(
    __name__,
    calls=epochs,
    label="nine epochs",
    mistakes=MISTAKES,
    hints="""
First the order of the epoch: the shards shuffled, the samples of each shuffled. Then, for each rank of before, what its workers read.
A rank's stream: place 0 of each worker's row, then place 1 of each, ...; who has no such place is passed over. The first taken[r] of it are done.
What is in the order and not done is left; rank r of now gets left[len(left) * r // ranks : len(left) * (r + 1) // ranks].
""",
)
