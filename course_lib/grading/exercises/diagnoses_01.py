"""What a wrong number of chapter 1 was made of: each function takes a case and its outcome, and gives a text or None.

Most of them compute what a plausible mistake would give and compare; `mistaken` does that for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, product

import torch

from course_lib.grading.exercise import Case, Diagnosis, Outcome

__all__ = [
    "Mistakes",
    "alone",
    "empty_rank_left",
    "mistaken",
    "not_a_number",
    "own_shuffle",
    "still_its_own",
    "wrong_accumulation",
    "wrong_average",
    "wrong_layers",
]

Mistakes = Iterator[tuple[str, Sequence[torch.Tensor]]]  # what went wrong, and what each rank would hold then


def mistaken(mistakes: Callable[[Case], Mistakes], item: int | None = None, rtol: float = 1e-4) -> Diagnosis:
    """A diagnosis that compares each rank's value (or this item of it) with what these mistakes would give."""

    def diagnose(case: Case, outcome: Outcome) -> str | None:
        if outcome.failure is not None:
            return None
        came = [value if item is None else value[item] for value in outcome.values]
        right = [value if item is None else value[item] for value in case.expected]
        off = [rank for rank in range(case.world_size) if not _close(came[rank], right[rank], rtol)]
        for text, candidates in mistakes(case):
            if off and all(_close(came[rank], candidates[rank], rtol) for rank in off):
                return f"rank {off[0]} {text}"
        return None

    return diagnose


def _close(one: torch.Tensor, other: torch.Tensor, rtol: float) -> bool:
    return one.shape == other.shape and torch.allclose(one.double(), other.double(), rtol=rtol, atol=1e-9)


def alone(case: Case, outcome: Outcome) -> str | None:
    """A world of one rank, and the program fails."""
    if case.world_size > 1 or outcome.failure is None or outcome.failure.kind in ("no function", "not attempted"):
        return None
    return f"a single rank has nobody to talk to, and yet the program stopped: {outcome.failure.text}"


def empty_rank_left(case: Case, outcome: Outcome) -> str | None:
    """A deadlock, because a rank without examples goes home."""
    counts, failure = case.about.get("counts", ()), outcome.failure
    if 0 not in counts or failure is None or failure.kind != "deadlock":
        return None
    rank = counts.index(0)
    if f"finished already: rank {rank}" not in failure.text:
        return None
    home = f"rank {rank} has no examples and went home; the others wait for it forever. It must send its zeros"
    return f"{home}\n{failure.text}"


def own_shuffle(case: Case, outcome: Outcome) -> str | None:
    """As many examples as there are, some of them twice and others never."""
    calls = zip(case.inputs, outcome.values, strict=True)
    for _, group in groupby(calls, key=lambda call: (id(call[0][0]), call[0][2])):
        epoch = list(group)
        order, world_size = epoch[0][0][0].tolist(), epoch[0][0][2]
        held = [int(number) for _, part in epoch for number in part]
        missing = sorted(set(order) - set(held))
        if len(held) == len(order) and missing and set(held) <= set(order):
            return (
                f"{len(order)} examples, {world_size} ranks: the parts hold {len(held)} in all, but some are there "
                f"twice and {missing[:4]} never. Does every rank shuffle for itself, or begin at another rank's place? "
                "`order` is shuffled already, the same on every rank: take a part of it as it is"
            )
    return None


# Averages


def not_a_number(case: Case, outcome: Outcome) -> str | None:
    """Not a number, from a rank that has no examples."""
    counts = case.about.get("counts", ())
    if outcome.failure is not None or 0 not in counts:
        return None
    for rank, value in enumerate(outcome.values):
        if any(torch.isnan(each).any() for each in (value if isinstance(value, (list, tuple)) else [value])):
            return (
                f"rank {rank} holds nan: rank {counts.index(0)} has no examples, the mean of nothing is 0/0, and 0 × "
                "nan is nan as well. What it must contribute is zeros"
            )
    return None


def still_its_own(case: Case, outcome: Outcome) -> str | None:
    """Every rank holds what it began with."""
    if outcome.failure is not None or case.world_size == 1:
        return None
    if not all(torch.equal(value, inputs[0]) for value, inputs in zip(outcome.values, case.inputs, strict=True)):
        return None
    return (
        f"{len(outcome.trace.messages)} messages crossed the wire, and every rank still holds its own gradient. Write "
        "the result into `gradient` itself, with copy_(...), mul_(...) or /=: `gradient = ...` makes a new tensor"
    )


