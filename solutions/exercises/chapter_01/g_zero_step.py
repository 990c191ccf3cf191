"""Exercise 01g: a step of ZeRO, stage 1: each rank holds the momentum of its shard only."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import WIDE, Case, Outcome, Rule, whole_numbers
from course_lib.grading.exercises.chapter_01.shared import FAILURES
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.verdict import difference

# ranks, parameters, trials with a changed message, the largest number drawn
SIZES = ((1, 5, 0, WIDE), (2, 8, 0, WIDE), (3, 40, 1, WIDE), (4, 67, 1, WIDE), (3, 2, 0, WIDE), (4, 9, 0, 2**15))


def _positive(rng: np.random.Generator, length: int, most: int) -> torch.Tensor:
    return whole_numbers(rng, length, most=most).abs()


def sharded_steps(rng: np.random.Generator) -> Iterator[Case]:
    """One step of SGD with momentum from the mean gradient; rank r's shard of the momentum is chunk r.

    All numbers are positive, and none comes near zero: whoever multiplies by 1/3 rounds, and that must not count.
    The smallest of them have means that are not whole, and are no wider than the tolerance can tell from whole ones.
    """
    for world_size, length, perturb, most in SIZES:
        parameters, before = 2 * most + _positive(rng, length, most), _positive(rng, length, most)
        times = world_size if most == WIDE else 1
        gradients = [_positive(rng, length, most) * times for _ in range(world_size)]
        after = 0.5 * before + sum(gradients) / world_size
        shards, updated = before.tensor_split(world_size), after.tensor_split(world_size)
        inputs = [(parameters, gradient, shard, 0.25, 0.5) for gradient, shard in zip(gradients, shards, strict=True)]
        expected = [[parameters - 0.25 * after, shard] for shard in updated]
        yield Case(world_size, inputs, expected, perturb, about={"before": before, "after": after})


def shard_bytes(costs: float) -> Rule:
    """A reduce-scatter and an all-gather: twice (world_size - 1) shards."""
    return rules.bytes_per_rank(
        lambda case: 2 * (case.world_size - 1) * -(-case.tensor.numel() // case.world_size) * 4,
        "give each owner its shard of the gradient, and get from each owner its shard of the parameters",
        costs,
    )


def other_chunks(case: Case, outcome: Outcome) -> str | None:
    """Pieces that do not fit those of tensor_split."""
    failure, size, length = outcome.failure, case.world_size, case.tensor.numel()
    if failure is None or "must match the size" not in failure.text or not length % size:
        return None
    pieces = [len(chunk) for chunk in case.tensor.tensor_split(size)]
    return (
        f"shards that do not fit. {length} elements among {size} ranks: tensor_split gives {_row(pieces)} elements, "
        f"chunk gives {_row([len(chunk) for chunk in case.tensor.chunk(size)])}, and length // world_size is "
        f"{length // size}. The shards are those of tensor_split. {failure.text}"
    )


def _row(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def wrong_length(case: Case, outcome: Outcome) -> str | None:
    """A state that is as long as another shard, or as all of them."""
    if outcome.failure is not None:
        return None
    size, length = case.world_size, case.tensor.numel()
    most = -(-length // size)
    for rank, (_, state) in enumerate(outcome.values):
        if state.numel() > most:
            return (
                f"rank {rank} holds {state.numel()} elements of momentum; its shard has {most} at most. To hold only "
                "that is what this exercise is about"
            )
    lengths = [len(each) for each in case.tensor.tensor_split(size)]
    for rank, (_, state) in enumerate(outcome.values):
        if state.numel() != lengths[rank]:
            return (
                f"rank {rank} holds {state.numel()} elements of momentum; its shard, chunk {rank} of "
                f"tensor_split({size}), has {lengths[rank]}, for {length} elements do not divide evenly"
            )
    return None


MISTAKES = r"""
[2] ... give each owner its shard of the gradient
    answer all_reduce
... shards that do not fit
    tensor_split(comm.world_size) -> chunk(comm.world_size)
... its shard has
    answer whole_state
rounded the mean: / is the division that keeps what // throws away
    sum(buffers)) / -> sum(buffers)) //
has the momentum of the sum of gradients: divide by world_size
    (gradients[comm.rank] + sum(buffers)) / comm.world_size -> gradients[comm.rank] + sum(buffers)
left its momentum as it was: state = momentum × state + mean gradient
    state = momentum * state + mean ->
forgot the old momentum: state = momentum × state + gradient
    momentum * state + mean -> mean
took (1 - momentum) × mean gradient: here the gradient comes in whole, as in torch.optim.SGD
    state + mean -> state + (1 - momentum) * mean
added up the chunks that the other ranks own: each rank must send it the chunk that *it* owns
    comm.isend(gradients[rank], rank) -> comm.isend(gradients[comm.rank], rank)
put its own gradient into the momentum: the owner of a shard needs everybody's
    (gradients[comm.rank] + sum(buffers)) / comm.world_size -> gradients[comm.rank]
put only its own gradient into the momentum, divided by world_size: the owner of a shard needs everybody's
    (gradients[comm.rank] + sum(buffers)) / -> gradients[comm.rank] /
has the right momentum, but updated its own shard of the parameters only, the others' are old: the all-gather of parameters is missing
    works = [comm.irecv(shards[rank], rank) for rank in others]\n    works += [comm.isend(mine, rank) for rank in others] -> works = []
has the right momentum, but moved by the gradient: parameters -= rate × state
    mine -= rate * state -> mine -= rate * mean
has the right momentum, but moved the wrong way: parameters -= rate × state
    mine -= rate * state -> mine += rate * state
has the right momentum, but moved by that from before this step
    mine -= rate * state ->
    state = momentum * state + mean -> mine -= rate * state\n    state = momentum * state + mean
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=sharded_steps,
    rules=(
        shard_bytes(costs=1),
        rules.max_messages(lambda case: 2 * case.world_size * (case.world_size - 1), "a shard is one message"),
    ),
    mistakes=MISTAKES,
    before=(other_chunks, *FAILURES, wrong_length),
    in_part=True,
    alike=lambda one, other: difference(one, other, 1e-4) is None,
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-6,
    hints="""
Three acts: everybody hands each owner its chunk of the gradient; the owner updates its shard; every owner hands its chunk of the parameters to everybody.
Chunks from tensor_split are views: what you write into parameters.tensor_split(p)[r], in place, is in `parameters`. And comm.recv(chunks[r], r) writes straight into it.
For each other rank r: irecv a buffer as long as your own chunk from r, isend gradient chunk r to r; wait for all; add. For the all-gather: irecv chunk r from r, isend your own chunk to r; wait for all.
""",
)
