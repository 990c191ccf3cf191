"""Exercise 12f: what is left of an epoch after restarts with other numbers of ranks, and who gets it."""

from course_lib.grading.exercises.common import function_exercise


def epochs(rng):
    """One death and several; deaths before the first checkpoint and right at one; fewer examples left than ranks."""
    shapes = [
        (10, 1, 2, [[3, 3]], 2),
        (24, 2, 2, [[4, 1]], 3),
        (60, 2, 3, [[4, 4], [3, 6], [2, 2]], 3),
        (50, 3, 2, [[4, 3], [2, 1], [3, 2]], 1),
        (26, 2, 1, [[4, 3]], 4),
        (40, 1, 4, [[5, 7], [4, 5]], 6),
        (16, 1, 1, [[4, 4]], 3),
        (31, 2, 5, [], 4),
    ]
    for number, (length, *others) in enumerate(shapes):
        yield rng.permutation(length).tolist() if number else [7, 2, 5, 0, 9, 1, 4, 8, 3, 6], *others


MISTAKES = r"""
What was trained on after the last checkpoint is lost with the weights: it comes again
    steps // every * every -> steps
An epoch that has begun goes on: what is in the checkpoint does not come again
    order[taken:] -> order
A step takes `batch` examples on *each* rank of its run
    * former_ranks * batch -> * batch
A step takes `batch` examples on each rank
    * former_ranks * batch -> * former_ranks
A checkpoint stands for `every` steps
    // every * every -> // every
Each run begins at a checkpoint, and counts its steps from there
    taken = 0 -> taken = done = 0
    steps // every * every * former_ranks * batch -> ((done + steps) // every * every - done // every * every) * former_ranks * batch; done += steps
Every run had its own number of ranks, and it was not that of now
    * former_ranks -> * ranks
All runs since the epoch began count, not the last one alone
    taken += -> taken =
The rest is dealt one by one, like cards, whatever the batch is
    order[taken:][rank::ranks] -> [each for at, each in enumerate(order[taken:]) if at // batch % ranks == rank]
Each rank of now gets a list, an empty one if nothing is left for it
    for rank in range(ranks)] -> for rank in range(ranks) if order[taken:][rank::ranks]]
The rest is dealt like cards, one to each rank in turn, not in blocks
    order[taken:][rank::ranks] -> order[taken:][rank * -(-len(order[taken:]) // ranks) :][: -(-len(order[taken:]) // ranks)]
Each example once: the lists need not be equally long
    order[taken:][rank::ranks] -> (order[taken:] + order[taken:][: -len(order[taken:]) % ranks])[rank::ranks]
None may be left out: the lists need not be equally long
    order[taken:][rank::ranks] -> order[taken:][: len(order[taken:]) // ranks * ranks][rank::ranks]
The old shares of ranks that are gone go to nobody: put the rest together, and deal it anew
    taken = 0 -> former_ranks, steps = ranks, 0
    order[taken:][rank::ranks] -> order[rank::former_ranks][steps // every * every * batch :]
    taken += steps -> _ = steps
"""

EXERCISE = function_exercise(
    id="12f",
    title="The rest of the epoch",
    function="dealt",
    points=4,
    calls=epochs,
    label="eight epochs",
    mistakes=MISTAKES,
    hints="""
How many steps of a run are in its last checkpoint? And how many examples are that?
steps // every * every steps, each of ranks * batch examples. Add up all runs: so many of `order` are done.
rest = order[taken:], and rank r gets rest[r::ranks].
""",
)
