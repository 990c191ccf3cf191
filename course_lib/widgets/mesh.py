"""The mesh explorer: a published model, a number of GPUs, and where the model lies on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

from course_lib.draw.chapters.mesh import STEP_COLORS
from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Bars, Line, Lines, Sketch, Table, axis
from course_lib.draw.units import format_bytes, format_count, format_seconds
from course_lib.mesh import (
    A100_CLUSTER,
    H100_CLUSTER,
    KORTHIKANTI_2022,
    LLAMA3_2024,
    MIXTRAL_2024,
    NARAYANAN_2021,
    RECOMPUTE,
    SPARE,
    Cluster,
    Plan,
    StepTime,
    TransformerShape,
    device_memory,
    step_time,
)
from course_lib.widgets.controls import disable, menu, number, offer
from course_lib.widgets.mesh_grid import grid_panel
from course_lib.widgets.settings import EVERY, SettingExplorer, control, control_of

TOKENS = 450e9  # of a run: those for which Narayanan et al. (2021) estimate 84 days
_SIZES = ("gpus", "context", "tensor", "pipeline", "micro_batch", "chunks", "expert")  # in the order of settling
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
_BOOK_MODELS = [*[*PRESETS][:10:6], "GPT 1008 B, Narayanan", *[*PRESETS][-2:]]


def _counts(values: list[int]) -> dict[str, int]:
    return {f"{value:,}": value for value in values}


def _choice(name: str, label: str, **more: Any) -> Any:
    """A field of the setting: a menu of what is possible with the fields before it."""
    return control_of(None, lambda s, value: menu(label, _counts(choices(s)[name]), value), label=label, **more)


@dataclass(frozen=True)
class MeshSetting:
    """All that the controls say. Data ranks are what is left of the GPUs."""

    model: str = control("GPT 1008 B, Narayanan", menu, "model", list(PRESETS), book=_BOOK_MODELS)
    gpus: int = _choice("gpus", "GPUs")
    tensor: int = _choice("tensor", "tensor ranks", book=EVERY)
    pipeline: int = _choice("pipeline", "stages", book=EVERY)
    context: int = _choice("context", "context ranks", book=EVERY)
    expert: int = _choice("expert", "experts dealt to")
    micro_batch: int = _choice("micro_batch", "micro-batch")
    chunks: int = _choice("chunks", "chunks a rank")
    recompute: str = control(None, menu, "recompute", list(RECOMPUTE), book=EVERY)
    sequence_parallel: bool = control(None, menu, "sequence is", {"whole on tensor ranks": False, "cut": True})
    zero: int = control(None, menu, "optimizer", {"on each data rank": 0, "sharded (ZeRO 1)": 1})
    rank: int = control_of(0, lambda s, value: number("groups of rank", 0, s.gpus - 1, value))

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


def published_setting(model: str) -> MeshSetting:
    """The controls where the authors had them."""
    p = PRESETS[model].plan
    sizes = (p.devices, p.tensor, p.pipeline, p.context, p.expert, p.micro_batch, p.chunks)
    return MeshSetting(model, *sizes, p.recompute, p.sequence_parallel, p.zero)


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
    before = ("gpus", "context", "tensor", "pipeline", "micro_batch")
    if all(getattr(setting, name) == getattr(published, name) for name in before):
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
    for name in _SIZES:
        values, value = choices(setting)[name], getattr(setting, name)
        if value not in values:
            near = min(values or [1], key=lambda other, value=value: abs(other / value - 1))  # type: ignore[misc]
            setting = replace(setting, **{name: near})  # type: ignore[arg-type]
    return replace(setting, rank=min(setting.rank, setting.gpus - 1))


# The pictures of the mesh explorer: the ranks as a grid; memory, time and MFU beside what was published.

_HERE, _PUBLISHED = "this plan", "published plan"
_TOKENS = f"{TOKENS / 1e9:.0f} billion tokens"


def describe_mesh(setting: MeshSetting, here: MeshStep) -> str:
    """The setting in words."""
    needed, has = sum(here.memory.values()), here.preset.cluster.memory_bytes
    fits = "fits" if here.fits else "does not fit"
    return (
        f"{setting.model}: {_shape(setting)} GPUs take {format_seconds(here.time.seconds)} for a step and "
        f"{_days(here)} for {_TOKENS}, MFU {here.share():.0%} (published {here.preset.share:.0%}). The fullest GPU "
        f"needs {_gigabytes(needed)}, and may need {_gigabytes(here.room_bytes)} of its {_gigabytes(has)}: it {fits}."
    )


def _shape(setting: MeshSetting) -> str:
    cut = f" × {setting.context} context" if setting.context > 1 else ""
    return f"{setting.data} × {setting.pipeline} × {setting.tensor}{cut}"


def _days(here: MeshStep) -> str:
    return f"{here.days:,.1f} days"


def _gigabytes(count: float) -> str:
    return format_bytes(round(count, -6))


def _facts(setting: MeshSetting, here: MeshStep) -> Table:
    preset, mesh = here.preset, setting.plan.mesh
    at = mesh.coordinates(setting.rank)
    count = here.plan.micro_batches(preset.batch)
    achieved = here.share(setting.recompute) * preset.cluster.flops_per_s / 1e12
    return Table(
        {
            "data × pipeline × tensor": _shape(setting),
            "micro-batches of a data rank": f"{count:,} of {format_count(setting.micro_batch, 'sequence')}",
            "a step": f"{preset.batch:,} sequences in {format_seconds(here.time.seconds)}",
            _TOKENS: _days(here),
            "a GPU does": f"{achieved:.0f} TFLOP/s, {here.share(setting.recompute):.0%} of the peak",
            "MFU": f"{here.share():.0%}",
            "published": f"MFU {preset.share:.0%}; {preset.said}",
            f"rank {setting.rank}": ", ".join(f"{name} {place}" for name, place in at._asdict().items()),
            **{f"its {name} group": _members(setting, name) for name in reversed(mesh.dimensions)},
            **({"its experts lie on": _named(setting.plan.expert_group(setting.rank))} if setting.expert > 1 else {}),
        },
        "computed, published",
    )


def _members(setting: MeshSetting, dimension: str) -> str:
    """The ranks of a group, without looking at all ranks of the mesh."""
    mesh = setting.plan.mesh
    size, stride = getattr(mesh, dimension), mesh.stride(dimension)
    first = setting.rank - getattr(mesh.coordinates(setting.rank), dimension) * stride
    return _named([first + place * stride for place in range(size)])


def _named(ranks: Sequence[int]) -> str:
    named = [str(rank) for rank in ranks]
    return ", ".join(named) if len(named) <= 4 else f"{named[0]}, {named[1]}, … {named[-1]}: {len(named)} ranks"


def _memory(steps: dict[str, MeshStep]) -> Bars:
    has, room = steps[_HERE].preset.cluster.memory_bytes, steps[_HERE].room_bytes
    most = max(sum(step.memory.values()) for step in steps.values())
    return Bars(
        title="Memory of the fullest GPU",
        origin="computed",
        label="; ".join(
            f"{name}: " + ", ".join(f"{part} {_gigabytes(size)}" for part, size in step.memory.items())
            for name, step in steps.items()
        ),
        bars={name: dict(step.memory) for name, step in steps.items()},
        axis=axis("memory", [min(max(room, most), 4 * room)], "B"),
        limits={f"{_gigabytes(room)} of {_gigabytes(has)}": room},
        show=lambda size: f"{size / 1e9:,.0f} GB",
    )


def _time(steps: dict[str, MeshStep]) -> Bars:
    bars = {name: dict(zip(STEP_COLORS, step.time, strict=True)) for name, step in steps.items()}
    parts = {part: color for part, color in STEP_COLORS.items() if any(bar[part] for bar in bars.values())}
    most = max(step.time.seconds for step in steps.values())
    return Bars(
        title="What a step is made of",
        origin="computed",
        label="; ".join(
            f"{name}: " + ", ".join(f"{part} {format_seconds(bar[part])}" for part in parts)
            for name, bar in bars.items()
        ),
        bars={name: {part: bar[part] for part in parts} for name, bar in bars.items()},
        axis=axis("a step", [most], "s"),
        colors=parts,
        show=format_seconds,
    )


def _by_stages(setting: MeshSetting, here: MeshStep) -> Lines:
    tried = {p: settle(replace(setting, pipeline=p)) for p in choices(setting)["pipeline"]}
    steps = {p: MeshStep(each.preset, each.plan) for p, each in tried.items()}
    tight = {p: step.share() for p, step in steps.items() if not step.fits}
    published = setting.preset.plan.pipeline, setting.preset.share
    lines = {
        "with these GPUs and tensor ranks": Line(
            list(steps), [step.share() for step in steps.values()], COLORS["blue"]
        ),
        "does not fit": Line(list(tight), list(tight.values()), COLORS["vermillion"], drawn="dots"),
        "published": Line([published[0]], [published[1]], COLORS["green"], drawn="crosses"),
    }
    stages = [*steps, published[0]]
    return Lines(
        title="MFU by stages",
        origin="computed, published",
        label=f"here: {here.share():.1%} with {format_count(setting.pipeline, 'stage')}; "
        f"published: {published[1]:.1%} with {published[0]}; "
        + ", ".join(f"{p}: {step.share():.1%}" for p, step in steps.items()),
        lines=lines,
        x=axis("stages", [1, *stages], log=True, at=sorted({1, *stages})),
        y=axis("MFU", [0], "%", high=0.7),
        here=(setting.pipeline, here.share()),
    )


def _groups(setting: MeshSetting) -> Sketch:
    mesh, at = setting.plan.mesh, setting.plan.mesh.coordinates(setting.rank)
    groups = "; ".join(f"{name} group {_members(setting, name)}" for name in mesh.dimensions)
    places = ", ".join(f"{name} {place}" for name, place in at._asdict().items()).replace("pipeline", "stage")
    label = f"rank {setting.rank}: {places}; {groups}"
    return grid_panel(mesh, setting.rank, label)


class MeshExplorer(SettingExplorer):
    """Memory of a GPU, time of a step and MFU by the model of chapter 13, for models that others have trained, beside
    what they published. Data ranks are what is left of the GPUs.

    A model brings its batch and its cluster, and lies as published where nothing else is given.
    """

    Setting = MeshSetting

    def __init__(self, *, model: str = MeshSetting.model, **asked: Any) -> None:
        if model not in [*PRESETS]:
            raise ValueError(f"model must be one of {', '.join(PRESETS)}, got {model!r}")
        for name, value in asked.items():
            least = {**dict.fromkeys(_SIZES, 1), "rank": 0}.get(name)
            if least is not None and (not isinstance(value, Integral) or int(value) < least):
                raise ValueError(f"{name} must be a whole number from {least}, got {value!r}")
        first = settle(replace(published_setting(model), **asked))
        for name, value in asked.items():
            if name != "rank" and value != getattr(first, name):
                raise ValueError(f"{name} must be one of {choices(first)[name]} with the rest of the plan, got {value}")
        self._model = model
        super().__init__(**vars(first) | {"rank": asked.get("rank", 0)})

    @staticmethod
    def pictures(setting: MeshSetting) -> list[str | Table | Sketch | Bars | Lines]:
        """All that is shown of a setting."""
        here, published = MeshStep(setting.preset, setting.plan), MeshStep(setting.preset, setting.preset.plan)
        steps = {_HERE: here, _PUBLISHED: published}
        return [
            describe_mesh(setting, here),
            _groups(setting),
            _facts(setting, here),
            _memory(steps),
            _time(steps),
            _by_stages(setting, here),
        ]

    def prepare(self) -> None:
        """Another model lies as published; each control offers what is possible with those above it."""
        setting = self.setting
        if setting.model != self._model:
            setting = replace(published_setting(setting.model), rank=setting.rank)
        self._model, setting = setting.model, settle(setting)
        for name, offered in choices(setting).items():
            offer(self.controls[name], _counts(offered), getattr(setting, name))
        for name in ("recompute", "sequence_parallel", "zero"):
            self.controls[name].value = getattr(setting, name)
        self.controls["rank"].max, self.controls["rank"].value = setting.gpus - 1, setting.rank
        alone = setting.data * setting.context == 1
        disable(self.controls["sequence_parallel"], setting.tensor == 1, "there is one tensor rank only")
        disable(self.controls["zero"], alone, "there is one data rank only")
        disable(self.controls["chunks"], len(choices(setting)["chunks"]) == 1, "this pipeline does not interleave")
        disable(self.controls["context"], len(choices(setting)["context"]) == 1, "a rank needs 1,024 tokens")
        disable(self.controls["expert"], setting.preset.shape.experts == 1, "this model has one MLP a layer")

    def put(self, where: Mapping[str, Mapping[str, Any]]) -> None:
        """Bring every control back to where it stood, without drawing."""
        self._model = where["model"]["value"]  # or its published plan would come instead of the one that stood here
        super().put(where)
