"""PipeDream's partitioner: profiles of layers, the dynamic program that cuts them into stages, and what the cut saves.

A stage of layers i to j on m machines lets a batch pass every T(i → j, m) seconds:

    T(i → j, m) = (1/m) max(Σ T_l, Σ W_l^m)     W_l^m = 2 (m - 1) |w_l| / (m B)

Its machines take turns at batches and average their gradients meanwhile, on a ring, which sends so much. (The paper has
4 in place of 2, what a machine sends and what it receives, as if a link could not do both at once. The authors' code of
2019 also takes the sum in place of the maximum: nothing is hidden.) Between layers l and l + 1 the activations need
C_l = a_l / B one way, and as much for their gradients. The slowest stage or crossing sets the pace, and A(j, m) is the
best pace for the first j layers on m machines:

    A(j, m) = min( T(1 → j, m),  min over i, m' of max(A(i, m - m'), 2 C_i, T(i + 1 → j, m')) )

Source: Harlap et al., "PipeDream: fast and efficient pipeline parallel DNN training", arXiv 1806.03377, section 3.2.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from statistics import median
from typing import NamedTuple

import torch
from torch import nn

from course_lib.checks import at_least
from course_lib.model_parallel import ConvShape, LinearShape

# What a V100 makes of VGG-16 in single precision: about 57 % of the 15.7 TFLOP/s of its data sheet. Assumed.
V100_FLOPS_PER_S = 8.9e12


class LayerProfile(NamedTuple):
    """One layer and one batch.

    Attributes:
        seconds: forward and backward together, T_l of the paper.
        activation_bytes: what the next layer takes, a_l; as much comes back as its gradient.
        weight_bytes: the parameters, w_l.
    """

    name: str
    seconds: float
    activation_bytes: int
    weight_bytes: int


def profile_shapes(
    shapes: Sequence[LinearShape | ConvShape],
    batch_size: int,
    flops_per_s: float = V100_FLOPS_PER_S,
    element_bytes: int = 4,
) -> list[LayerProfile]:
    """A profile computed from shapes: backward takes twice as many operations as forward.

    What a layer gives is what the next one takes, so behind a pooling it is the pooled picture.

    >>> from course_lib.model_parallel import VGG16
    >>> round(sum(layer.seconds for layer in profile_shapes(VGG16, batch_size=64)), 3)
    0.667
    """
    given = [*(shape.input_elements for shape in shapes[1:]), shapes[-1].output_elements]
    return [
        LayerProfile(
            shape.name,
            3 * 2 * shape.multiply_adds * batch_size / flops_per_s,
            elements * batch_size * element_bytes,
            shape.parameters * element_bytes,
        )
        for shape, elements in zip(shapes, given, strict=True)
    ]


def measure_layers(model: nn.Sequential, inputs: torch.Tensor, repeats: int = 5) -> list[LayerProfile]:
    """A profile measured on this machine: the median of some passes through each layer alone, after one to warm up.

    The model's gradients stay as they are.
    """
    profile, x = [], inputs.detach()
    for number, layer in enumerate(model):
        seconds = [_pass_seconds(layer, x, number > 0) for _ in range(repeats + 1)][1:]
        with torch.no_grad():
            x = layer(x)
        weight_bytes = sum(parameter.nbytes for parameter in layer.parameters())
        profile.append(LayerProfile(f"{number} {type(layer).__name__}", median(seconds), x.nbytes, weight_bytes))
    return profile


def _pass_seconds(layer: nn.Module, inputs: torch.Tensor, needs_input_gradient: bool) -> float:
    """Forward and backward once, for the layer's weights and, unless it is the first, for its input."""
    x = inputs.clone().requires_grad_(needs_input_gradient)
    start_s = time.perf_counter()
    y = layer(x)
    wanted = [*layer.parameters(), *[x] * needs_input_gradient]
    if wanted:
        torch.autograd.grad(y, wanted, torch.ones_like(y), allow_unused=True)
    return time.perf_counter() - start_s


# How the time of computing and the time of averaging gradients make a stage's time: hidden or one after the other.
RULES: dict[str, Callable[[float, float], float]] = {"max": max, "sum": lambda compute_s, sync_s: compute_s + sync_s}

# How often a stage's weights pass a machine's link for an average, less a share of 1/m: on a ring, and in the paper.
RING_PASSES, PAPER_PASSES = 2, 4


class StagePlan(NamedTuple):
    """Layers `first` to `last` (from 0, last included) on so many machines."""

    first: int
    last: int
    machines: int


