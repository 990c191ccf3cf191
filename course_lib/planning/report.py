"""The lines that `course plan` prints: the model, a table of plans, one plan in detail, the error band."""

from __future__ import annotations

from dataclasses import fields, replace

from course_lib.draw import format_bytes, format_seconds
from course_lib.mesh import TORCHTITAN_2024, Cluster, Plan, device_memory
from course_lib.planning.expected import CLUSTERS, Band, band_of, misses
from course_lib.planning.flags import deepspeed_lines, megatron_flags, torchtitan_flags
from course_lib.planning.plans import (
    Candidate,
    InvalidPlanError,
    best_candidates,
    candidate_of,
    logits_bytes,
    plan_of,
    sent_bytes,
)
from course_lib.planning.shape import ModelShape

_NOT_IN_IT = [
    "Not in the model: the optimizer's step, data loading, jitter, experts of unequal load, 8 bits,",
    "compilers that fuse, and messages that hide behind computation. A sliding window counts as none.",
]


def model_lines(shape: ModelShape) -> list[str]:
    """What the model is: its parameters, exactly, and those that one token meets.

    >>> from course_lib.planning import shape_of
    >>> tiny = {"model_type": "llama", "vocab_size": 10, "hidden_size": 4, "intermediate_size": 8}
    >>> print(*model_lines(shape_of({**tiny, "num_hidden_layers": 1, "num_attention_heads": 2}, 16)), sep="\\n")
    Parameters: 252
    """
    lines = [f"Parameters: {shape.count:,}{_billions(shape.count)}"]
    if shape.experts > 1:
        lines.append(f"A token meets {shape.active_count:,}{_billions(shape.active_count)}")
    if shape.predicting_layers:
        said = f"{shape.predicting_count:,}{_billions(shape.predicting_count)}"
        lines.append(f"Not planned: {shape.predicting_layers} module for further tokens, {said} more")
    return lines


def _billions(number: float) -> str:
    return f" ({number / 1e9:.2f} B)" if number >= 1e8 else ""


def plan_text(plan: Plan) -> str:
    """A plan as `--plan` takes it: all that differs from one GPU.

    >>> plan_text(Plan(tensor=8, data=2, zero=3, recompute="none"))
    'tensor=8,data=2,zero=3'
    """
    usual = {each.name: each.default for each in fields(Plan)} | {"recompute": "none"}
    values = {name: getattr(plan, name) for name in usual}
    said = [f"{name}={str(value).lower()}" for name, value in values.items() if value != usual[name]]
    return ",".join(said) or "data=1"


def table_lines(shape: ModelShape, found: list[Candidate], gpu: str, batch: int) -> list[str]:
    """One line a plan: seconds by the model, those that are likely, MFU, likely MFU, bubble, memory, the plan."""
    cluster, band = CLUSTERS[gpu], band_of(misses(gpu))
    lines = ["    model   likely             MFU   likely   bubble   memory   plan"]
    for place, each in enumerate(found, start=1):
        share = each.model_share(shape, cluster, batch)
        times, shares = _span(band, each.time.seconds), f"{share / band.most:.0%}-{share / band.least:.0%}"
        lines.append(
            f"{place:>2}  {format_seconds(each.time.seconds):<7} {times:<17} {share:>4.0%}   {shares:<8} "
            f"{each.bubble_share:>5.1%}   {format_bytes(each.memory_bytes):>7}   {plan_text(each.plan)}"
        )
    return lines


def _span(band: Band, seconds: float) -> str:
    return " to ".join(format_seconds(end) for end in band.seconds(seconds))


