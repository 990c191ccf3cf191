"""What the mesh explorer computes: a plan for a published model and its cluster, beside the plan that was published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from course_lib.mesh import (
    A100_CLUSTER,
    H100_CLUSTER,
    KORTHIKANTI_2022,
    LLAMA3_2024,
    MIXTRAL_2024,
    NARAYANAN_2021,
    SPARE,
    Cluster,
    Plan,
    StepTime,
    TransformerShape,
    device_memory,
    step_time,
)

__all__ = ["PRESETS", "TOKENS", "MeshSetting", "MeshStep", "Preset", "choices", "published_setting", "settle"]


TOKENS = 450e9  # of a run: those for which Narayanan et al. (2021) estimate 84 days
_CONTEXTS, _LEAST_TOKENS = (1, 2, 4, 8, 16, 32), 1024  # tokens that a context rank has at least


class Preset(NamedTuple):
    """A model as it was trained.

    Attributes:
        share: MFU, as published or from the published rate. said: how it was published.
    """

    shape: TransformerShape
    plan: Plan
    batch: int
    cluster: Cluster
    share: float
    said: str


class MeshSetting(NamedTuple):
    """All that the controls say. Data ranks are what is left of the GPUs."""

    model: str
    gpus: int
    tensor: int
    pipeline: int
    micro_batch: int
    chunks: int
    recompute: str
    sequence_parallel: bool
    zero: int
    context: int
    expert: int
    rank: int = 0

    @property
    def preset(self) -> Preset:
        """The model that was chosen."""
        return PRESETS[self.model]

    @property
    def data(self) -> int:
        """Ranks of the data dimension."""
        return self.gpus // (self.tensor * self.pipeline * self.context)

    @property
    def plan(self) -> Plan:
        """The plan that the controls say."""
        sizes = (self.tensor, self.pipeline, self.data, self.micro_batch, self.chunks)
        cut = self.sequence_parallel and self.tensor > 1
        return Plan(*sizes, self.recompute, self.zero, cut, self.context, self.expert)


class MeshStep:
    """What follows from a plan for a preset's model."""

    def __init__(self, preset: Preset, plan: Plan) -> None:
        self.preset, self.plan = preset, plan

    @cached_property
    def time(self) -> StepTime:
        """The parts of a step."""
        return step_time(self.preset.shape, self.plan, self.preset.cluster, self.preset.batch)

    @cached_property
    def memory(self) -> dict[str, float]:
        """Bytes on the fullest GPU, by what they hold."""
        return device_memory(self.preset.shape, self.plan, self.preset.batch)

    @property
    def room_bytes(self) -> float:
        """What a plan may need of a GPU's memory, the same as the planner allows."""
        return (1 - SPARE) * self.preset.cluster.memory_bytes

    @property
    def fits(self) -> bool:
        """Whether a GPU has so much room."""
        return sum(self.memory.values()) <= self.room_bytes

    @property
    def days(self) -> float:
        """How long a run of TOKENS takes."""
        steps = TOKENS / (self.preset.batch * self.preset.shape.sequence)
        return steps * self.time.seconds / 86_400

    def share(self, recompute: str = "none") -> float:
        """Operations over the peak: those of the model (MFU), or with what is recomputed (HFU)."""
        flops = self.preset.shape.flops(self.preset.batch, recompute)
        return flops / (self.time.seconds * self.plan.devices * self.preset.cluster.flops_per_s)


