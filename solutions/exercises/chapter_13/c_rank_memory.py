"""Exercise 13c: what a rank of a mesh keeps in memory."""

from course_lib.grading.exercises.common import function_exercise


def ranks(rng):
    """First, middle and last stages; fewer micro-batches than stages; every stage of ZeRO; one rank alone."""
    small = [4, 100, 10, 50]
    yield from [(small, [2, 2, 2], 0, 1, 8, 1), (small, [2, 2, 2], 1, 1, 8, 1), (small, [1, 1, 1], 0, 1, 1, 0)]
    yield from [([4, 120, 8, 50], [4, 1, 1], 0, 2, 2, 2), (small, [2, 4, 1], 0, 1, 2, 0)]
    yield from [(small, [8, 1, 2], 0, 1, 4, 3), (small, [7, 2, 2], 0, 1, 8, 3)]  # whose parts are no whole bytes
    for zero in (0, 1, 2, 3, 1):
        p, heads = int(rng.choice([2, 3, 4])), int(rng.choice([16, 32]))
        model = [12 * int(rng.integers(1, 4)), heads * int(rng.choice([64, 128])), heads, 512 * int(rng.integers(1, 5))]
        mesh = [int(rng.integers(2, 9)), p, int(rng.choice([2, 4]))]
        yield model, mesh, int(rng.integers(p)), int(rng.integers(1, 5)), int(rng.integers(1, 9)), zero


MISTAKES = r"""
Every stage holds fewer micro-batches than the one before, the last one only 1
    p - stage -> p
The first stage holds most: its micro-batches come back last
    p - stage -> stage + 1
There cannot be more micro-batches under way than there are
    min(p - stage, micro_batches) -> (p - stage)
1F1B does not hold all micro-batches, GPipe does
    min(p - stage, micro_batches) -> micro_batches
Several micro-batches are under way at once
    min(p - stage, micro_batches) -> 1
A stage holds activations of its own layers only
    layers / p * layer] -> layers * layer]
Tensor ranks share the activations, too
    s / h) / t -> s / h)
The scores of attention are kept, too: 5 a s / h
    34 + 5 * a * s / h -> 34
5 a s / h need not be whole: nothing is cut off
    s / h) -> s // h)
Tensor ranks share all that a layer keeps: the sequence is split, too
    34 + -> 24 + 10 * t +
or
    34 + -> 34 * t +
or
    5 * a * s -> 5 * a * s * t
Data ranks have a micro-batch each: they do not share activations
    s / h) / t -> s / h) / t / d
A micro-batch has micro_batch sequences, and each keeps its own
    s * micro_batch * h -> s * h
At its stage {zero}, ZeRO shards {("nothing", "Adam's states alone", "states and gradients", "all three")[zero]}
    zero >= level -> False
or
    zero >= level -> zero
or
    zero >= level -> zero == level
or
    zero >= level -> zero > level
or
    in (3, 2, 1) -> in (1, 2, 3)
ZeRO shards over the data ranks
    [d if -> [t if
A rank has the layers of its stage only
    layers / p / t -> layers / t
Tensor ranks share each layer's parameters
    layers / p / t -> layers / p
12 h² parameters, and what is kept of a micro-batch, are one layer's: a stage has layers / p of them
    layers / p / t -> 1 / t
or
    * layers / p * layer] -> * layer]
or
    layers / p / t -> 1 / t
    * layers / p * layer] -> * layer]
Adam's states are 12 bytes a parameter: a 32-bit copy of it and two moments
    2, 12) -> 2, 8)
16 bytes a parameter are all three together: 2 and 2 and 12
    2, 12) -> 2, 16)
Parameters and gradients have 16 bits, 2 bytes each
    (2, 2, -> (4, 4,
Four numbers, not their sum
    [*kept, min -> sum(kept) + (min
    * layer] -> * layer)
"""

EXERCISE = function_exercise(
    __name__,
    calls=ranks,
    label="twelve ranks",
    tolerance=1e-9,
    mistakes=MISTAKES,
    hints="""
First how many parameters the rank has: 12 h² a layer, layers / p layers, and each shared by t ranks.
ZeRO divides by d: the states from stage 1 on, the gradients from stage 2 on, the parameters at stage 3.
Micro-batches under way on stage k in 1F1B: p - k, but never more than there are.
""",
)
