"""Exercise 05g: seeds of dropout masks, to be mended."""

from course_lib.grading.exercises.common import function_exercise, two_factors


def worlds(rng):
    """Tensor-parallel ranks, replicas, whether the sequence is cut between the layers."""
    yield 2, 1, False
    yield 2, 2, False
    yield 2, 2, True
    yield 1, 3, False
    for cut in (False, True, False, True):
        yield *two_factors(rng, 400, 400, most=5000), cut


MISTAKES = r"""
That is what it gave before: replicas have other examples, and need other masks
    rank if sequence_cut else rank - rank % tensor -> 0
Where the sequence is cut, ranks hold other tokens between the layers: other seeds, too
    rank if sequence_cut else ->
Between the layers all ranks of a group hold the same activations: with different masks the copies differ
    rank if sequence_cut else rank - rank % tensor -> rank
Inside a layer every rank has heads of its own: with one seed they all drop the same
    list(ranks) -> [rank - rank % tensor for rank in ranks]
That is the number of the replica; asked for is the number of its first rank
    rank - rank % tensor -> rank // tensor
A replica's ranks follow each other: 0 to tensor - 1 are the first
    rank - rank % tensor -> rank % data
That is each rank's place in its replica; between the layers all ranks of a replica have the number of its first rank
    rank - rank % tensor -> rank % tensor
Replicas have other examples: inside a layer, too, they need other masks
    list(ranks) -> [rank % tensor for rank in ranks]
The seeds of the dropout inside a layer come first
    [inside, between] -> [between, inside]
"""

EXERCISE = function_exercise(
    __name__,
    calls=worlds,
    label="seeds of dropout masks",
    mistakes=MISTAKES,
    hints="""
For each dropout: do two ranks hold the same numbers there, or each its own?
Same numbers, same mask: only between the layers, within one tensor-parallel group, if the sequence is whole.
Inside: rank. Between: rank if sequence_cut else rank - rank % tensor, the first rank of the group.
""",
)
