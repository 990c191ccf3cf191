"""Exercise 07a: how many segments hold least, and what they recompute."""

from course_lib.grading.exercises.common import function_exercise


def lengths(rng):
    """Chains of some layers; several numbers of segments hold equally little."""
    yield from [(10,), (7,), (1,), (2,), (100,), *((int(length),) for length in rng.integers(11, 30_001, 5))]


MISTAKES = r"""
The longer segments come first: when they go back, fewer inputs are held than for the last one
    k: k + layers // k -> k: k - (-layers // k)
    segments + last, -> segments - (-layers // segments),
Several numbers hold as little: take the one that recomputes least
    min(range(1, layers + 1), -> min(range(layers, 0, -1),
√n is near the best number, not always the best itself: try every k
    min(range(1, layers + 1), key=lambda k: k + layers // k) -> round(layers**0.5)
or
    min(range(1, layers + 1), key=lambda k: k + layers // k) -> int(layers**0.5)
or
    min(range(1, layers + 1), key=lambda k: k + layers // k) -> -int(-(layers**0.5) // 1)
The last segment is stored at once: its layers are not run again
    layers - last] -> layers]
The first run of each layer is not recomputed: count the second ones
    layers - last] -> 2 * layers - last]
What a layer gives counts from the start: the last output is held as well
    segments + last, -> segments + last - 1,
First the number of segments, then the peak, then what is recomputed
    [segments, segments + last, -> [segments + last, segments,
"""

EXERCISE = function_exercise(
    __name__,
    calls=lengths,
    label="the best number of segments",
    mistakes=MISTAKES,
    hints="""
When the last segment goes back, the inputs of all k segments are held. How many layers has that segment?
The last segment has layers // k layers. Segments before it are longer by one at most, but hold one input less at least. So what is the peak?
peak = k + layers // k, recomputed = layers - layers // k. Take the smallest k of those with the least peak.
""",
)
