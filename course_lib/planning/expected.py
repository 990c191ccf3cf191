"""The expected time of a step: the model of chapter 13 with four causes that it leaves out, each with its source.

Also the error band: how far these times were off on published trainings to which no number was fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from course_lib.mesh import (
    A100_CLUSTER,
    H100_CLUSTER,
    KORTHIKANTI_2022,
    LLAMA3_2024,
    MIXTRAL_2024,
    MOSAIC_2023,
    Cluster,
    Plan,
    StepTime,
    TrainingRow,
    TransformerShape,
    step_time,
)

# Matrix products: the fastest of thousands of shapes, 271.2 and 794.5 TFLOP/s, of the peak (S. Bekman, "Machine
# Learning Engineering", compute/accelerator, maximum achievable matmul FLOPS, 16 bits).
# Attention, of the peak: 0.6 is the middle of FlashAttention-2's 50% to 73% on A100 (T. Dao, arXiv 2307.08691). On H100
# forward and backward together of FlashAttention-3, 602 and 559 TFLOP/s with heads of 128 and 8,192 tokens, and of its
# predecessor, 333 and 318 (J. Shah et al., arXiv 2407.08608, figures 5 and 6).
_ATTENTION_2023 = {"a100": 0.6, "h100": 0.33}
CLUSTERS = {
    "a100": A100_CLUSTER.but(matrix_efficiency=0.869, attention_slower=0.869 / 0.6),
    "h100": H100_CLUSTER.but(matrix_efficiency=0.803, attention_slower=0.803 / 0.57),
}
MEMORY_PASSES = 3.9  # fit_memory_passes(NARAYANAN_2021)


def cluster_of_2023(gpu: str) -> Cluster:
    """The same GPUs with the attention kernels of 2023."""
    cluster = CLUSTERS[gpu]
    return cluster.but(attention_slower=cluster.matrix_efficiency / _ATTENTION_2023[gpu])


def padded(shape: TransformerShape, plan: Plan) -> TransformerShape:
    """The model with as many layers as if every pipeline chunk had those of the largest."""
    stages = plan.pipeline * plan.chunks
    return replace(shape, layers=-(-shape.layers // stages) * stages)


def expected_step(
    shape: TransformerShape, plan: Plan, cluster: Cluster, batch: int, memory_passes: float = MEMORY_PASSES
) -> StepTime:
    """The parts of a step's time, in seconds; waiting for the slowest stage is in the bubble.

    To `step_time` come: attention's own speed, if it is fused (the cluster has it); memory is passed over
    `memory_passes` times as often, but for scores; messages of ZeRO's stages 2 and 3 hide behind nothing, as the
    published rows of FSDP show; and the last stage has the output besides its layers, or the ends a layer less where
    stages do not divide the layers.

    Raises:
        ValueError: unless data ranks and micro-batches divide the batch.

    >>> from course_lib.mesh import LLAMA3_2024
    >>> row = LLAMA3_2024[0]  # took 18% longer
    >>> f"{published_s(row) / expected_step(row.shape, row.plan, CLUSTERS['h100'], row.batch).seconds:.2f}"
    '1.18'
    """
    if not shape.fused_attention:
        cluster = cluster.but(attention_slower=1.0)
    whole = padded(shape, plan)
    time = step_time(whole, plan, cluster, batch)
    no_scores = step_time(replace(whole, fused_attention=True), plan, cluster, batch)
    more_traffic = (memory_passes - 1) * no_scores.traffic_s
    rounds = plan.micro_batches(batch)
    waiting = (plan.pipeline - 1) / plan.chunks / rounds  # of a pipeline, for each second of a micro-batch
    slower = time.matrices_s * _slowest_stage(shape, plan) - time.matrices_s
    bubble = time.bubble_s + waiting * more_traffic + (1 + waiting) * slower
    time = time._replace(traffic_s=time.traffic_s + more_traffic, bubble_s=bubble)
    if plan.zero < 2:
        return time
    at_once = cluster.but(flops_per_s=math.inf, memory_bytes_per_s=math.inf)  # there is nothing to hide behind
    return time._replace(data_s=step_time(whole, plan, at_once, batch).data_s)


def _slowest_stage(shape: TransformerShape, plan: Plan) -> float:
    """The matrix products of the slowest stage, for each of an average one of the padded model."""
    layers = padded(shape, plan).layers
    passes = 4 if plan.recompute == "full" else 3
    output = 3 * 2 * shape.sequence * shape.embedding_parameters / (passes * shape.layer_flops(1))  # in layers
    largest, average = layers / plan.pipeline, (layers + output) / plan.pipeline
    if layers == shape.layers:
        return (largest + output) / average
    return max(largest, largest - 1 + output) / average


def fit_memory_passes(rows: Sequence[TrainingRow], cluster: Cluster = CLUSTERS["a100"]) -> float:
    """The number of passes, in tenths, that misses the rows' times least: least squares of their logarithms.

    >>> from course_lib.mesh import NARAYANAN_2021
    >>> fit_memory_passes(NARAYANAN_2021) == MEMORY_PASSES
    True
    """

    def miss(tenths: int) -> float:
        times = (expected_step(row.shape, row.plan, cluster, row.batch, tenths / 10).seconds for row in rows)
        return sum(math.log(seconds / published_s(row)) ** 2 for seconds, row in zip(times, rows, strict=True))

    return min(range(10, 101), key=miss) / 10


def published_s(row: TrainingRow) -> float:
    """Seconds of a step by a published rate of operations."""
    return row.shape.flops(row.batch, row.plan.recompute) / row.flops_per_s / row.plan.devices


class Miss(NamedTuple):
    """One published step: its source, what was trained, and published seconds over those that are expected."""

    source: str
    what: str
    ratio: float


def misses(gpu: str) -> list[Miss]:
    """The published steps on these GPUs in 16 bits to which no number was fitted, and how far each was off.

    >>> len(misses("a100")), len(misses("h100"))
    (19, 19)
    """
    cluster, found = CLUSTERS[gpu], []
    if gpu == "a100":
        for row in KORTHIKANTI_2022:
            cut = replace(row.plan, recompute="selective", sequence_parallel=True)
            for plan, seconds in ((row.plan, row.full_s), (cut, row.selective_s)):
                ratio = seconds / expected_step(row.shape, plan, cluster, row.batch).seconds
                found.append(Miss("Korthikanti 2022", f"{row.billions:g} B, {plan.recompute} recomputation", ratio))
    else:
        for source, each in (*(("Llama 3, 2024", each) for each in LLAMA3_2024), ("Megatron-Core 2024", MIXTRAL_2024)):
            ratio = published_s(each) / expected_step(each.shape, each.plan, cluster, each.batch).seconds
            what = f"{each.billions:g} B, {each.plan.devices:,} GPUs, {each.shape.sequence:,} tokens"
            found.append(Miss(source, what, ratio))
    for sharded in MOSAIC_2023:
        if sharded.gpu == gpu:
            seconds = expected_step(sharded.shape, sharded.plan, cluster_of_2023(gpu), sharded.batch).seconds
            tokens = sharded.batch * sharded.shape.sequence / sharded.plan.devices
            what = f"{sharded.billions:g} B, {sharded.plan.devices} GPUs, {sharded.shape.sequence:,} tokens, FSDP"
            found.append(Miss("MosaicML 2023", what, tokens / sharded.tokens_per_s / seconds))
    return found


class Band(NamedTuple):
    """Published seconds over the expected ones: all rows lie from `least` to `most`, half of them below `middle`."""

    least: float
    middle: float
    most: float
    rows: int

    def seconds(self, expected_s: float) -> tuple[float, float]:
        """The shortest and the longest time of a step with this expected time, by the band.

        >>> Band(1.0, 1.2, 1.5, 20).seconds(10.0)
        (10.0, 15.0)
        """
        return expected_s * self.least, expected_s * self.most


def band_of(found: list[Miss]) -> Band:
    """The error band of these rows.

    >>> band_of([Miss("", "", ratio) for ratio in (1.3, 1.1, 1.2)])
    Band(least=1.1, middle=1.2, most=1.3, rows=3)
    """
    ratios = sorted(miss.ratio for miss in found)
    return Band(ratios[0], median(ratios), ratios[-1], len(ratios))
