"""Exercise 05h: attention over a sequence that is cut, with the keys and values on a ring."""

import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, given_nothing, rank_exercise
from course_lib.grading.verdict import difference

# Ranks, tokens of each, added to all keys, and how far the first of each rank lies below the others.
SHAPES = ((3, 2, 0, 0), (2, 3, 200, 0), (4, 1, 0, 0), (5, 3, -200, 0), (1, 3, 0, 0), (2, 2, 195, 390))


def sequences(rng):
    """Queries of 1 and of 2, keys a few apart, so that every key counts; some scores are too large for exp, and some on
    one rank so far apart that exp of the difference is."""
    for world_size, tokens, added, below in SHAPES:
        inputs = []
        for _ in range(world_size):
            q = torch.tensor(rng.integers(1, 3, tokens), dtype=torch.float32)
            k = torch.tensor(rng.permutation(40)[:tokens] / 20 + added, dtype=torch.float32)
            k[0] -= below
            v = torch.tensor(rng.integers(1, 100, tokens), dtype=torch.float32)
            inputs.append((q, k, v))
        around = f"{added - below} and " * bool(below) + str(added)
        label = f"world_size {world_size}, {tokens} tokens on each rank, keys around {around}"
        yield Case(world_size, inputs, [], label=label)


def overflow(case, outcome):
    """An attention that is no finite number."""
    large = any(inputs[1].abs().max() > 50 for inputs in case.inputs)
    for rank, value in enumerate(outcome.values if large and outcome.failure is None else ()):
        if isinstance(value, torch.Tensor) and not value.isfinite().all():
            return (
                f"rank {rank} has an attention of {value[~value.isfinite()][0]}: exp of a score of 200 is beyond float32, "
                "and exp of -200 is 0. Measure exponentials from the largest score so far"
            )
    return None


def _right(rank, world_size):
    return [(rank + 1) % world_size]


MISTAKES = r"""
has seen its own keys only: keys and values go round the ring, p - 1 times
    range(comm.world_size) -> range(1)
has not seen the keys of one rank: of p ranks there are p pieces, the first of them its own
    range(comm.world_size) -> range(comm.world_size - 1)
    step < comm.world_size - 1 -> step < comm.world_size - 2
weighs what it has seen by an old largest score: a larger one scales the total and the value so far down
    total * old -> total
    value * old -> value
has scaled the value down and not the total: both are made of the same exponentials
    total * old -> total
has scaled the total down and not the value: both are made of the same exponentials
    value * old -> value
has the weighted sum of the values: at the end it is divided by the total of the weights
    return value / total -> return value
weighs its own values by the keys of others: a key and its value travel together
    k, v = travelling -> k = travelling[0]
has counted the last piece alone: what came before is kept, and added to
    total * old + ->
    value * old + ->
has the mean of the attentions to each piece: a piece with large scores counts more than one with small ones
    value * old + weights @ v -> value + weights @ v / weights.sum(1)
    total * old + weights.sum(1) -> total + 1
or
    value * old + weights @ v -> value + scores.softmax(1) @ v
    total * old + weights.sum(1) -> total + 1
has added a piece as measured from that piece's own largest score: measure it from the largest so far
    (scores - top.unsqueeze(1)) -> (scores - scores.amax(1, keepdim=True))
... Measure exponentials from the largest score so far
    torch.maximum(largest, scores.amax(1)) -> torch.zeros_like(q)
... the last turn would bring a rank its own keys back
    step < comm.world_size - 1 -> comm.world_size > 1
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=sequences,
    tolerance=1e-4,
    rules=(
        rules.neighbors(_right, "its right neighbor"),
        rules.bytes_per_rank(
            lambda case: 4 * 2 * len(case.inputs[0][1]) * (case.world_size - 1),
            "keys and values make p - 1 turns; the last turn would bring a rank its own keys back",
        ),
        rules.max_messages(lambda case: 2 * case.world_size * (case.world_size - 1)),
    ),
    before=(*FAILURES, given_nothing, overflow),
    mistakes=MISTAKES,
    alike=lambda one, other: difference(one, other, 1e-4) is None,
    perturbation=None,  # what a changed key does to the attention of far larger ones is lost in rounding
    hints="""
What must a rank remember of the keys that it has seen, so that they may travel on? Exercise e put such pieces together.
Three numbers for each query: the largest score so far, the total of exp(score - largest), the sum of exp(score - largest) times the value. Send on what is here, and take what comes from the left.
scores = torch.outer(q, k); top = torch.maximum(largest, scores.amax(1)); old = (largest - top).exp(); weights = (scores - top.unsqueeze(1)).exp(); total = total * old + weights.sum(1); value likewise, with weights @ v.
""",
)