def _presets() -> Iterator[tuple[str, Preset]]:
    for row in NARAYANAN_2021:
        needed = row.shape.flops(row.batch) / row.shape.flops(row.batch, row.plan.recompute)
        share = row.flops_per_s / A100_CLUSTER.flops_per_s * needed
        said = f"{row.flops_per_s / 1e12:.0f} TFLOP/s a GPU, recomputed work included"
        yield f"GPT {row.billions:g} B, Narayanan", Preset(row.shape, row.plan, row.batch, A100_CLUSTER, share, said)
    for other in KORTHIKANTI_2022:
        plan = replace(other.plan, recompute="selective", sequence_parallel=True)
        said = f"{other.selective_s:g} s a step"
        preset = Preset(other.shape, plan, other.batch, A100_CLUSTER, other.model_share, said)
        yield f"GPT {other.billions:g} B, Korthikanti", preset
    for row in LLAMA3_2024:
        said = f"{row.flops_per_s / 1e12:.0f} TFLOP/s a GPU; they free tensors early, this model does not"
        tokens = f"{row.shape.sequence:,} tokens, {row.plan.devices:,} GPUs"
        yield f"Llama 3, {tokens}", Preset(row.shape, row.plan, row.batch, H100_CLUSTER, row.share, said)
    row, said = MIXTRAL_2024, f"{MIXTRAL_2024.flops_per_s / 1e12:.0f} TFLOP/s a GPU"
    yield "Mixtral 8x7B, 64 GPUs", Preset(row.shape, row.plan, row.batch, H100_CLUSTER, row.share, said)


PRESETS = dict(_presets())


def published_setting(model: str) -> MeshSetting:
    """The controls where the authors had them."""
    p = PRESETS[model].plan
    sizes = (p.devices, p.tensor, p.pipeline, p.micro_batch, p.chunks)
    return MeshSetting(model, *sizes, p.recompute, p.sequence_parallel, p.zero, p.context, p.expert)


def choices(setting: MeshSetting) -> dict[str, list[int]]:
    """What each control may say, given those before it; the published plan is always among them."""
    preset = setting.preset
    plan, published = preset.plan, published_setting(setting.model)
    some = (plan.devices * k // 8 for k in (1, 2, 4, 8, 16))
    found = {"gpus": sorted({n for n in some if any(_stages(preset, n, 8, plan.context))} | {plan.devices})}
    cuts = [c for c in _CONTEXTS if preset.shape.sequence >= _LEAST_TOKENS * c]
    found["context"] = [c for c in cuts if any(_stages(preset, setting.gpus, t, c) for t in (1, 2, 4, 8))]
    gpus, cut_in = setting.gpus, setting.context
    found["tensor"] = [t for t in (1, 2, 4, 8) if preset.shape.heads % t == 0 and _stages(preset, gpus, t, cut_in)]
    found["pipeline"] = _stages(preset, gpus, setting.tensor, cut_in)
    copies = setting.data * cut_in
    found["expert"] = [e for e in (1, 2, 4, 8) if preset.shape.experts % e == copies % e == 0]
    each = preset.batch // setting.data if setting.data else 0
    found["micro_batch"] = [b for b in (1, 2, 4, 8) if each and each % b == 0]
    layers, whole = divmod(preset.shape.layers, setting.pipeline)
    rounds = setting.pipeline > 1 and whole == 0 and each // setting.micro_batch % setting.pipeline == 0
    found["chunks"] = [v for v in range(1, 9) if layers % v == 0] if rounds else [1]
    if (*setting[:5], cut_in) == (*published[:5], plan.context):
        found["chunks"] = sorted({*found["chunks"], plan.chunks})
    return found


def _stages(preset: Preset, gpus: int, tensor: int, context: int) -> list[int]:
    """How many stages a pipeline can have: they divide the layers, and data ranks divide the batch."""
    plan, (ranks, rest) = preset.plan, divmod(gpus, tensor * context)
    if rest:
        return []
    divisors = [p for p in range(1, min(ranks, preset.shape.layers) + 1) if ranks % p == 0]
    fitting = {p for p in divisors if preset.shape.layers % p == 0 and preset.batch % (ranks // p) == 0}
    published = (gpus, tensor, context) == (plan.devices, plan.tensor, plan.context)
    return sorted(fitting | ({plan.pipeline} if published else set()))


def settle(setting: MeshSetting) -> MeshSetting:
    """The nearest setting that is possible, control by control."""
    for name in ("gpus", "context", "tensor", "pipeline", "micro_batch", "chunks", "expert"):
        values, value = choices(setting)[name], getattr(setting, name)
        if value not in values:
            near = min(values or [1], key=lambda other, value=value: abs(other / value - 1))  # type: ignore[misc]
            setting = setting._replace(**{name: near})  # type: ignore[arg-type]
    return setting._replace(rank=min(setting.rank, setting.gpus - 1))
