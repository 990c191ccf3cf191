"""The pictures of the scaling explorer: the step's parts, speed-up and efficiency by devices."""

from __future__ import annotations

from course_lib.draw.units import format_bytes, format_seconds
from course_lib.scaling import HOROVOD_512
from course_lib.widgets.panels import Bars, Line, Lines, Table, axis
from course_lib.widgets.scaling.model import RANKS, Scaling, ScalingSetting

__all__ = ["describe_scaling", "pictures"]


def pictures(setting: ScalingSetting) -> list[str | Table | Bars | Lines]:
    """All that is shown of a setting."""
    scaling = Scaling(setting)
    return [describe_scaling(scaling), _facts(scaling), _time(scaling), _speedup(scaling), _efficiency(scaling)]


def describe_scaling(scaling: Scaling) -> str:
    """The setting in words."""
    setting, here = scaling.setting, scaling.here
    batch = f"a batch of {setting.batch:,} in all" if setting.fixed else f"{setting.batch:,} examples on each"
    return (
        f"{setting.workload} on {setting.ranks} devices, {batch}: {here.speedup:.1f} times as fast as one, efficiency "
        f"{here.efficiency:.0%}; {here.communication_share:.0%} of a step waits for messages."
    )


def _facts(scaling: Scaling) -> Table:
    setting, crossover = scaling.setting, scaling.crossover
    sent = scaling.setup.workload.gradient_bytes * scaling.setup.sent_share
    none = "beyond 4,096 devices" if setting.fixed else "none: the batch grows with the devices"
    return Table(
        {
            "gradients on the wire": format_bytes(sent, binary=False),
            "one step": format_seconds(scaling.here.step_s),
            "speed-up": f"{scaling.here.speedup:.1f}",
            "efficiency": f"{scaling.here.efficiency:.0%}",
            "all-reduce overtakes": none if crossover is None else f"at {crossover} devices",
        },
        "computed",
    )


def _time(scaling: Scaling) -> Bars:
    here = scaling.here
    parts = {"forward and backward": here.compute_s, "all-reduces": here.communication_s, "of them waited for": 0.0}
    parts["of them waited for"] = max(0.0, here.exposed_s)
    return Bars(
        title="What a step is made of",
        origin="computed",
        label="; ".join(f"{name}: {format_seconds(seconds)}" for name, seconds in parts.items()),
        bars={name: {"time": 1e3 * seconds} for name, seconds in parts.items()},
        axis=axis("ms", [0], high=1.3e3 * max(parts.values()) or 1.0),
        show=lambda value: format_seconds(1e-3 * value),
    )


def _speedup(scaling: Scaling) -> Lines:
    points = scaling.points(RANKS)
    return Lines(
        title="Speed-up by devices",
        origin="computed",
        label=f"here: {scaling.here.speedup:.1f} on {scaling.setting.ranks} devices",
        lines={
            "this setting": Line(RANKS, [point.speedup for point in points]),
            "perfect": Line(RANKS, list(map(float, RANKS))),
        },
        x=axis("devices", RANKS, log=True),
        y=axis("speed-up", [min(1.0, *(point.speedup for point in points)), 1024], log=True),
        here=(scaling.setting.ranks, scaling.here.speedup),
    )


def _efficiency(scaling: Scaling) -> Lines:
    lines = {"this setting (computed)": Line(RANKS, [point.efficiency for point in scaling.points(RANKS)])}
    for name, share in HOROVOD_512.items():
        if name == scaling.setting.workload:
            lines["Horovod (published)"] = Line([512], [share])
    return Lines(
        title="Efficiency by devices",
        origin="computed, published" if len(lines) > 1 else "computed",
        label=f"here: {scaling.here.efficiency:.0%} on {scaling.setting.ranks} devices",
        lines=lines,
        x=axis("devices", RANKS, log=True),
        y=axis("efficiency", [0], "%", high=1.0),
        here=(scaling.setting.ranks, scaling.here.efficiency),
    )