class Partition(NamedTuple):
    """The stages, front to back, and how many seconds pass between one batch and the next."""

    stages: tuple[StagePlan, ...]
    seconds: float

    @property
    def configuration(self) -> str:
        """The machines of each stage as the paper writes them: 7-1 is seven for the first and one for the second."""
        return "-".join(str(stage.machines) for stage in self.stages)

    @property
    def active_batches(self) -> int:
        """NOAM: how many batches each machine of the first stage lets in before one must come back.

        Source: Harlap et al., arXiv 1806.03377, section 3.2 ("NUM_OPT_ACTIVE_MINIBATCHES").
        """
        machines = sum(stage.machines for stage in self.stages)
        return -(-machines // self.stages[0].machines)


def stage_seconds(
    layers: Sequence[LayerProfile], machines: int, bytes_per_s: float, rule: str = "max", passes: int = RING_PASSES
) -> float:
    """T(i → j, m): the seconds between one batch and the next in a stage of these layers."""
    compute_s, weight_bytes = sum(layer.seconds for layer in layers), sum(layer.weight_bytes for layer in layers)
    return _paced(compute_s, passes * weight_bytes / bytes_per_s, machines, rule)


def _paced(compute_s: float, passing_s: float, machines: int, rule: str) -> float:
    return RULES[rule](compute_s, passing_s * (machines - 1) / machines) / machines


def partition_seconds(
    profile: Sequence[LayerProfile],
    stages: Sequence[StagePlan],
    bytes_per_s: float,
    rule: str = "max",
    passes: int = RING_PASSES,
) -> float:
    """The pace of a pipeline of these stages: its slowest stage's or its slowest crossing's."""
    paces = [stage_seconds(profile[s.first : s.last + 1], s.machines, bytes_per_s, rule, passes) for s in stages]
    crossings = [2 * profile[stage.last].activation_bytes / bytes_per_s for stage in stages[:-1]]
    return max([*paces, *crossings])


def best_partition(
    profile: Sequence[LayerProfile], machines: int, bytes_per_s: float, rule: str = "max", passes: int = RING_PASSES
) -> Partition:
    """The fastest partition that uses all machines, by the recurrence above.

    Args:
        rule: one of RULES. passes: RING_PASSES, or PAPER_PASSES to reckon as the paper does.

    Cost: layers² machines² / 4 looks at a stage.

    Raises:
        ValueError: unless there are a layer and a machine, and a rule of that name.
    """
    if not profile or machines < 1 or rule not in RULES:
        raise ValueError(f"got {len(profile)} layers, {machines} machines, rule {rule!r} (one of {list(RULES)})")
    seconds = [0.0, *accumulate(layer.seconds for layer in profile)]
    weights = [0, *accumulate(layer.weight_bytes for layer in profile)]

    def pace(first: int, last: int, m: int) -> float:
        compute_s, weight_bytes = seconds[last + 1] - seconds[first], weights[last + 1] - weights[first]
        return _paced(compute_s, passes * weight_bytes / bytes_per_s, m, rule)

    best: dict[tuple[int, int], Partition] = {}
    for last in range(len(profile)):
        for m in range(1, machines + 1):
            found, cut = pace(0, last, m), (-1, 0)
            for before in range(last):
                crossing_s = 2 * profile[before].activation_bytes / bytes_per_s
                for own in range(1, m):
                    slowest = max(best[before, m - own].seconds, crossing_s, pace(before + 1, last, own))
                    if slowest < found:
                        found, cut = slowest, (before, own)
            before, own = cut
            front = best[before, m - own].stages if own else ()
            best[last, m] = Partition((*front, StagePlan(before + 1, last, own or m)), found)
    return best[len(profile) - 1, machines]


def every_partition(layers: int, machines: int, first: int = 0) -> Iterator[tuple[StagePlan, ...]]:
    """All ways to cut the layers from `first` on into stages and to give all machines to them: the long way."""
    yield (StagePlan(first, layers - 1, machines),)
    for last in range(first, layers - 1):
        for own in range(1, machines):
            for behind in every_partition(layers, machines - own, last + 1):
                yield StagePlan(first, last, own), *behind


class Throughput(NamedTuple):
    """A partition on its machines, beside one machine.

    Attributes:
        speed_up: batches per second over those of one machine.
        synchronization_share: the share of the machines' time in which they do not compute, but wait for gradients,
            activations or a slower stage.
        sent_bytes: what all machines send for one batch.
    """

    speed_up: float
    synchronization_share: float
    sent_bytes: float


def data_parallel(layers: int, machines: int) -> tuple[StagePlan, ...]:
    """All layers on every machine: a pipeline of one stage.

    Raises:
        ValueError: unless there are a layer and a machine.
    """
    if layers < 1 or machines < 1:
        raise ValueError(f"there must be a layer and a machine, got {layers} and {machines}")
    return (StagePlan(0, layers - 1, machines),)


def sent_bytes(profile: Sequence[LayerProfile], stages: Sequence[StagePlan]) -> float:
    """What all machines send for one batch: 2 (m - 1) |w| / m in a stage, by an all-reduce, and 2 a at each crossing.

    >>> layers = [LayerProfile("first", 1.0, activation_bytes=3, weight_bytes=8), LayerProfile("last", 1.0, 5, 40)]
    >>> sent_bytes(layers, data_parallel(2, machines=4)), sent_bytes(layers, (StagePlan(0, 0, 2), StagePlan(1, 1, 1)))
    (72.0, 14.0)
    """
    total = 0.0
    for number, stage in enumerate(stages):
        at_least(1, machines=stage.machines)
        weight_bytes = sum(layer.weight_bytes for layer in profile[stage.first : stage.last + 1])
        total += 2 * (stage.machines - 1) * weight_bytes / stage.machines
        total += 2 * profile[stage.last].activation_bytes if number + 1 < len(stages) else 0
    return total


def throughput(
    profile: Sequence[LayerProfile],
    stages: Sequence[StagePlan],
    bytes_per_s: float,
    rule: str = "max",
    passes: int = RING_PASSES,
) -> Throughput:
    """What the model of the partitioner says of these stages."""
    one_machine_s = sum(layer.seconds for layer in profile)
    speed_up = one_machine_s / partition_seconds(profile, stages, bytes_per_s, rule, passes)
    machines = sum(stage.machines for stage in stages)
    return Throughput(speed_up, 1 - speed_up / machines, sent_bytes(profile, stages))
