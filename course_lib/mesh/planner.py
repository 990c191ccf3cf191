"""Every plan for a model, a cluster and a batch, those that fit, and the fastest of them: brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from course_lib.mesh.memory import device_memory
from course_lib.mesh.plan import Cluster, Plan
from course_lib.mesh.shape import RECOMPUTE, TransformerShape
from course_lib.mesh.timing import StepTime, step_time

__all__ = ["SPARE", "RankedPlan", "all_plans", "best_plans"]

SPARE = 0.1  # of a device's memory, kept free for buffers and fragments: a choice of this course


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
    context: tuple[int, ...] = (1,),
    expert: tuple[int, ...] = (1,),
    shards: tuple[int, ...] = (0,),
) -> Iterator[Plan]:
    """Yield every plan on these devices: tensor ranks divide heads and stay inside a node, stages divide the layers.

    Interleaving has as many chunks as divide a stage's layers, up to 4, where pipeline ranks divide the micro-batches.
    Twice the context ranks divide a sequence, expert ranks the experts and the copies. ZeRO's stages 2 and 3 cut over
    `shards` of the copies, where they divide them and are fewer; 0 is all.
    """
    ways = itertools.product(_divisors(devices_per_node), _divisors(devices), context, micro_batch)
    for tensor, pipeline, cut_in, size in ways:
        data, rest = divmod(devices, tensor * pipeline * cut_in)
        parts = (shape.heads % tensor, shape.layers % pipeline, shape.sequence % (2 * cut_in) if cut_in > 1 else 0)
        if rest or any(parts) or batch % (data * size):
            continue
        copies = data * cut_in
        chunks = _chunks(shape.layers // pipeline, pipeline, batch // (data * size))
        norms, stages = sequence_parallel if tensor > 1 else (False,), zero if copies > 1 else (0,)
        dealt = [each for each in expert if shape.experts % each == copies % each == 0]
        for v, again, cut, stage, experts in itertools.product(chunks, recompute, norms, stages, dealt):
            some = [each for each in shards if each < copies and copies % (each or 1) == 0]
            for over in some if stage >= 2 else (0,):
                yield Plan(tensor, pipeline, data, size, v, again, stage, cut, cut_in, experts, over)


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
    spare: float = SPARE,
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
