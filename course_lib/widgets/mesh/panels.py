"""The pictures of the mesh explorer: the ranks as a grid; memory, time and MFU beside what was published."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.draw.colors import COLORS
from course_lib.draw.mesh import STEP_COLORS
from course_lib.draw.panels import Bars, Line, Lines, Sketch, Table, axis
from course_lib.draw.units import format_bytes, format_count, format_seconds
from course_lib.widgets.mesh.grid import grid_panel
from course_lib.widgets.mesh.model import TOKENS, MeshSetting, MeshStep, choices, settle

__all__ = ["describe_mesh", "pictures"]

_HERE, _PUBLISHED = "this plan", "published plan"
_TOKENS = f"{TOKENS / 1e9:.0f} billion tokens"


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
    tried = {p: settle(setting._replace(pipeline=p)) for p in choices(setting)["pipeline"]}
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
