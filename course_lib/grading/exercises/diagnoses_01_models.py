"""What a wrong number of chapter 1 was made of: ZeRO, and training with averages."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.diagnoses_01 import Mistakes, mistaken

__all__ = ["other_chunks", "wrong_shard", "wrong_training"]


# ZeRO


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
    yield "added the gradient to the momentum without damping it", shards(before + total / size)
    yield (
        "put the rate into the momentum: the rate belongs to the step, parameters -= rate × state",
        shards(0.5 * before + 0.25 * total / size),
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


_wrong_momentum = mistaken(_states, item=1)


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
    yield "still has its old parameters", [before] * size
    yield (
        "moved by momentum × state + gradient, as Nesterov's momentum does: parameters -= rate × state",
        [before - 0.25 * (0.5 * after + mean)] * size,
    )
    even = len(before) - len(before) % size
    yield (
        f"is right up to element {even - 1}; {len(before)} elements do not divide evenly among {size} ranks, and the "
        "rest was forgotten",
        [torch.cat([(before - 0.25 * after)[:even], before[even:]])] * size,
    )


_wrong_weights = mistaken(_parameters, item=0)


def _wrong_parameters(case: Case, outcome: Outcome) -> str | None:
    text = _wrong_weights(case, outcome)
    return f"the momentum is right, the parameters are not: {text}" if text else None


# Find the bug


def _trained(
    case: Case, *, average: str, start: str = "rank 0", forgets: bool = False, steps: int | None = None
) -> list[torch.Tensor]:
    """The weights after Adagrad that averages one thing in each of its steps; `forgets`: its state begins anew each
    time. start: the weights of "rank 0", of the "last" rank, each its "own", the "mean" or the "sum" of all."""
    rows = [[each.clone() for each in inputs[:3]] for inputs in case.inputs]
    own = [row[0] for row in rows]
    everybody = {"rank 0": own[0], "last": own[-1], "mean": sum(own) / len(own), "sum": sum(own)}
    starts = {name: [each] * len(own) for name, each in everybody.items()} | {"own": own}
    weights = [each.clone() for each in starts[start]]
    states = [torch.zeros_like(each) for each in weights]
    for step in range(case.about["steps"] if steps is None else steps):
        gradients = [
            2 * row[1][step].T @ (row[1][step] @ weight - row[2][step]) / len(row[2][step])
            for row, weight in zip(rows, weights, strict=True)
        ]
        if average == "gradients":
            gradients = [sum(gradients) / len(gradients)] * len(gradients)
        for weight, state, gradient in zip(weights, states, gradients, strict=True):
            if forgets:
                state.zero_()
            state += gradient**2
            weight -= 0.5 * gradient / (state.sqrt() + 1e-10)
        if average == "parameters":
            weights = [sum(weights) / len(weights) for _ in weights]
        if average == "states":
            states = [sum(states) / len(states) for _ in states]
            weights = [sum(weights) / len(weights) for _ in weights]
    return weights


def _trainings(case: Case) -> Mistakes:
    yield (
        "averages parameters still: each rank's Adagrad divides by its own gradients, and the mean of such steps is "
        "not the step of the mean gradient",
        _trained(case, average="parameters"),
    )
    yield (
        "averages parameters still, and began from weights of its own: nobody handed round those of rank 0",
        _trained(case, average="parameters", start="own"),
    )
    yield (
        "averages gradients, but began from weights of its own, and equal steps never close that gap: hand round the "
        "weights of rank 0 before the first step",
        _trained(case, average="gradients", start="own"),
    )
    yield (
        "began from the mean of all ranks' weights: an honest start, but that of rank 0 was asked for",
        _trained(case, average="gradients", start="mean"),
    )
    yield (
        "averages parameters and what Adagrad remembers; its mean of squares is not the square of the mean gradient",
        _trained(case, average="states"),
    )
    yield "still holds the weights that it began with", [inputs[0] for inputs in case.inputs]
    yield from _slips_in_training(case)
    yield "trained alone: no gradient crossed the wire", _trained(case, average="nothing")


def _slips_in_training(case: Case) -> Mistakes:
    yield (
        "lets Adagrad forget: its state begins with zeros before the first step, and then goes on from step to step",
        _trained(case, average="gradients", forgets=True),
    )
    yield "left out the last batch", _trained(case, average="gradients", steps=case.about["steps"] - 1)
    yield (
        "began from the sum of all ranks' weights: those of rank 0 are to count, so what the others add must be zero",
        _trained(case, average="gradients", start="sum"),
    )
    yield (
        f"began from the weights of rank {case.world_size - 1}; those of rank 0 are to count",
        _trained(case, average="gradients", start="last"),
    )
    yield (
        "holds what rank 0 reached alone, on its own examples: nobody else's gradient is in it",
        [_trained(case, average="nothing")[0]] * case.world_size,
    )
    yield "took plain steps of SGD: `adagrad` divides by the root of its state", _with_sgd(case)


def _with_sgd(case: Case) -> list[torch.Tensor]:
    weights = case.inputs[0][0].clone()
    for step in range(case.about["steps"]):
        rows, wanted = (torch.cat([inputs[place][step] for inputs in case.inputs]) for place in (1, 2))
        weights -= 0.5 * 2 * rows.T @ (rows @ weights - wanted) / len(wanted)
    return [weights] * case.world_size


wrong_training = mistaken(_trainings, rtol=1e-6)
