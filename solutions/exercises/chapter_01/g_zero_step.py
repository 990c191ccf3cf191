"""Exercise 01g: a step of ZeRO, stage 1: each rank holds the momentum of its shard only."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import WIDE, Case, Outcome, Rule, whole_numbers
from course_lib.grading.exercises.chapter_01.shared import FAILURES
from course_lib.grading.exercises.common import Mistakes, mistaken, rank_exercise


def _positive(rng: np.random.Generator, length: int) -> torch.Tensor:
    return whole_numbers(rng, length, most=WIDE).abs()


def sharded_steps(rng: np.random.Generator) -> Iterator[Case]:
    """One step of SGD with momentum from the mean gradient; rank r's shard of the momentum is chunk r.

    All numbers are positive, and none comes near zero: whoever multiplies by 1/3 rounds, and that must not count.
    """
    for world_size, length, perturb in ((1, 5, 0), (2, 8, 0), (3, 40, 1), (4, 67, 1), (3, 2, 0), (4, 9, 0)):
        parameters, before = 2 * WIDE + _positive(rng, length), _positive(rng, length)
        gradients = [_positive(rng, length) * world_size for _ in range(world_size)]
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


def wrong_shard(case: Case, outcome: Outcome) -> str | None:
    """Parameters or state of a sharded step that are those of another step."""
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
    return _wrong_state(case, outcome) or _wrong_parameters(case, outcome)


def _states(case: Case) -> Mistakes:
    before, size = case.about["before"], case.world_size
    gradients = [inputs[1] for inputs in case.inputs]
    total = sum(gradients)

    def shards(full: torch.Tensor) -> Sequence[torch.Tensor]:
        return full.tensor_split(size)

    yield "holds the momentum of the sum of gradients: divide by world_size", shards(0.5 * before + total)
    yield "left its momentum as it was: state = momentum × state + mean gradient", shards(before)
    yield "forgot the old momentum: state = momentum × state + gradient", shards(total / size)
    yield (
        "took (1 - momentum) × mean gradient: here the gradient comes in whole, as in torch.optim.SGD",
        shards(0.5 * before + 0.5 * total / size),
    )
    if not len(before) % size:
        chunks = [gradient.tensor_split(size)[rank] for rank, gradient in enumerate(gradients)]
        yield (
            "added up the chunks that the other ranks own: each rank must send it the chunk that *it* owns",
            [part + sum(chunks) / size for part in shards(0.5 * before)],
        )
    yield (
        "put its own gradient into the momentum: the owner of a shard needs everybody's",
        [shards(0.5 * before + gradient)[rank] for rank, gradient in enumerate(gradients)],
    )
    yield (
        "put only its own gradient into the momentum, divided by world_size: the owner of a shard needs everybody's",
        [shards(0.5 * before + gradient / size)[rank] for rank, gradient in enumerate(gradients)],
    )


_wrong_momentum = mistaken(_states, 1e-4, item=1)


def _wrong_state(case: Case, outcome: Outcome) -> str | None:
    text = _wrong_momentum(case, outcome)
    return f"the momentum is wrong: {text}" if text else None


def _parameters(case: Case) -> Mistakes:
    size, before, after = case.world_size, case.inputs[0][0], case.about["after"]
    mean = sum(inputs[1] for inputs in case.inputs) / size
    own = []
    for rank, shard in enumerate((before - 0.25 * after).tensor_split(size)):
        parts = list(before.tensor_split(size))
        parts[rank] = shard
        own.append(torch.cat(parts))
    yield (
        "has updated its own shard of the parameters, the others' are old: the all-gather of parameters is missing",
        own,
    )
    yield "moved by the gradient, not by the momentum: parameters -= rate × state", [before - 0.25 * mean] * size
    yield "moved the wrong way: parameters -= rate × state", [before + 0.25 * after] * size
    yield "moved by the momentum from before this step", [before - 0.25 * case.about["before"]] * size


_wrong_weights = mistaken(_parameters, 1e-4, item=0)


def _wrong_parameters(case: Case, outcome: Outcome) -> str | None:
    text = _wrong_weights(case, outcome)
    return f"the momentum is right, the parameters are not: {text}" if text else None


MISTAKES = r"""
[2] ... give each owner its shard of the gradient
    file all_reduce
... shards that do not fit
    tensor_split(comm.world_size) -> chunk(comm.world_size)
... the all-gather of parameters is missing
    works = [comm.irecv(shards[rank], rank) for rank in others]\n    works += [comm.isend(mine, rank) for rank in others] -> works = []
... put its own gradient into the momentum
    (gradients[comm.rank] + sum(buffers)) / comm.world_size -> gradients[comm.rank]
... the momentum of the sum of gradients
    (gradients[comm.rank] + sum(buffers)) / comm.world_size -> gradients[comm.rank] + sum(buffers)
... its shard has
    file whole_state
"""

EXERCISE = rank_exercise(
    id="01g",
    title="A step of ZeRO, stage 1",
    function="zero_step",
    points=4,
    answer="return",
    cases=sharded_steps,
    rules=(
        shard_bytes(costs=2),
        rules.max_messages(lambda case: 2 * case.world_size * (case.world_size - 1), "a shard is one message"),
    ),
    mistakes=MISTAKES,
    diagnoses=(other_chunks, *FAILURES, wrong_shard),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-6,
    hints="""
Three acts: everybody hands each owner its chunk of the gradient; the owner updates its shard; every owner hands its chunk of the parameters to everybody.
Chunks from tensor_split are views: what you write into parameters.tensor_split(p)[r], in place, is in `parameters`. And comm.recv(chunks[r], r) writes straight into it.
For each other rank r: irecv a buffer as long as your own chunk from r, isend gradient chunk r to r; wait for all; add. For the all-gather: irecv chunk r from r, isend your own chunk to r; wait for all.
""",
)
