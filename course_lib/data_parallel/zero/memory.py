"""What sharding saves: the formula for memory, and the elements that a rank really holds, counted.

Ψ parameters on N ranks       parameters   gradients   optimizer's states
stage 0                       Ψ            Ψ           Ψ each
stage 1                       Ψ            Ψ           Ψ/N each
stage 2                       Ψ            Ψ/N         Ψ/N each
stage 3                       Ψ/N          Ψ/N         Ψ/N each
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch

from course_lib.checks import at_least
from course_lib.collectives import all_gather_cost, reduce_scatter_cost
from course_lib.data_parallel.gradient_hooks import SentGradient
from course_lib.data_parallel.zero.optimizer import ShardedOptimizer


class BytesPerParameter(NamedTuple):
    """Bytes that training needs for each parameter, activations apart."""

    parameters: int
    gradients: int
    states: int


# fp16 to compute with; the states are the parameters, momentum and variance in fp32. Source: ZeRO, section 3.1.
MIXED_ADAM = BytesPerParameter(parameters=2, gradients=2, states=4 + 4 + 4)
# Everything in fp32, so that no second copy of the parameters is needed.
FP32_ADAM = BytesPerParameter(parameters=4, gradients=4, states=4 + 4)
FP32_MOMENTUM = BytesPerParameter(parameters=4, gradients=4, states=4)


def zero_parts(
    parameters: float, world_size: int, stage: int, each: BytesPerParameter = MIXED_ADAM
) -> dict[str, float]:
    """Bytes on one rank by what they hold: "parameters", "gradients" and "optimizer states".

    Stage 0 shards nothing, 1 the states, 2 the gradients too, 3 the parameters too. Activations and what a rank holds
    whole for a moment come on top.

    Raises:
        ValueError: unless `world_size` is at least 1 and `stage` 0, 1, 2 or 3.

    Source: Rajbhandari et al., arXiv 1910.02054, 2019, section 5 and figure 1.

    >>> zero_parts(7.5e9, world_size=64, stage=1)
    {'parameters': 15000000000.0, 'gradients': 15000000000.0, 'optimizer states': 1406250000.0}
    """
    at_least(1, world_size=world_size)
    if stage not in (0, 1, 2, 3):
        raise ValueError(f"stage must be 0, 1, 2 or 3, got {stage!r}")
    return {
        "parameters": each.parameters * parameters / (world_size if stage >= 3 else 1),
        "gradients": each.gradients * parameters / (world_size if stage >= 2 else 1),
        "optimizer states": each.states * parameters / (world_size if stage >= 1 else 1),
    }


def zero_bytes(parameters: float, world_size: int, stage: int, each: BytesPerParameter = MIXED_ADAM) -> float:
    """Bytes on one rank in all: with Adam in mixed precision 16Ψ, 4Ψ + 12Ψ/N, 2Ψ + 14Ψ/N and 16Ψ/N.

    Source: Rajbhandari et al., arXiv 1910.02054, 2019, table 1.

    >>> [f"{zero_bytes(7.5e9, 64, stage) / 1e9:.3g} GB" for stage in (0, 1, 2, 3)]
    ['120 GB', '31.4 GB', '16.6 GB', '1.88 GB']
    >>> [f"{zero_bytes(7.5e9, 64, stage, FP32_ADAM) / 1e9:.3g} GB" for stage in (0, 1, 2, 3)]
    ['120 GB', '60.9 GB', '31.4 GB', '1.88 GB']
    """
    return sum(zero_parts(parameters, world_size, stage, each).values())


def zero_elements_sent(lengths: Sequence[int], world_size: int, stage: int, micro_batches: int = 1) -> tuple[int, ...]:
    """Elements that each rank sends in one step, exactly.

    Where the ranks divide every length these are, for k micro-batches, (N - 1)/N times 2Ψ in stage 1, as much as a
    ring all-reduce of the gradients sends, (k + 1)Ψ in stage 2 and 3kΨ in stage 3.

    Args:
        lengths: the number of parameters of each unit.
        micro_batches: forward and backward passes whose gradients add up to one step.

    Raises:
        ValueError: unless `stage` is 1, 2 or 3.

    >>> [zero_elements_sent([60, 20], world_size=4, stage=stage)[0] for stage in (1, 2, 3)]
    [120, 120, 180]
    >>> [zero_elements_sent([60, 20], world_size=4, stage=stage, micro_batches=4)[0] for stage in (1, 2, 3)]
    [120, 300, 720]
    """
    if stage not in (1, 2, 3):
        raise ValueError(f"stage must be 1, 2 or 3, got {stage!r}")
    sent = [0] * world_size
    reduces = 1 if stage == 1 else micro_batches
    gathers = 2 * micro_batches if stage == 3 else 1
    for length in lengths:
        for cost in [reduce_scatter_cost] * reduces + [all_gather_cost] * gathers:
            counts = cost(length, world_size=world_size, element_bytes=1).bytes_sent
            sent = [a + b for a, b in zip(sent, counts, strict=True)]
    return tuple(sent)


class Held(NamedTuple):
    """Elements that lie in this rank's memory, each once, whatever tensors show it."""

    parameters: int
    gradients: int
    states: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


class MemorySample(NamedTuple):
    """What a rank held just after one event."""

    label: str
    held: Held


def elements_held(sharded: ShardedOptimizer) -> Held:
    """What this rank holds now: memory is counted, not tensors, so a view of a row counts once and a freed row nothing.

    Activations and what collectives need while they run are not counted. Adam's count of its steps is a state too: one
    element for each unit.
    """
    units, optimizer = sharded.units, sharded.optimizer
    parameters = list(sharded.module.parameters())
    states = [value for state in optimizer.state.values() for value in state.values()]
    gradients = [tensor.grad for tensor in [*parameters, *(unit.shard for unit in units)]]
    gradients = [gradient for gradient in gradients if not isinstance(gradient, SentGradient)]
    return Held(
        _elements([*parameters, *(unit.shard for unit in units), *(unit.row for unit in units)]),
        _elements([*gradients, *(unit.whole_gradient for unit in units)]),
        _elements(value for value in states if isinstance(value, torch.Tensor)),
    )


def _elements(tensors: Iterable[torch.Tensor | None]) -> int:
    memory = {}
    for tensor in tensors:
        if tensor is not None:
            storage = tensor.untyped_storage()
            memory[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
    return sum(memory.values())


@contextlib.contextmanager
def memory_moments(sharded: ShardedOptimizer) -> Iterator[list[MemorySample]]:
    """A list that fills, inside `with`, with what this rank holds after each change: to draw it, or to find its peak.

    The peak of a step: `max(moment.held.total for moment in moments)`.
    """
    moments: list[MemorySample] = []
    before = sharded.watch
    sharded.watch = lambda label: moments.append(MemorySample(label, elements_held(sharded)))
    try:
        yield moments
    finally:
        sharded.watch = before
