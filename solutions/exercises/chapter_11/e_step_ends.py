"""Exercise 11e: when each batch is done, if some are loaded ahead."""

from course_lib.grading.exercises.common import function_exercise


def runs(rng):
    """Loading that is always longer, always shorter, or now the one and now the other; one batch; a long wait; batches that
    need no loading, or no compute."""
    yield from [([2, 2, 2, 2], [3, 3, 3, 3], 1), ([4, 4, 4], [3, 3, 3], 1)]
    yield from (([1, 1, 1, 9, 1, 1], [4] * 6, depth) for depth in (1, 3))
    yield from [([1, 1, 1, 1, 1, 1, 20, 1], [6] * 8, 1), ([5], [7], 2), ([1, 9, 1, 1], [4] * 4, 3)]
    yield [0, 2, 0, 5], [3, 1, 0, 2], 1
    for depth in (1, 2, 4):
        yield rng.integers(1, 12, 9).tolist(), rng.integers(1, 12, 9).tolist(), depth


MISTAKES = r"""
That loads a batch only when the one before is done: nothing is loaded ahead
    max(loaded, free) -> sum(ends[-1:])
There are places for depth batches; that loads on and on
    max(loaded, free) -> loaded
The queue has depth places: that has one more
    begins[batch - depth - 1] if batch > depth -> begins[batch - depth - 2] if batch > depth + 1
A batch leaves its place when its compute begins, so loading i waits for the begin of compute i - depth - 1
    begins[batch - depth - 1] if batch > depth -> begins[batch - depth] if batch >= depth
or
    begins[batch - depth - 1] -> ends[batch - depth - 1]
max(load, compute) is the mean step of many equal batches. Here each has its own times
    begins[-1] + compute -> sum(ends[-1:]) + max(load, compute)
or
    begins[-1] + compute -> (ends[-1] if ends else load) + max(compute, [*load_ms, 0][batch + 1])
The device computes one batch after the other
    max(loaded, free) -> loaded
    max(loaded, ends[-1] if ends else 0) -> loaded
Sums forget that one may wait for the other in between
    begins[-1] + compute -> load_ms[0] + max(sum(load_ms[1 : batch + 1]), sum(compute_ms[:batch])) + compute
Those are the times at which the computes begin
    return ends -> return begins
Those are the times at which the batches are loaded
    begins, ends, loaded = [], [], 0 -> begins, ends, loaded, times = [], [], 0, []
    begins.append( -> times.append(loaded)\n        begins.append(
    return ends -> return times
The time at which each batch is done, not only the last
    return ends -> return ends[-1]
"""

EXERCISE = function_exercise(
    __name__,
    calls=runs,
    label="ten runs",
    mistakes=MISTAKES,
    hints="""
Two clocks: when batch i is loaded, and when its compute ends. What does each wait for?
The compute of i begins when i is loaded and the compute of i - 1 has ended. Keep these beginnings.
Loading i begins when i - 1 is loaded and, if i > depth, the compute of i - depth - 1 has begun.
""",
)
