"""The pictures of the scaling explorer: a step's parts by GPUs, where they cross, and efficiency."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.draw.panels import Line, Lines, Sketch, Table, axis
from course_lib.draw.panels.drawing import INK
from course_lib.draw.units import format_bytes, format_count, format_seconds, format_share
from course_lib.widgets.scaling.columns import COLORS, DASHES, columns_panel, crossings
from course_lib.widgets.scaling.model import OWN, PLAIN, RANKS, Scaling, ScalingSetting

__all__ = ["describe_scaling", "pictures"]


def pictures(setting: ScalingSetting) -> list[str | Table | Sketch | Lines]:
    """All that is shown of a setting."""
    scaling = Scaling(setting)
    return [
        describe_scaling(scaling),
        columns_panel(scaling),
        _facts(scaling),
        _crossing(scaling),
        _efficiency(scaling),
    ]


def describe_scaling(scaling: Scaling) -> str:
    """The setting in words."""
    setting = scaling.setting
    system = scaling.system
    here = scaling.here
    batch = f"a batch of {system.batch:,} in all" if system.fixed else f"{system.batch:,} examples on each"
    name = setting.workload if setting.system == OWN else setting.system
    return (
        f"{name} on {format_count(setting.ranks, 'GPU')}, {batch}: {_times(here.speedup)} times as many examples per "
        f"second as one, "
        f"efficiency {format_share(here.efficiency)}; {here.communication_share:.0%} of a step waits for messages."
    )


def _times(speedup: float) -> str:
    return f"{speedup:.1f}" if speedup >= 0.95 else f"{speedup:.2g}"


def _facts(scaling: Scaling) -> Table:
    system, crossover = scaling.system, scaling.crossover
    ranks, setup = scaling.setting.ranks, scaling.setup
    sent = 2 * (ranks - 1) / ranks * setup.wire_share(ranks) * setup.workload.gradient_bytes
    none = "beyond 4,096 GPUs" if system.fixed else "none: the batch grows with the GPUs"
    beside = f", beside {system.base}" if system.base > 1 else ""
    shares = [f"{share:.0%} on {count} GPUs{beside}" for count, share in system.efficiencies.items()]
    period = scaling.remedy.period
    wire = "each GPU sends" + (f", every {period} steps" if period > 1 else "")
    said = system.said or "".join(shares[-1:])
    return Table(
        {
            "a GPU": setup.device.name,
            wire: format_bytes(sent),
            "one step": format_seconds(scaling.here.step_s),
            "speed-up": _times(scaling.here.speedup),
            "efficiency": format_share(scaling.here.efficiency),
            "all-reduce overtakes": none if crossover is None else f"at {crossover} GPUs",
            **({"published": said} if said else {}),
        },
        "computed, published" if said else "computed",
    )


def _crossing(scaling: Scaling) -> Lines:
    """The parts in seconds: with a fixed batch the passes shrink with the GPUs, and what is sent does not."""
    points, here = scaling.points(RANKS), scaling.here
    senders = RANKS[1:]  # one GPU sends nothing
    lines = {
        "a step": Line(RANKS, [point.step_s for point in points], INK),
        "forward and backward": Line(RANKS, [point.compute_s for point in points], COLORS["computing"]),
        "all-reduces": Line(senders, [point.communication_s for point in points[1:]], COLORS["all-reduce under it"]),
    }
    if plain := scaling.plain:
        without = [point.communication_s for point in plain.points(senders)]
        lines[f"all-reduces in {PLAIN}"] = Line(senders, without, COLORS["all-reduce under it"], DASHES[False][1])
    y = axis("time", [value for line in lines.values() for value in line.y], "s", log=True)
    for name, (count, mine) in crossings(scaling).items():
        if count <= RANKS[-1]:
            lines[name] = Line([count, count], [y.low, y.high], *DASHES[mine])
    parts = {"forward and backward": here.compute_s, "all-reduces": here.communication_s, "a step": here.step_s}
    return Lines(
        title="Where the parts cross",
        origin="computed",
        label="; ".join(f"{name}: {format_seconds(value)}" for name, value in parts.items()),
        lines=lines,
        x=axis("GPUs", RANKS, log=True, at=RANKS),
        y=y,
        here=(scaling.setting.ranks, here.step_s),
    )


def _efficiency(scaling: Scaling) -> Lines:
    ranks = [count for count in RANKS if count >= scaling.system.base]
    here = scaling.efficiency(scaling.here)
    computed = [scaling.efficiency(point) for point in scaling.points(tuple(ranks))]
    lines = {"this setting (computed)": Line(ranks, computed)}
    if plain := scaling.plain:
        without = [plain.efficiency(point) for point in plain.points(tuple(ranks))]
        lines[f"in {PLAIN} (computed)"] = Line(ranks, without, *DASHES[False])
    published = _published(scaling, scaling.system.efficiencies)
    return Lines(
        title="Efficiency by GPUs",
        origin="computed, published" if published else "computed",
        label=f"here: {format_share(here)} on {format_count(scaling.setting.ranks, 'GPU')}",
        lines=lines | published,
        x=axis("GPUs", RANKS, log=True, at=RANKS),
        y=axis("efficiency", [0], "%", high=1.0),
        here=(scaling.setting.ranks, here),
    )


def _published(scaling: Scaling, points: Mapping[int, float]) -> dict[str, Line]:
    author = scaling.setting.system.split(",")[0]
    return {f"{author} (published)": Line(list(points), list(points.values()), drawn="crosses")} if points else {}
