"""What goes wrong on the wire of chapter 2: each function takes a case and its outcome, and gives a text or None."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.diagnoses import counted

__all__ = [
    "added_again",
    "added_on_the_way_back",
    "evenly_cut",
    "leaders_only",
    "left_behind",
    "never_came",
    "no_way_down",
    "node_sums",
    "not_a_power_of_two",
    "only_own_chunk",
    "other_chunk_finished",
    "overwritten",
    "passes_on_its_sum",
    "same_parcel",
    "sent_too_early",
]


# Rings


def other_chunk_finished(case: Case, outcome: Outcome) -> str | None:
    """Each rank finished a chunk, and not its own."""
    finished = [_finished(case, value) for value in outcome.values]
    if case.world_size == 1 or not all(len(chunks) == 1 and rank not in chunks for rank, chunks in enumerate(finished)):
        return None
    return (
        f"rank 0 ends with the finished sum of chunk {finished[0][0]}, rank 1 with that of chunk {finished[1][0]}; "
        "asked for is chunk r on rank r. Your circle is right, your chunk numbers are off by a constant."
    )


def evenly_cut(case: Case, outcome: Outcome) -> str | None:
    """Chunks of world_size equal parts, and a remainder that nobody has."""
    length, size = case.tensor.numel(), case.world_size
    part = length // size
    if not part or not length % size:
        return None
    total = _total(case)
    for rank, value in enumerate(outcome.values):
        if not torch.equal(value[rank * part : (rank + 1) * part], total[rank * part : (rank + 1) * part]):
            return None
    sizes = ", ".join(str(len(chunk)) for chunk in total.tensor_split(size))
    return (
        f"{length} elements in {size} equal chunks of {part} leave {length % size} over, and nobody adds those. "
        f"tensor.tensor_split({size}) gives chunks of {sizes}."
    )


def only_own_chunk(case: Case, outcome: Outcome) -> str | None:
    """The first circle ran, the second did not."""
    size, count = case.world_size, len(outcome.trace.messages)
    if size == 1 or count > size * (size - 1) or any(len(_finished(case, value)) != 1 for value in outcome.values):
        return None
    return (
        f"each rank holds the finished sum of one chunk only (rank 0: chunk {_finished(case, outcome.values[0])[0]}); "
        "the second circle, which hands the finished chunks round, did not happen"
    )


def added_again(case: Case, outcome: Outcome) -> str | None:
    """In an all-gather what arrives was added to what was there."""
    for rank, number, came, right, own in _chunks(case, outcome):
        if torch.equal(came, own + right):
            return (
                f"rank {rank} added the finished chunk {number} to what stood there before: in this circle a chunk is "
                "finished, so what arrives replaces the old numbers"
            )
    return None


def sent_too_early(case: Case, outcome: Outcome) -> str | None:
    """Someone passed on a chunk before it was finished."""
    for rank, number, came, _, _ in _chunks(case, outcome):
        for other, inputs in enumerate(case.inputs):
            if other not in (rank, number) and torch.equal(came, inputs[0].tensor_split(case.world_size)[number]):
                return (
                    f"rank {rank} got chunk {number} as it was on rank {other} in the beginning: rank {other} sent it "
                    "before the finished one had reached it. In the first step each rank sends its own chunk."
                )
    return None


def never_came(case: Case, outcome: Outcome) -> str | None:
    """A chunk is still as it was."""
    if case.world_size == 1:
        return None
    count = len(outcome.trace.messages)
    for rank, number, came, _, own in _chunks(case, outcome):
        if torch.equal(came, own):
            return (
                f"rank {rank}'s chunk {number} is what it was in the beginning, after {count} messages in all; every "
                f"rank must receive {case.world_size - 1}, straight into the chunks of `tensor`"
            )
    return None


# Trees and doubling


def no_way_down(case: Case, outcome: Outcome) -> str | None:
    """One rank has the sum and keeps it."""
    right = [rank for rank, value in enumerate(outcome.values) if torch.equal(value, _total(case))]
    if len(right) != 1 or len(outcome.trace.messages) >= 2 * (case.world_size - 1):
        return None
    return f"rank {right[0]} holds the sum, and nobody else does: the way up is right, the way down is missing"


def added_on_the_way_back(case: Case, outcome: Outcome) -> str | None:
    """Every rank is in the sum, and some more than once."""
    for rank, start, stop, counts in counted(case, outcome):
        if min(counts) > 0 and max(counts) > 1:
            return (
                f"rank {rank} holds in elements {start} to {stop - 1}: {_terms(counts)}. Everybody is in it, somebody "
                "more than once: on its way back the sum is finished, so it replaces what was there"
            )
    return None


def not_a_power_of_two(case: Case, outcome: Outcome) -> str | None:
    """It breaks down where not every rank has a partner."""
    size = case.world_size
    if outcome.failure is None or size & (size - 1) == 0 or outcome.failure.kind == "not attempted":
        return None
    return f"{size} is no power of two, so not every rank has a partner in each round: {outcome.failure.text}"


def left_behind(case: Case, outcome: Outcome) -> str | None:
    """The ranks beyond a power of two were forgotten."""
    wrong = [rank for rank, value in enumerate(outcome.values) if not torch.equal(value, _total(case))]
    if not wrong or len(wrong) > case.world_size // 2 or case.world_size & (case.world_size - 1) == 0:
        return None
    names = ", ".join(map(str, wrong))
    return f"the others hold the sum, rank {names} does not: who gave its tensor away must get the result back"


# Find the bug


def overwritten(case: Case, outcome: Outcome) -> str | None:
    """A rank's own numbers are gone from its sum."""
    for rank, _, _, counts in counted(case, outcome):
        if counts[rank] == 0 and sum(counts) > 0:
            terms = _terms(counts)
            return (
                f"rank {rank} holds {terms}: its own numbers are gone. They were in `tensor` after the first round; "
                "which line of the second round writes over them?"
            )
    return None