def _averages(case: Case) -> Mistakes:
    size, counts = case.world_size, case.about["counts"]
    means = [torch.nan_to_num(inputs[0]) for inputs in case.inputs]
    weighted = sum(n * mean for n, mean in zip(counts, means, strict=True))
    largest, total = max(counts), sum(counts)

    def everywhere(tensor: torch.Tensor) -> list[torch.Tensor]:
        return [tensor] * size

    of_whom = ", ".join(map(str, counts))
    yield (
        f"holds the mean of the ranks' means, as if all of them had equally many examples; they have {of_whom}",
        everywhere(sum(means) / size),
    )
    some = sum(n > 0 for n in counts)
    yield (
        f"holds the mean of the means of those who have examples, each counted alike; they have {of_whom}",
        everywhere(sum(means) / some),
    )
    yield "holds the sum over all examples: divide it by their number", everywhere(weighted)
    yield (
        f"holds the sum over all {total} examples divided by {size}, the number of ranks; divide by that of examples",
        everywhere(weighted / size),
    )
    yield "holds the sum of the ranks' means; neither weights nor a division", everywhere(sum(means))
    yield f"weighs by the largest part ({largest}), not by all examples", everywhere(weighted / largest)
    yield (
        "divided by its own number of examples: the number must be added up over the ranks, too",
        [weighted / max(n, 1) for n in counts],
    )


wrong_average = mistaken(_averages)


def _accumulations(case: Case) -> Mistakes:
    size = case.world_size
    plan = [inputs[1] for inputs in case.inputs]
    means = [inputs[0] for inputs in case.inputs]
    local = [sum(n * m for n, m in zip(c, g, strict=True)) / sum(c) for c, g in zip(plan, means, strict=True)]
    every = sum(map(len, plan))
    total = sum(map(sum, plan))
    everything = sum(sum(each) for each in means)
    weighted = sum(sum(n * m for n, m in zip(c, g, strict=True)) for c, g in zip(plan, means, strict=True))
    texts = [
        (
            "holds the mean of all micro-batches' means, as if all were equally long; weigh each by its examples",
            everything / every,
        ),
        ("holds the sum of all micro-batches' means: neither weights nor a division", everything),
        (
            f"divided by {size}, the number of ranks, and not by that of micro-batches or examples: adding up .grad "
            "adds up means, and the step gets longer with every micro-batch",
            everything / size,
        ),
        ("holds the sum over all examples: divide it by their number", weighted),
        (
            "weighs inside each rank as it should, and then takes the mean over ranks, as if each had equally many "
            "examples",
            sum(local) / size,
        ),
        (
            "holds what the last micro-batches give: each overwrote the one before. Add them up",
            sum(c[-1] * g[-1] for c, g in zip(plan, means, strict=True)) / sum(c[-1] for c in plan),
        ),
        (
            "divided the sum of the last micro-batches by all examples: each overwrote the one before. Add them up",
            sum(c[-1] * g[-1] for c, g in zip(plan, means, strict=True)) / total,
        ),
    ]
    for text, tensor in texts:
        yield text, [tensor] * size
    yield from _own_divisions(weighted, local, plan)


def _own_divisions(weighted: torch.Tensor, local: list[torch.Tensor], plan: list) -> Mistakes:
    yield (
        "divided the sum over all ranks by its own number of examples: add up the numbers, too, in the same all-reduce",
        [weighted / sum(counts) for counts in plan],
    )
    yield "holds the mean over its own examples: nothing was added between the ranks", local


wrong_accumulation = mistaken(_accumulations)


# Overlap


def wrong_layers(case: Case, outcome: Outcome) -> str | None:
    """Sums that are incomplete, layer by layer."""
    if outcome.failure is not None or case.world_size == 1:
        return None
    off = [
        (rank, layer)
        for rank, (value, right) in enumerate(zip(outcome.values, case.expected, strict=True))
        for layer in range(len(right))
        if not torch.equal(value[layer], right[layer])
    ]
    own = all(torch.equal(outcome.values[rank][layer], case.inputs[rank][0][layer]) for rank, layer in off)
    everything = len(off) == case.world_size * len(case.about["lengths"])
    if own and everything:
        return (
            f"{len(outcome.trace.messages)} messages crossed the wire, and every rank still holds its own gradients. "
            "What irecv brings is there after its wait(), not before: keep the buffers, wait, and only then add"
        )
    if own:
        rank, layer = off[0]
        return f"rank {rank} never added anything to the gradient of layer {layer}; the other layers are right"
    rank, layer = off[0]
    right, came = case.expected[rank][layer], outcome.values[rank][layer]
    if torch.equal(came * case.world_size, right):
        return f"rank {rank} holds the mean in layer {layer}; the sum was asked for, so leave out the division"
    return _unequal_copies(case, rank, layer, came)


def _unequal_copies(case: Case, rank: int, layer: int, came: torch.Tensor) -> str | None:
    """How often each rank's gradient is in a sum that came, where not once each."""
    own = torch.stack([inputs[0][layer] for inputs in case.inputs])
    for times in product(range(3), repeat=case.world_size):
        if torch.equal(torch.tensor(times, dtype=own.dtype) @ own, came):
            words = ", ".join(f"rank {other}'s gradient {count} times" for other, count in enumerate(times))
            return (
                f"rank {rank} holds in layer {layer} {words}; each belongs in it once. Did a gradient change "
                "while it was still being sent, or do two receives share a buffer?"
            )
    return None
