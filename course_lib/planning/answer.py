"""The whole answer of `course plan`."""

from __future__ import annotations

from course_lib.planning.expected import CLUSTERS
from course_lib.planning.plans import PlanError, best_candidates, candidate_of, plan_of
from course_lib.planning.report import band_lines, detail_lines, model_lines, table_lines
from course_lib.planning.shape import ModelShape

__all__ = ["answer_lines"]


def answer_lines(shape: ModelShape, gpus: int | None, gpu: str, batch: int, own: str | None) -> list[str]:
    """Parameters; with a number of GPUs the fastest plans, or one's own, and how far such times were off.

    Raises:
        PlanError: if one's own plan cannot be, or is given without a number of GPUs.
    """
    lines = model_lines(shape)
    if gpus is None:
        if own is not None:
            raise PlanError("--plan needs --gpus: how many there are")
        return lines
    cluster = CLUSTERS[gpu]
    lines += [
        "",
        f"{gpus:,} {gpu.upper()} of 80 GB, {batch:,} sequences of {shape.sequence:,} tokens a step (computed)",
        "",
    ]
    if own is not None:
        mine = candidate_of(shape, plan_of(own, shape, gpus, batch), cluster, batch)
        return [
            *lines,
            *table_lines(shape, [mine], gpu, batch),
            "",
            *detail_lines(shape, mine, gpu, batch),
            "",
            *band_lines(shape, gpu),
        ]
    best, fitting = best_candidates(shape, cluster, gpus, batch)
    if not best:
        return [*lines, *_nothing(shape, gpus, batch)]
    lines += [f"The fastest of {fitting:,} plans that fit", *table_lines(shape, best, gpu, batch), ""]
    return [*lines, *detail_lines(shape, best[0], gpu, batch), "", *band_lines(shape, gpu)]


def _nothing(shape: ModelShape, gpus: int, batch: int) -> list[str]:
    states = 16 * shape.count / gpus
    return [
        f"No plan fits. Parameters, gradients and Adam's states alone are {states / 1e9:,.1f} GB a GPU, evenly cut.",
        f"Take more GPUs, shorter sequences, or a batch that more numbers of copies divide (now {batch:,}).",
    ]
