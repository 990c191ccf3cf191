"""Planner: the time of a step by a plan, and brute force over all plans that fit.

    step = (m + (p - 1) / v) × (matrix products + memory traffic + tensor, context, expert and pipeline messages)
         + gradients over all copies

One after the other: nothing overlaps, but ZeRO's stages 2 and 3 fetch a layer ahead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from course_lib.comm import Link
from course_lib.mesh.memory import device_memory, device_parameters, layer_activation_bytes
from course_lib.mesh.plan import RECOMPUTE, Cluster, Plan, TransformerShape
from course_lib.mesh.published import TrainingRow

STEP_PARTS = (
    "matrix products",
    "memory traffic",
    "tensor messages",
    "context messages",
    "expert messages",
    "stage borders",
    "bubble",
    "gradients",
)


class StepTime(NamedTuple):
    """Seconds of a step, part by part."""

    matrices_s: float
    traffic_s: float
    tensor_s: float
    context_s: float
    expert_s: float
    borders_s: float
    bubble_s: float
    data_s: float

    @property
    def seconds(self) -> float:
        """All of them."""
        return sum(self)

    def parts(self) -> dict[str, float]:
        """The same by the names that the page and the explorer have for them, and only what takes time."""
        return {name: seconds for name, seconds in zip(STEP_PARTS, self, strict=True) if seconds}


def ring_s(message_bytes: float, ranks: int, stride: int, cluster: Cluster) -> float:
    """An all-reduce of ranks that are `stride` apart: 2(n - 1) steps of an n-th of the bytes.

    A ring that leaves its node is as fast as the network ports of its members in one node together, and no faster
    than the links inside.
    """
    return _ring_s(message_bytes, ranks, _near(ranks, stride, cluster), cluster)


def _near(ranks: int, stride: int, cluster: Cluster) -> int:
    """How many of a group of ranks that are `stride` apart share a node."""
    return min(ranks, max(1, cluster.devices_per_node // stride))


def _ring_s(message_bytes: float, ranks: int, members: int, cluster: Cluster) -> float:
    if ranks == 1 or not message_bytes:
        return 0.0
    link = cluster.inside
    if members < ranks:
        rate = min(cluster.outside.bytes_per_s * members, cluster.inside.bytes_per_s)
        link = Link(cluster.outside.latency_s, rate)
    return 2 * (ranks - 1) * link.seconds(message_bytes / ranks)


def exchange_s(message_bytes: float, ranks: int, stride: int, cluster: Cluster) -> float:
    """An all-to-all of ranks that are `stride` apart: an n-th of the bytes to each, by its own link or port.

    >>> from course_lib.mesh import A100_CLUSTER
    >>> exchange_s(8e6, 8, 1, A100_CLUSTER) < exchange_s(8e6, 8, 8, A100_CLUSTER)
    True
    """
    near, each = _near(ranks, stride, cluster), message_bytes / ranks
    return (near - 1) * cluster.inside.seconds(each) + (ranks - near) * cluster.outside.seconds(each)


class _MicroBatch(NamedTuple):
    """Seconds of one micro-batch on one device."""

    matrices_s: float
    traffic_s: float
    tensor_s: float
    context_s: float
    expert_s: float
    borders_s: float


def _micro_batch(shape: TransformerShape, plan: Plan, cluster: Cluster) -> _MicroBatch:
    """What a pipeline rank does with a micro-batch, all its chunks.

    A pass forward counts once, backward twice, recomputation once more. Traffic: each pass writes and reads what a
    layer keeps for its backward pass. Tensor messages: two all-reduces a layer forward, in recomputation, and backward.
    Context: keys and values of all ranks, gathered forward and backward, and their gradients scattered. Experts: each
    token to those that take it and back, forward and backward.
    """
    b, layers = plan.micro_batch, shape.layers / plan.pipeline
    again = 1 if plan.recompute == "full" else 0
    share = plan.tensor * plan.pipeline * plan.context
    attention = (3 + (plan.recompute != "none")) * shape.layers * shape.attention_flops(b)
    work = shape.flops(b, plan.recompute) + (cluster.attention_slower - 1) * attention
    matrices = work / share / (cluster.flops_per_s * cluster.matrix_efficiency)
    kept = layer_activation_bytes(shape, replace(plan, recompute="none"))
    traffic = 2 * (3 + again) * layers * kept / cluster.memory_bytes_per_s
    between = 2 * b * shape.sequence / plan.context * shape.hidden  # bytes between two layers, 16-bit numbers
    tensor = 2 * (2 + again) * layers * ring_s(between, plan.tensor, 1, cluster)
    key_values = 2 * (shape.key_value_heads or shape.heads) / shape.heads * between * plan.context / plan.tensor
    context = (3 + again) * layers * ring_s(key_values, plan.context, plan.tensor, cluster) / 2  # half an all-reduce
    sent = shape.active * between / (plan.tensor if plan.sequence_parallel else 1)
    expert = 2 * (2 + again) * layers * exchange_s(sent, plan.expert, plan.tensor, cluster)
    far = _near(plan.pipeline, plan.mesh.stride("pipeline"), cluster) < plan.pipeline
    link = cluster.outside if far else cluster.inside
    borders = 2 * plan.chunks * link.seconds(between / plan.tensor) if plan.pipeline > 1 else 0.0
    return _MicroBatch(matrices, traffic, tensor, context, expert, borders)


def _sharded_s(shape: TransformerShape, plan: Plan, cluster: Cluster, each: _MicroBatch, micro_batches: int) -> float:
    """What ZeRO's stages 2 and 3 add to a step: messages that nothing hides.

    Stage 3 gathers each layer before its forward and before its backward pass, and both reduce and scatter its
    gradients behind the backward pass, in every micro-batch, 16 bits. The next layer is fetched while one computes, so
    a pass waits for its first gather, its last scatter, and what takes longer than its own matrices and traffic. Of
    that time a third is forward, or a quarter and another with full recomputation. Stage 2 gathers once a step. With
    copies of the shards (HSDP) these sum what they have once a step.
    """
    dense, experts = device_parameters(shape, plan)
    near = math.prod(_near(getattr(plan, name), plan.mesh.stride(name), cluster) for name in ("data", "context"))
    cut, far = plan.sharded_over, plan.copies // plan.sharded_over
    units, close = max(1.0, shape.layers / plan.pipeline), min(near, cut)
    rest = max(1, cut // plan.expert)
    unit = _ring_s(2 * dense / units, cut, close, cluster) / 2  # a gather, or a scatter
    unit += _ring_s(2 * experts / units, rest, max(1, close // plan.expert), cluster) / 2
    one_way = units * unit
    copies = _ring_s(2 * (dense + experts) / cut, far, max(1, near // cut), cluster)
    busy, forward = each.matrices_s + each.traffic_s, 1 / 4 if plan.recompute == "full" else 1 / 3
    if plan.zero == 2:
        waits = max(0.0, one_way - (1 - forward) * busy) + unit
        return micro_batches * waits + one_way + copies
    waits = max(0.0, one_way - forward * busy) + max(0.0, 2 * one_way - (1 - forward) * busy)
    return micro_batches * (waits + 2 * unit) + copies


def step_time(shape: TransformerShape, plan: Plan, cluster: Cluster, batch: int) -> StepTime:
    """The parts of a step's time.

    Gradients are reduced in 16 bits after the last backward pass, over all copies, an expert's over those that have
    it. ZeRO-1 moves as many bytes. With stages 2 and 3 their part is what no computation hides.

    Raises:
        ValueError: unless data ranks and micro-batches divide the batch.
    """
    micro_batches = plan.micro_batches(batch)
    each = _micro_batch(shape, plan, cluster)
    bubble = (plan.pipeline - 1) / plan.chunks * sum(each)
    if plan.zero >= 2:
        data = _sharded_s(shape, plan, cluster, each, micro_batches)
        return StepTime(*[*(micro_batches * part for part in each), bubble, data])
    dense, experts = device_parameters(shape, plan)
    near = math.prod(_near(getattr(plan, each), plan.mesh.stride(each), cluster) for each in ("data", "context"))
    data = _ring_s(2 * dense, plan.copies, near, cluster)
    data += _ring_s(2 * experts, plan.copies // plan.expert, max(1, near // plan.expert), cluster)
    return StepTime(*[*(micro_batches * part for part in each), bubble, data])


def achieved_flops_per_s(row: TrainingRow, cluster: Cluster) -> float:
    """What the model expects each device of a published row to achieve, counted as the row counts."""
    flops = row.shape.flops(row.batch, row.plan.recompute)
    return flops / step_time(row.shape, row.plan, cluster, row.batch).seconds / row.plan.devices


def fit_matrix_efficiency(rows: Sequence[TrainingRow], cluster: Cluster) -> float:
    """The matrix efficiency, in hundredths, that misses the rates least: least squares of their logarithms."""

    def miss(percent: int) -> float:
        tried = cluster.but(matrix_efficiency=percent / 100)
        return sum(math.log(achieved_flops_per_s(row, tried) / row.flops_per_s) ** 2 for row in rows)

    return min(range(30, 101), key=miss) / 100


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
    return [each for each in (1, 2, 3, 4) if layers % each == 0]


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
