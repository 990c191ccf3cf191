"""Exercise 11c: the part of an epoch that one rank reads."""

from course_lib.grading.exercises.common import function_exercise


def epochs(rng):
    """Every rank of epochs that divide and that do not; empty shards, more ranks than samples."""
    drawn = rng.integers(1, 30, 6).tolist()
    plans = [([4, 2], 2), ([5, 3, 6], 3), ([7, 0, 4], 2), ([2], 4), ([10], 1), ([6, 7], 5), (drawn, 4)]
    yield from ((lengths, world_size, rank) for lengths, world_size in plans for rank in range(world_size))


MISTAKES = r"""
Each rank has total // world_size samples there, so the last ones are read by nobody
    * r // world_size -> // world_size * r
All that is left over goes to the last rank there: the ranks must differ by one sample at most
    * r // world_size -> // world_size * r if r < world_size else sum(lengths)
Rounding up leaves too little for the last ranks
    sum(lengths) * r // world_size -> min(sum(lengths), -(-sum(lengths) // world_size) * r)
That is fair, but not the cut that is asked for: rank r begins at total * r // world_size
    * r // world_size -> // world_size * r + min(r, sum(lengths) % world_size)
total * r // world_size rounds down, it does not round to the nearest
    sum(lengths) * r // world_size -> round(sum(lengths) * r / world_size)
first and stop count within their shard, not from the first sample of all
    [shard, first, stop]) -> [shard, start + first, start + stop])
stop is the first place that is not read
    [shard, first, stop]) -> [shard, first, stop - 1])
The third value is where to stop, not how many
    [shard, first, stop]) -> [shard, first, stop - first])
Whole shards in turn give some ranks more than others
    return parts -> return [[shard, 0, length] for shard, length in enumerate(lengths) if length][rank::world_size]
Leave out shards of which the rank reads nothing
    max(low - start, 0), min(high - start, length) -> min(max(low - start, 0), length), min(max(high - start, 0), length)
    first < stop -> True
Those are the parts of all ranks: one of them is asked for
    def own_parts( -> def part_of(
    return parts -> return parts\n\n\ndef own_parts(lengths, world_size, rank):\n    return [part_of(lengths, world_size, r) for r in range(world_size)]
Cut every sample's place, not every shard
    max(low - start, 0), min(high - start, length) -> (length * r // world_size for r in (rank, rank + 1))
"""

EXERCISE = function_exercise(
    __name__,
    calls=epochs,
    label="every rank of seven epochs",
    mistakes=MISTAKES,
    hints="""
Number all samples of the epoch from 0. Which numbers are the rank's? Which numbers has a shard?
With start, the first number of a shard, the rank reads from max(low, start) to min(high, start + length).
Take start away from both, and leave the shard out where nothing remains.
""",
)
