"""Exercise 02h: the message size at which the ring overtakes the tree, by calculation."""

from course_lib.grading.exercises.common import function_exercise


def crossovers(rng):
    """Ranks that are powers of two and others, and their links."""
    sizes = [4, 8, int(rng.integers(5, 8)), int(rng.integers(9, 16)), int(rng.integers(17, 1000))]
    for world_size in sizes:
        yield world_size, float(rng.integers(1, 99)) / 1e6, float(rng.integers(10, 250)) * 1e8


MISTAKES = r"""
That is right for a tree that only goes up; it must come down again, too
    2 * math.ceil -> math.ceil
A tree has log2(p) levels, not the natural logarithm of p
    math.ceil(math.log2(world_size)) -> math.log(world_size)
There is no part of a level: round log2(p) up
    math.ceil(math.log2(world_size)) -> math.log2(world_size)
That is right for a ring of 2p steps; it needs 2(p - 1)
    2 * (world_size - 1), -> 2 * world_size,
Seconds times bytes per second are bytes; you divided
    latency_s * bytes_per_s -> latency_s / bytes_per_s
That is what a link could have sent while one message waits; count steps and bytes, too
     * (ring_steps - tree_steps) / (tree_steps - ring_share) ->
The rate counts bytes, not bits
    return latency_s -> return 8 * latency_s
or
    return latency_s -> return latency_s / 8
A negative size? A ring's step carries only 1/p of the message, a tree's step all of it
    ring_steps / world_size -> ring_steps
or
    (tree_steps - ring_share) -> (ring_share - tree_steps)
"""

EXERCISE = function_exercise(
    __name__,
    calls=crossovers,
    label="the crossover",
    tolerance=1e-6,
    mistakes=MISTAKES,
    hints="""
Write both times as a + b * message_bytes: a is what the steps cost, b what the bytes cost. Two straight lines meet where a1 + b1 * n = a2 + b2 * n.
Ring: 2(p - 1) steps, each with n / p bytes. Tree: 2 * ceil(log2 p) steps, each with n bytes.
Solve for n: the latencies' difference, times bytes_per_s, over the difference of the bytes' factors. Check with p = 2: the answer is 0, because there the ring is never behind.
""",
)