def band_lines(shape: ModelShape, gpu: str) -> list[str]:
    """How far off the model was on published steps, and so what "likely" means."""
    found = misses(gpu)
    band, sources = band_of(found), ", ".join(dict.fromkeys(miss.source for miss in found))
    worst = max(found, key=lambda miss: miss.ratio)
    near = sum(abs(1 / miss.ratio - 1) <= 0.1 for miss in found)
    lines = [
        f"likely: {band.rows} published steps on {gpu.upper()} that no number was fitted to took"
        f" {band.least:.2f} to {band.most:.2f} times the model's time,",
        f"and the model is within a tenth of {near} of them ({sources}).",
        f"The worst: {worst.what}. Yours may lie outside, so time ten steps of two or",
        "three plans before you rent for long.",
    ]
    if shape.experts > 1:
        with_experts = "one of these rows has" if gpu == "h100" else "none of these rows has"
        lines.append(f"Only little of it is about experts: {with_experts} any.")
    needed, said = titan_memory()
    memory = f"Memory: Llama 3.1 8B by FSDP on 8 GPUs, 32,768 tokens, took {format_bytes(said)} (torchtitan, 2024)"
    return [*lines, f"{memory}; these formulas give {format_bytes(needed)}.", *_NOT_IN_IT]


def titan_memory() -> tuple[float, float]:
    """Bytes of the fullest GPU in torchtitan's shortest row of its 8B model, by the formulas and as published."""
    row = TORCHTITAN_2024["8B"][0]
    plan = replace(row.plan, zero=3)
    needed = sum(device_memory(row.shape, plan, row.batch).values())
    return needed + logits_bytes(row.shape, plan), row.memory_bytes


def detail_lines(shape: ModelShape, candidate: Candidate, gpu: str, batch: int) -> list[str]:
    """Memory of the fullest GPU, time and traffic of one plan by part, and its flags."""
    cluster, plan = CLUSTERS[gpu], candidate.plan
    lines = [f"Plan {plan_text(plan)}", f"  {_fits(candidate, cluster)}"]
    lines += _part_lines("memory of the fullest GPU", {n: format_bytes(s) for n, s in candidate.memory.items() if s})
    step = candidate.time
    parts = {
        name: f"{format_seconds(seconds)} ({seconds / step.seconds:.1%})" for name, seconds in step.parts().items()
    }
    lines += _part_lines(f"a step by the model, {format_seconds(step.seconds)}", parts)
    lines.append(f"  likely {_span(band_of(misses(gpu)), step.seconds)} a step, see below")
    sent = {name: format_bytes(size) for name, size in sent_bytes(shape, plan, batch).items()}
    lines += _part_lines("sent by a GPU in a step", sent or {"nothing": "one GPU"})
    if shape.layers % (stages := plan.pipeline * plan.chunks):
        lines.append(f"  {stages} stages do not divide {shape.layers} layers: all count as large as the largest")
    for name, flags in (("torchtitan", torchtitan_flags), ("Megatron-Core", megatron_flags)):
        lines += [f"Flags of {name}", *(f"  {flag}" for flag in flags(shape, plan, batch))]
    lines += ["Configuration of DeepSpeed", *(f"  {line}" for line in deepspeed_lines(shape, plan, batch))]
    return lines


def _fits(candidate: Candidate, cluster: Cluster) -> str:
    room, needed = candidate.room_bytes(cluster), format_bytes(candidate.memory_bytes)
    limit = f"{format_bytes(cluster.memory_bytes)} with a tenth free"
    return (
        f"fits: {needed} of {limit}"
        if room >= 0
        else f"DOES NOT FIT: {needed}, {format_bytes(-room)} more than {limit}"
    )


def _part_lines(title: str, parts: dict[str, str]) -> list[str]:
    return [f"  {title}: " + ", ".join(f"{name} {said}" for name, said in parts.items())]


def answer_lines(shape: ModelShape, gpus: int | None, gpu: str, batch: int, own: str | None) -> list[str]:
    """All lines of `course plan`: parameters; with a number of GPUs the best plans or the given one, and the error.

    Raises:
        InvalidPlanError: if one's own plan cannot be, or is given without a number of GPUs.
    """
    lines = model_lines(shape)
    if gpus is None:
        if own is not None:
            raise InvalidPlanError("--plan needs --gpus: how many there are")
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
