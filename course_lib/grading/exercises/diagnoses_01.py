"""What a wrong number of chapter 1 was made of: each function takes a case and its outcome, and gives a text or None.

Most of them compute what a plausible mistake would give and compare; `mistaken` does that for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, product

import torch

from course_lib.grading.exercise import Case, Diagnosis, Outcome
from course_lib.grading.exercises.diagnoses import needs_others

__all__ = [
    "Mistakes",
    "alone",
    "by_value",
    "empty_rank_left",
    "mistaken",
    "own_shuffle",
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
    """A world of one rank, and the program wants to talk to somebody."""
    if not needs_others(case, outcome) or outcome.failure is None:
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
    for _, group in groupby(_calls(case, outcome), key=lambda call: (id(call[0][0]), call[0][2])):
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


def by_value(case: Case, outcome: Outcome) -> str | None:
    """Each example goes to a rank by its number, not by its place."""
    if outcome.failure is not None:
        return None
    parts = [(order.tolist(), rank, size, list(map(int, part))) for (order, rank, size), part in _calls(case, outcome)]
    if all([n for n in order if n % size == rank] == part for order, rank, size, part in parts):
        return (
            "you deal out by what the examples are (number % world_size), and not by their places in the order: with "
            "other numbers one rank may get all of them. Take every world_size-th place"
        )
    return None


def _calls(case: Case, outcome: Outcome) -> Iterator[tuple[tuple, Sequence]]:
    return zip(case.inputs, outcome.values, strict=True)


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
            "What irecv brings is there after its wait(), not before: keep the buffers, wait, and only then add. And "
            "add in place, to the tensors of `gradients` themselves: what you return is not looked at"
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
            question = (
                f"Who sends to rank {rank}? Every rank sends to each other one"
                if set(times) == {0, 1}
                else "Did a gradient change while it was still being sent, or do two receives share a buffer?"
            )
            return f"rank {rank} holds in layer {layer} {words}; each belongs in it once. {question}"
    return None
