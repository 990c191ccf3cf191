"""Exercise 13e: the time of a step on a mesh, part by part."""

from course_lib.grading.exercises.common import function_exercise


def steps(rng):
    """The example by hand, with one chunk and two; dimensions of one rank; drawn ones."""
    hand = 0.010, 10_000_000, 400_000_000, [10e9, 1e9]
    for mesh, chunks in (([2, 2, 2], 1), ([2, 2, 2], 2), ([1, 4, 1], 1), ([4, 1, 1], 1), ([1, 1, 4], 1)):
        yield mesh, 8, 4, chunks, *hand
    for _ in range(5):
        mesh = [int(rng.integers(2, 9)), int(rng.integers(2, 5)), int(rng.choice([2, 4, 8]))]
        chunks = int(rng.integers(1, 4))
        layers, micro_batches = mesh[1] * chunks * int(rng.integers(1, 5)), mesh[1] * int(rng.integers(1, 6))
        sizes = int(rng.integers(5, 90)) * 10**6, int(rng.integers(5, 90)) * 10**8
        rates = [int(rng.integers(10, 30)) * 10e9, int(rng.integers(10, 50)) * 1e9]
        yield mesh, layers, micro_batches, chunks, int(rng.integers(2, 40)) / 1000, *sizes, rates


MISTAKES = r"""
Chunks make the steps of filling and draining shorter: divide the bubble by them
    (p - 1) / chunks -> (p - 1)
Chunks do not make the work less, only the bubble
    * work, -> * work / chunks,
    * tensor, -> * tensor / chunks,
A micro-batch's messages are in the bubble, too: who waits for it waits for them
    (work + tensor) -> work
The bubble is (p - 1) / chunks micro-batches long, on one stage
    tensor, bubble, -> tensor, micro_batches * bubble,
(p - 1) / (m + p - 1) is a share; asked for are seconds
    (p - 1) / chunks * (work + tensor) -> (p - 1) / (micro_batches + p - 1)
That share is of a step with its bubble
    (p - 1) / chunks -> (p - 1) / (micro_batches + p - 1) * micro_batches
Four all-reduces a layer: two forward, two backward
    4 * ring_s -> ring_s
or
    4 * ring_s -> 2 * ring_s
A ring of n ranks sends 2 (n - 1) / n of the bytes, and one rank alone nothing
    2 * (t - 1) / t * activation -> activation
    2 * (d - 1) / d * gradient -> gradient
or
    2 * (d - 1) / d * gradient -> gradient
or
    2 * (t - 1) / t * activation -> activation
or
    2 * (t - 1) -> (t - 1)
    2 * (d - 1) -> (d - 1)
or
    2 * (d - 1) -> (d - 1)
A rank has gradients of its own stage and its tensor part only
    gradient_bytes / p / t / -> gradient_bytes /
or
    gradient_bytes / p / t / -> gradient_bytes / t /
or
    gradient_bytes / p / t / -> gradient_bytes / p /
Gradients are averaged once a step, behind the last micro-batch
    tensor, bubble, -> tensor, bubble, micro_batches *
A stage has layers / p layers
    layers / p * layer_s -> layers * layer_s
    layers / p * 4 -> layers * 4
or
    layers / p * 4 -> layers * 4
or
    layers / p * layer_s -> layers * layer_s
Tensor ranks share a layer's work
    layer_s / t -> layer_s
Tensor ranks are inside a node, data ranks are not
    bytes_per_s[0] -> bytes_per_s[-1]
    bytes_per_s[1] -> bytes_per_s[0]
That is one micro-batch; a step has several
    micro_batches * work, micro_batches * tensor -> work, tensor
The parts, not their sum
    [micro_batches * work, micro_batches * tensor, bubble, gradients] -> micro_batches * (work + tensor) + bubble + gradients
"""

EXERCISE = function_exercise(
    __name__,
    calls=steps,
    label="ten steps",
    tolerance=1e-9,
    mistakes=MISTAKES,
    hints="""
First one micro-batch on one stage: layers / p layers, each with its work / t and its four all-reduces.
A step has m of these on each stage, and the bubble is (p - 1) / chunks of them.
The gradients of a rank: the model's divided by p t. One ring of d ranks, on the outside links.
""",
)
