"""Exercise 13d: the work of a step, the time that a published throughput means, and the share of it that is useful."""

from course_lib.grading.exercises.common import function_exercise


def rows(rng):
    """The example by hand, a long sequence, a large vocabulary, one layer, and sizes as in published tables."""
    yield from (([2, 10, 1, length], 40, 5, 2, 140_000, 400_000) for length in (20, 400))
    yield [1, 10, 1, 20], 4000, 3, 1, 140_000, 200_000
    for _ in range(5):
        model = [int(rng.integers(8, 97)), 512 * int(rng.integers(2, 25)), 16, 1024 * int(rng.integers(1, 9))]
        batch, gpus = 64 * int(rng.integers(1, 33)), 8 * int(rng.integers(1, 193))
        vocabulary = int(rng.choice([32_000, 51_200, 128_256]))
        yield model, vocabulary, batch, gpus, 1e12 * int(rng.integers(100, 170)), 312e12


MISTAKES = r"""
That share counts recomputed work, too: it is the hardware's. What does the model need?
    [seconds, needed -> [seconds, done
Three quarters is near only: the output is not recomputed
    needed / (seconds * gpus * peak_flops_per_s) -> 0.75 * flops_per_s / peak_flops_per_s
The devices do the layers' forward pass twice: 4 forward passes in all
    4 * layers -> 3 * layers
The output is not recomputed: 3 times its forward pass
    4 * layers * layer + 3 -> 4 * layers * layer + 4
The output is a matrix product, too, 2 s h V
    2 * s * h * vocabulary -> 0
Attention has products of its own, 4 s² h
     + 4 * s**2 * h ->
Backward is twice forward
    4 * layers * layer + 3 -> 3 * layers * layer + 2
    3 * layers * layer + 3 -> 2 * layers * layer + 2
Only the forward pass is done again, not the backward pass
    4 * layers -> 6 * layers
All GPUs work on a step, not one
    [seconds, -> [seconds * gpus,
or
    (gpus * flops_per_s) -> flops_per_s
A step has `batch` sequences
    [seconds, -> [seconds / batch,
The GPUs achieve flops_per_s: the step takes longer than at the peak
    [seconds, -> [done / gpus / peak_flops_per_s,
or
    gpus * flops -> gpus * peak_flops
A share, not a percentage
    [seconds, -> [seconds, 100 *
There are `layers` of them, and one output
    4 * layers -> 4
    3 * layers -> 3
or
    4 * layers * layer + 3 -> 4 * layers * layer + 3 * layers
    3 * layers * layer + 3 -> 3 * layers * layer + 3 * layers
"""

EXERCISE = function_exercise(
    __name__,
    calls=rows,
    label="eight trainings",
    tolerance=1e-9,
    mistakes=MISTAKES,
    hints="""
For one sequence: a layer forward is 24 s h² + 4 s² h, the output 2 s h V. Backward is twice that.
Done: every layer 4 times its forward pass, the output 3 times. Needed: 3 times each. Both times `batch`.
Seconds: what is done over what all GPUs achieve. MFU: what is needed over what they could in that time.
""",
)
