"""Every plan for a model, a cluster and a batch, those that fit, and the fastest of them: brute force."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from course_lib.mesh.memory import device_memory
from course_lib.mesh.plan import Cluster, Plan
from course_lib.mesh.shape import RECOMPUTE, TransformerShape
from course_lib.mesh.timing import StepTime, step_time

__all__ = ["RankedPlan", "all_plans", "best_plans"]


class RankedPlan(NamedTuple):
    """A plan that fits, its time and its memory."""

    plan: Plan
    time: StepTime
    memory_bytes: float


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def all_plans(
    shape: TransformerShape,
    devices: int,
    batch: int,
    *,
    devices_per_node: int = 8,
    recompute: tuple[str, ...] = RECOMPUTE,
    sequence_parallel: tuple[bool, ...] = (False, True),
    zero: tuple[int, ...] = (0, 1),
    micro_batch: tuple[int, ...] = (1, 2, 4, 8),
) -> Iterator[Plan]:
    """Yield every plan on these devices: tensor ranks divide heads and stay inside a node, stages divide the layers.

    Interleaving has as many chunks as divide a stage's layers, up to 4, where pipeline ranks divide the micro-batches.
    """
    for tensor in _divisors(devices_per_node):
        if shape.heads % tensor or devices % tensor:
            continue
        for pipeline in _divisors(devices // tensor):
            if shape.layers % pipeline:
                continue
            data = devices // tensor // pipeline
            for size in micro_batch:
                if batch % (data * size):
                    continue
                for chunks in _chunks(shape.layers // pipeline, pipeline, batch // (data * size)):
                    for again in recompute:
                        for cut in sequence_parallel if tensor > 1 else (False,):
                            for stage in zero if data > 1 else (0,):
                                yield Plan(tensor, pipeline, data, size, chunks, again, stage, cut)


def _chunks(layers: int, pipeline: int, micro_batches: int) -> list[int]:
    if pipeline == 1 or micro_batches % pipeline:
        return [1]
    return [each for each in _divisors(layers) if each <= 4]


def best_plans(
    shape: TransformerShape,
    cluster: Cluster,
    devices: int,
    batch: int,
    *,
    spare: float = 0.1,
    **choices: tuple[Any, ...],
) -> list[RankedPlan]:
    """The plans that leave `spare` of a device's memory free, fastest first, the one that needs least memory of equals.

    Choices as for `all_plans`; an empty list says that nothing fits.
    """
    fitting = []
    for plan in all_plans(shape, devices, batch, devices_per_node=cluster.devices_per_node, **choices):
        needed = sum(device_memory(shape, plan, batch).values())
        if needed <= (1 - spare) * cluster.memory_bytes:
            fitting.append(RankedPlan(plan, step_time(shape, plan, cluster, batch), needed))
    return sorted(fitting, key=lambda ranked: (ranked.time.seconds, ranked.memory_bytes))
