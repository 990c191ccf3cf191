"""What several exercises of chapter 2 use: sums over ranks of several shapes, and what a ring may send."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch

from course_lib.comm.trace import Trace
from course_lib.grading import rules
from course_lib.grading.exercise import WIDE, Case, Outcome, Rule, whole_numbers
from course_lib.grading.exercises.diagnoses import counted

__all__ = [
    "SHAPES",
    "TREE_SHAPES",
    "added_on_the_way_back",
    "chunks_finished",
    "not_a_power_of_two",
    "pairs",
    "right_neighbor",
    "ring_rules",
    "rounds",
    "sum_of_all",
    "sums",
    "terms_of",
]

# Cases

Shape = tuple[int, int, int]  # world_size, elements, trials with a changed message
SHAPES: tuple[Shape, ...] = ((1, 5, 0), (2, 8, 0), (3, 40, 1), (4, 67, 1), (3, 2, 0), (5, 33, 0))
TREE_SHAPES: tuple[Shape, ...] = ((1, 5, 0), (2, 8, 0), (3, 40, 1), (4, 67, 1), (7, 33, 0), (13, 20, 0))


def sums(shapes: Iterable[Shape]) -> Callable[[np.random.Generator], Iterator[Case]]:
    """Every rank begins with its own numbers and ends with the sum of all."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for world_size, length, perturb in shapes:
            inputs = [whole_numbers(rng, length, most=WIDE) for _ in range(world_size)]
            yield Case(world_size, [(tensor,) for tensor in inputs], [sum(inputs)] * world_size, perturb)

    return cases


# Rules


def right_neighbor(rank: int, size: int) -> set[int]:
    return {(rank + 1) % size}


def _circle_bytes(case: Case) -> int:
    """What a rank sends in one circle at most: world_size - 1 of the larger chunks."""
    return (case.world_size - 1) * -(-case.tensor.numel() // case.world_size) * 4


def pairs(case: Case) -> int:
    """Ordered pairs of ranks: as many messages as there are in a circle, or where each sends to each."""
    return case.world_size * (case.world_size - 1)


def ring_rules(circles: int) -> tuple[Rule, ...]:
    return (
        rules.neighbors(right_neighbor, "its right neighbor"),
        Rule(lambda case, trace: _more_than_circles(circles, case, trace)),
        rules.max_messages(lambda case: circles * pairs(case), "one chunk goes on in each step"),
        rules.max_steps(
            lambda case: 3 * circles * (case.world_size - 1),
            "your ranks wait for each other in a chain; let every rank send and receive at the same time (isend)",
            costs=1,
        ),
    )


def _more_than_circles(circles: int, case: Case, trace: Trace) -> str | None:
    """More bytes from a rank than so many circles need: larger messages, or more of them."""
    limit, chunk_bytes = circles * _circle_bytes(case), -(-case.tensor.numel() // case.world_size) * 4
    for rank, sent in enumerate(trace.bytes_sent):
        if sent > limit:
            larger = any(m.src == rank and m.message_bytes > chunk_bytes for m in trace.messages)
            round_trip = f"after {circles * (case.world_size - 1)} steps every chunk has come round"
            because = "a step passes on one chunk, not the whole tensor" if larger else round_trip
            return f"rank {rank} sent {sent} bytes, {limit} are enough: {because}"
    return None


def rounds(case: Case) -> int:
    """Rounds of doubling among the largest power of two of ranks."""
    return case.world_size.bit_length() - 1


# Diagnoses


def added_on_the_way_back(case: Case, outcome: Outcome) -> str | None:
    """Every rank is in the sum, and some more than once."""
    for rank, start, stop, counts in counted(case, outcome):
        if min(counts) > 0 and max(counts) > 1:
            return (
                f"rank {rank} holds in elements {start} to {stop - 1}: {terms_of(counts)}. Everybody is in it, "
                "somebody more than once: on its way back the sum is finished, so it replaces what was there"
            )
    return None


def not_a_power_of_two(case: Case, outcome: Outcome) -> str | None:
    """It breaks down where not every rank has a partner."""
    size = case.world_size
    if outcome.failure is None or size & (size - 1) == 0 or outcome.failure.kind == "not attempted":
        return None
    return f"{size} is no power of two, so not every rank has a partner in each round: {outcome.failure.text}"


def terms_of(counts: Sequence[int]) -> str:
    return " + ".join(f"{count} × rank {source}" for source, count in enumerate(counts))


def sum_of_all(case: Case) -> torch.Tensor:
    return torch.stack([inputs[0] for inputs in case.inputs]).sum(0)


def chunks_finished(case: Case, value: torch.Tensor) -> list[int]:
    """The chunks of a rank that hold the sum of all."""
    pairs = zip(value.tensor_split(case.world_size), sum_of_all(case).tensor_split(case.world_size), strict=True)
    return [number for number, (came, total) in enumerate(pairs) if len(total) and torch.equal(came, total)]
