"""Exercise 11d: misses of a cache, epoch by epoch."""

from course_lib.grading.exercises.common import function_exercise


def epochs(rng):
    """The same order each epoch, fresh orders, and epochs in which samples come several times."""
    orders = [([[0, 1, 2, 3]] * 3, 3), ([[0, 1, 2], [1, 0, 2]], 2), ([[0, 1, 0, 2, 0, 1]] * 2, 2)]
    orders.append(([rng.permutation(8).tolist() for _ in range(4)], 5))
    orders.append(([rng.integers(0, 9, 14).tolist() for _ in range(3)], 4))
    orders.append(([rng.permutation(5).tolist() for _ in range(3)], 5))
    orders.append(([[3, 1, 2]] * 2, 1))
    yield from ((order, places, policy) for order, places in orders for policy in ("lru", "keep"))


MISTAKES = r"""
The cache stays full from one epoch to the next
    counts.append(0) -> counts.append(0)\n        kept = []
Those are hits: count what was not there
    if sample not in kept: -> if sample in kept:
A number for each epoch, not all together
    return counts -> return sum(counts)
A number of misses, not their share
    return counts -> return [count / len(epoch) for count, epoch in zip(counts, epochs)]
The misses of each epoch by itself, not all up to then
    counts.append(0) -> counts.append(sum(counts[-1:]))
"keep" never lets anything go
    policy == "lru" -> True
"lru" makes room for what comes
    policy == "lru" -> False
"lru" and "keep" are exchanged
    policy == "lru" -> policy == "keep"
A sample that "keep" has no place for is a miss, each time
    if sample not in kept: -> if sample not in kept and (policy == "lru" or len(kept) < places):
A sample that was there has been used just now: it goes last. There what came in first goes first
    kept.remove(sample) -> continue
What was asked for last is kept; there it is let go
    kept.remove(sample) -> continue
    kept = kept[-places:] -> del kept[places - 1 : -1]
or
    kept = kept[-places:] -> del kept[places - 1 : -1]
The cache has places for so many samples, no more
    kept[-places:] -> kept[-places - 1 :]
    len(kept) < places -> len(kept) <= places
The cache has places for so many samples, no fewer
    kept[-places:] -> kept[len(kept) - places + 1 :] if len(kept) >= places else kept
    len(kept) < places -> len(kept) < places - 1
"""

EXERCISE = function_exercise(
    __name__,
    calls=epochs,
    label="seven orders, both policies",
    mistakes=MISTAKES,
    hints="""
A list will do as the cache: what was asked for last stands at its end.
"lru": take a sample that is there out of the list; then put it at the end. Too long? The first one goes.
"keep": a sample that is not there is put in only while there is a place.
""",
)
