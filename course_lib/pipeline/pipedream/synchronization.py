"""How much of the machines' time is no computing, and how many bytes cross: data parallelism against the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from course_lib.checks import at_least
from course_lib.pipeline.pipedream.partition import RING_PASSES, StagePlan, partition_seconds
from course_lib.pipeline.pipedream.profile import LayerProfile

__all__ = ["Throughput", "data_parallel", "sent_bytes", "throughput"]


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