def same_parcel(case: Case, outcome: Outcome) -> str | None:
    """The left neighbor's numbers came in every round."""
    size = case.world_size
    for rank, _, _, counts in counted(case, outcome):
        left = (rank - 1) % size
        if size > 2 and counts == [1 if source == rank else (size - 1) * (source == left) for source in range(size)]:
            return (
                f"rank {rank} holds {_terms(counts)}: its left neighbor sent the same parcel in all {size - 1} rounds. "
                "What arrived in one round must leave in the next"
            )
    return None


def passes_on_its_sum(case: Case, outcome: Outcome) -> str | None:
    """What travels is a sum that has been added to already."""
    for rank, _, _, counts in counted(case, outcome):
        if counts[rank] == 1 and max(counts) > 1:
            return (
                f"rank {rank} holds {_terms(counts)}: some numbers came to it more than once, so what travels is no "
                "longer one rank's tensor. Whoever adds into what is sent on makes its neighbor count double."
            )
    return None


# Nodes


def node_sums(case: Case, outcome: Outcome) -> str | None:
    """Each node has its own sum."""
    per_node = case.about["ranks_per_node"]
    for rank, value in enumerate(outcome.values):
        first = rank // per_node * per_node
        own = torch.stack([inputs[0] for inputs in case.inputs[first : first + per_node]]).sum(0)
        if case.world_size == per_node or not torch.equal(value, own):
            return None
    return "every rank holds the sum of its own node: nothing was added between the nodes"


def leaders_only(case: Case, outcome: Outcome) -> str | None:
    """One rank of each node knows, the others do not."""
    per_node = case.about["ranks_per_node"]
    right = [rank for rank, value in enumerate(outcome.values) if torch.equal(value, _total(case))]
    if (
        per_node == 1
        or len(right) != case.world_size // per_node
        or len({rank // per_node for rank in right}) < len(right)
    ):
        return None
    if any(min(counts) > 0 for *_, counts in counted(case, outcome)):
        return None
    names = ", ".join(map(str, right))
    return f"rank {names} (one in each node) holds the sum, its neighbors in the node do not: tell them"


# Helpers


def _terms(counts: Sequence[int]) -> str:
    return " + ".join(f"{count} × rank {source}" for source, count in enumerate(counts))


def _total(case: Case) -> torch.Tensor:
    return torch.stack([inputs[0] for inputs in case.inputs]).sum(0)


def _finished(case: Case, value: torch.Tensor) -> list[int]:
    """The chunks of a rank that hold the sum of all."""
    pairs = zip(value.tensor_split(case.world_size), _total(case).tensor_split(case.world_size), strict=True)
    return [number for number, (came, total) in enumerate(pairs) if len(total) and torch.equal(came, total)]


def _chunks(case: Case, outcome: Outcome) -> Iterator[tuple[int, int, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """(rank, chunk number, what came, what is right, what was there) of each chunk that is wrong."""
    if outcome.failure is not None:
        return
    for rank, (value, right, inputs) in enumerate(zip(outcome.values, case.expected, case.inputs, strict=True)):
        pieces = [tensor.tensor_split(case.world_size) for tensor in (value, right, inputs[0])]
        for number, (came, good, own) in enumerate(zip(*pieces, strict=True)):
            if not torch.equal(came, good):
                yield rank, number, came, good, own
