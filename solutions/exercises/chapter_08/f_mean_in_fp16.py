"""Exercise 08f: the mean of gradients whose messages have 16 bits, and whose sums have 32."""

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, rank_exercise

SHAPES = ((1, 4), (2, 6), (4, 11), (5, 3), (8, 40))  # ranks, elements


def gradients(rng):
    """Numbers that fp16 holds, whose means it holds too; their sums leave its range, or need more than its 11 bits."""
    for world_size, length in SHAPES:
        means = rng.integers(-900, 900, length) / 2  # halves: // is no division
        means[::3] = rng.choice([-1, 1], len(means[::3])) * 32.0 * rng.integers(1000, 1900, len(means[::3]))
        rows = np.repeat(means[None], world_size, 0)
        for one in range(1, world_size, 2):  # pairs of ranks that differ from the mean by as much
            apart = np.where(abs(means) > 1024, 32.0 * rng.integers(1, 90, length), rng.integers(1, 1000, length) / 2)
            rows[one - 1] += apart
            rows[one] -= apart
        tensors = [torch.tensor(row, dtype=torch.float32) for row in rows]
        assert all(torch.equal(tensor.half().float(), tensor) for tensor in tensors)
        yield Case(world_size, [(tensor,) for tensor in tensors], ())


def infinite(case, outcome):
    """A sum beyond fp16's range."""
    for rank, value in enumerate(outcome.values if outcome.failure is None else ()):
        if isinstance(value, torch.Tensor) and not value.isfinite().all():
            return (
                f"rank {rank} has {value[~value.isfinite()][0]} in it: a sum of gradients is beyond 65504, the largest "
                "number of fp16. Widen what arrives with .float() before you add, and send gradients and means, no sums"
            )
    return None


def near(case, outcome):
    """A value that rounding has moved: of a sum in fp16, or of addends that were divided first."""
    for rank, (value, right) in enumerate(zip(outcome.values, case.expected, strict=False)):
        if isinstance(value, torch.Tensor) and value.shape == right.shape and not torch.equal(value, right):
            if torch.allclose(value.float(), right, rtol=0.01, atol=5.0):
                return (
                    f"rank {rank} is close to the mean and not equal: something was rounded on the way. Widen what "
                    "arrives with .float() before you add, and divide the sum, not what you send"
                )
            break
    return None


MISTAKES = r"""
has the sum; asked for is the mean: divide by comm.world_size
    own /= comm.world_size ->
    own.half() -> (own / comm.world_size).half()
    copy_(arrived) -> copy_(arrived.float() * comm.world_size)
divided twice by comm.world_size
    own /= comm.world_size -> own /= comm.world_size**2
has floors of the means: // is no division
    own /= -> own //=
still has its own gradient: write the result into `gradient`, in place
    chunks, halves = -> gradient = gradient.clone()\n    chunks, halves =
has the mean in its own chunk only: send it to the others, and write what they send into `gradient`
    chunks[rank].copy_(arrived) -> pass
... a sum of gradients is beyond 65504
    own = chunks[comm.rank] -> own = halves[comm.rank]
    sends += -> chunks[comm.rank].copy_(own)\n    sends +=
... divide the sum, not what you send
    gradient.half() -> (gradient / comm.world_size).half()
    own = chunks[comm.rank] -> own = chunks[comm.rank]\n    own.copy_(halves[comm.rank])
    own /= comm.world_size ->
... the messages of this exercise are torch.float16
    halves[rank].clone() -> chunks[rank].clone()
... each rank owns a chunk of the row
    halves[rank].clone() -> gradient.half()
    torch.empty(len(own), -> torch.empty(len(gradient),
    arrived.float() -> arrived.tensor_split(comm.world_size)[comm.rank].float()
"""

EXERCISE = rank_exercise(
    __name__,
    cases=gradients,
    dtypes=(torch.float16,),
    rules=(
        rules.bytes_per_rank(
            lambda case: 2 * 2 * (case.world_size - 1) * -(-len(case.tensor) // case.world_size),
            "each rank owns a chunk of the row; others send it theirs, and it sends the mean back",
        ),
        rules.max_messages(lambda case: 4 * case.world_size * (case.world_size - 1)),
    ),
    before=(*FAILURES, infinite),
    mistakes=MISTAKES,
    diagnoses=(near,),
    perturbation=None,  # a change of another rank's number may be rounded away
    hints="""
Let rank r own chunk r of gradient.half().tensor_split(comm.world_size): it adds that chunk up in fp32.
First every rank sends every other its chunk, as fp16. The owner adds .float() of what came to its own.
Then total = sum / world_size, sent to all others as .half(); whoever gets it writes it into its own chunk of `gradient`. A chunk without elements need not travel.
""",
)
