"""Exercise 05f: the collectives of one block and their bytes, by calculation."""

from course_lib.grading.exercises.common import function_exercise


def blocks(rng):
    """Tokens, width, tensor-parallel ranks, replicas, whether the sequence is cut between the layers."""
    yield 8, 4, 2, 1, False
    yield 8, 4, 2, 1, True
    yield 8, 4, 1, 2, False
    for tensor, data, cut in ((4, 2, False), (2, 4, True), (1, 1, False), (8, 8, True), (3, 3, False)):
        parts = tensor if tensor == 3 else 8
        yield int(rng.integers(2, 60)) * parts, int(rng.integers(2, 60)) * parts, tensor, data, cut


MISTAKES = r"""
The backward pass has as many collectives as the forward pass
    4 * (tensor > 1) -> 2 * (tensor > 1)
A rank has 12 width² / tensor weights, and sums the gradients of those only
    width**2 / tensor -> width**2
The replicas sum the gradients of the weights, once
    int(data > 1) -> 0
    12 * width**2 / tensor -> 0
In a group of one there is no collective, and nothing to count
    4 * (tensor > 1), int(data > 1) -> 4, 1
A rank keeps what it gathered for the way back: nothing is gathered twice
    [replicated, crossings, crossings, sent] -> [replicated, crossings + 2 * (tensor > 1), crossings, sent + activations]
Where the sequence is cut there are no all-reduces of activations: each is a reduce-scatter and an all-gather
    if sequence_cut: -> if False:
or
    [replicated, crossings, crossings, sent] -> [crossings + replicated, crossings, crossings, sent]
A reduce-scatter and an all-gather send as many bytes as one all-reduce: nothing is saved but memory
    (activations + gradients) -> (activations / (1 + sequence_cut) + gradients)
or
    (activations + gradients) -> (activations * (1 + sequence_cut) + gradients)
Every replica has so many tokens of its own
    * tokens * width -> * tokens / data * width
or
    * tokens * width -> * tokens * data * width
Four bytes a number
    4 * (activations -> (activations
One all-reduce for two layers: between the first and the second nothing crosses
    4 * (tensor > 1) -> 8 * (tensor > 1)
The gradients of a part are summed by those who have the same part: a ring of `data` ranks
    2 * (data - 1) / data -> 2 * (tensor * data - 1) / (tensor * data)
What crosses has `width` numbers a token: the hidden numbers of the MLP stay on their ranks
    * tokens * width -> * tokens * 4 * width
"""

EXERCISE = function_exercise(
    __name__,
    calls=blocks,
    label="collectives of a block",
    tolerance=1e-9,
    mistakes=MISTAKES,
    hints="""
Where in a block are the f and the g? Which of them sums on the way forward, which on the way back?
An f and a g around the attention, and around the MLP: two all-reduces forward, two backward. Where the sequence is cut, each is a reduce-scatter here and an all-gather there.
4 · 2 (t − 1) / t · tokens · width numbers for activations, and 2 (d − 1) / d · 12 width² / t for gradients. A group of one has no collectives.
""",
)
