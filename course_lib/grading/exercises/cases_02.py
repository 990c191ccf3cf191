"""Cases of chapter 2: every rank's numbers, and what must come of them.

What is expected is a plain sum of the inputs, a count over a loop, or the place where two curves of
`course_lib.collectives` meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch

from course_lib.collectives.ring import ring_all_reduce_seconds
from course_lib.collectives.tree import tree_all_reduce_seconds
from course_lib.comm.network import Network
from course_lib.grading.exercise import ANYTHING, Case, Part, whole_numbers

__all__ = [
    "SHAPES",
    "TREE_SHAPES",
    "costs_of_the_bad_ring",
    "crossovers",
    "finished_chunks",
    "meeting_point",
    "scattered_sums",
    "sums",
    "sums_on_nodes",
]

Shape = tuple[int, int, int]  # world_size, elements, trials with a changed message
SHAPES: tuple[Shape, ...] = ((1, 5, 0), (2, 8, 0), (3, 40, 1), (4, 67, 1), (3, 2, 0), (5, 33, 0))
TREE_SHAPES: tuple[Shape, ...] = ((1, 5, 0), (2, 8, 0), (3, 40, 1), (4, 67, 1), (5, 33, 0), (8, 20, 0))
NODES = ((1, 1, 5, 0), (2, 2, 8, 0), (4, 1, 40, 0), (4, 2, 67, 2), (6, 2, 61, 0), (6, 3, 50, 0))


def sums(shapes: Iterable[Shape]) -> Callable[[np.random.Generator], Iterator[Case]]:
    """Every rank begins with its own numbers and ends with the sum of all."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for world_size, length, perturb in shapes:
            inputs = [whole_numbers(rng, length) for _ in range(world_size)]
            yield Case(world_size, [(tensor,) for tensor in inputs], [sum(inputs)] * world_size, perturb)

    return cases


def scattered_sums(rng: np.random.Generator) -> Iterator[Case]:
    """Rank r ends with the sum in chunk r; the rest of its tensor is not looked at."""
    for world_size, length, perturb in SHAPES:
        inputs = [whole_numbers(rng, length) for _ in range(world_size)]
        chunks, starts = sum(inputs).tensor_split(world_size), _starts(length, world_size)
        parts = [Part(start, chunk) if len(chunk) else ANYTHING for start, chunk in zip(starts, chunks, strict=True)]
        yield Case(world_size, [(tensor,) for tensor in inputs], parts, perturb)


def finished_chunks(rng: np.random.Generator) -> Iterator[Case]:
    """Rank r begins with chunk r finished and other numbers around it; every rank ends with all finished chunks."""
    for world_size, length, perturb in SHAPES:
        finished, inputs = whole_numbers(rng, length), [whole_numbers(rng, length) for _ in range(world_size)]
        for rank, tensor in enumerate(inputs):
            tensor.tensor_split(world_size)[rank].copy_(finished.tensor_split(world_size)[rank])
        yield Case(world_size, [(tensor,) for tensor in inputs], [finished] * world_size, perturb)


def _starts(length: int, world_size: int) -> list[int]:
    """Where each chunk begins."""
    sizes = [len(chunk) for chunk in torch.empty(length).tensor_split(world_size)]
    return [sum(sizes[:rank]) for rank in range(world_size)]


def sums_on_nodes(rng: np.random.Generator) -> Iterator[Case]:
    for world_size, per_node, length, perturb in NODES:
        inputs = [whole_numbers(rng, length) for _ in range(world_size)]
        label = f"world_size {world_size}, ranks_per_node {per_node}, {length} elements"
        arguments = [(tensor, per_node) for tensor in inputs]
        yield Case(world_size, arguments, [sum(inputs)] * world_size, perturb, label, {"ranks_per_node": per_node})


def costs_of_the_bad_ring(rng: np.random.Generator) -> Iterator[Case]:
    """Counted message by message: in each round every rank sends its parcel to the right."""
    calls, expected = [], []
    for world_size in (3, 2, 1, 8, 100):
        n, latency_s = 4 * int(rng.integers(1_000, 9_999)), float(rng.integers(1, 99)) / 1e6
        bytes_per_s = float(rng.integers(10, 99)) * 1e8
        rounds = [[n] * world_size for _ in range(1, world_size)]
        each = sum(sends[0] for sends in rounds)
        seconds = sum(latency_s + max(sends) / bytes_per_s for sends in rounds)
        calls.append((n, world_size, latency_s, bytes_per_s))
        expected.append([len(rounds), sum(map(sum, rounds)), each, seconds])
    yield Case(1, calls, expected, label="the bad ring")


def crossovers(rng: np.random.Generator) -> Iterator[Case]:
    """Where the curves of ring and tree meet, found by halving an interval again and again."""
    sizes = [4, 8, int(rng.integers(5, 8)), int(rng.integers(9, 16)), int(rng.integers(17, 1000))]
    calls = [(p, float(rng.integers(1, 99)) / 1e6, float(rng.integers(10, 250)) * 1e8) for p in sizes]
    yield Case(1, calls, [meeting_point(*call) for call in calls], label="the crossover")


def meeting_point(
    world_size: int,
    latency_s: float,
    bytes_per_s: float,
    ring: Callable[..., Any] = ring_all_reduce_seconds,
    tree: Callable[..., Any] = tree_all_reduce_seconds,
) -> float:
    """The message size at which `ring` takes no longer than `tree`; both give seconds."""
    network = Network(latency_s=latency_s, bytes_per_s=bytes_per_s)
    low, high = 0.0, latency_s * bytes_per_s * 4 * world_size
    for _ in range(200):
        middle = (low + high) / 2
        behind = ring(middle, world_size, network) > tree(middle, world_size, network)
        low, high = (middle, high) if behind else (low, middle)
    return high
