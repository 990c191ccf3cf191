"""The pictures of the scaling explorer: the step's parts, speed-up and efficiency by devices."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.draw.units import format_bytes, format_count, format_seconds, format_share
from course_lib.widgets.panels import Bars, Line, Lines, Table, axis
from course_lib.widgets.scaling.model import OWN, RANKS, Scaling, ScalingSetting

__all__ = ["describe_scaling", "pictures"]


def pictures(setting: ScalingSetting) -> list[str | Table | Bars | Lines]:
    """All that is shown of a setting."""
    scaling = Scaling(setting)
    return [describe_scaling(scaling), _facts(scaling), _time(scaling), _speedup(scaling), _efficiency(scaling)]


def describe_scaling(scaling: Scaling) -> str:
    """The setting in words."""
    setting = scaling.setting
    system = scaling.system
    here = scaling.here
    batch = f"a batch of {system.batch:,} in all" if system.fixed else f"{system.batch:,} examples on each"
    name = setting.workload if setting.system == OWN else setting.system
    return (
        f"{name} on {format_count(setting.ranks, 'device')}, {batch}: {_times(here.speedup)} times as fast as one, "
        f"efficiency {format_share(here.efficiency)}; {here.communication_share:.0%} of a step waits for messages."
    )


def _times(speedup: float) -> str:
    return f"{speedup:.1f}" if speedup >= 0.95 else f"{speedup:.2g}"


def _facts(scaling: Scaling) -> Table:
    system, crossover = scaling.system, scaling.crossover
    sent = scaling.setup.workload.gradient_bytes * scaling.setup.sent_share
    none = "beyond 4,096 devices" if system.fixed else "none: the batch grows with the devices"
    beside = f", beside {system.base}" if system.base > 1 else ""
    shares = [f"{share:.0%} on {count} devices{beside}" for count, share in system.efficiencies.items()]
    said = system.said or "".join(shares[-1:])
    return Table(
        {
            "gradients on the wire": format_bytes(sent),
            "one step": format_seconds(scaling.here.step_s),
            "speed-up": _times(scaling.here.speedup),
            "efficiency": format_share(scaling.here.efficiency),
            "all-reduce overtakes": none if crossover is None else f"at {crossover} devices",
            **({"published": said} if said else {}),
        },
        "computed, published" if said else "computed",
    )


def _time(scaling: Scaling) -> Bars:
    here = scaling.here
    parts = {"forward and backward": here.compute_s, "all-reduces": here.communication_s, "of them waited for": 0.0}
    parts["of them waited for"] = max(0.0, here.exposed_s)
    return Bars(
        title="What a step is made of",
        origin="computed",
        label="; ".join(f"{name}: {format_seconds(seconds)}" for name, seconds in parts.items()),
        bars={name: {"time": seconds} for name, seconds in parts.items()},
        axis=axis("time", parts.values(), "s"),
        show=format_seconds,
    )


def _speedup(scaling: Scaling) -> Lines:
    points = scaling.points(RANKS)
    published = {n: n * share for n, share in scaling.system.efficiencies.items() if scaling.system.base == 1}
    return Lines(
        title="Speed-up by devices",
        origin="computed, published" if published else "computed",
        label=f"here: {_times(scaling.here.speedup)} on {format_count(scaling.setting.ranks, 'device')}",
        lines={
            "this setting": Line(RANKS, [point.speedup for point in points]),
            "perfect": Line(RANKS, list(map(float, RANKS))),
            **_published(scaling, published),
        },
        x=axis("devices", RANKS, log=True, at=RANKS),
        y=axis("speed-up", [min(1.0, *(point.speedup for point in points)), 1024], log=True),
        here=(scaling.setting.ranks, scaling.here.speedup),
    )


def _efficiency(scaling: Scaling) -> Lines:
    ranks = [count for count in RANKS if count >= scaling.system.base]
    here = scaling.efficiency(scaling.here)
    computed = [scaling.efficiency(point) for point in scaling.points(tuple(ranks))]
    lines = {"this setting (computed)": Line(ranks, computed), **_published(scaling, scaling.system.efficiencies)}
    return Lines(
        title="Efficiency by devices",
        origin="computed, published" if len(lines) > 1 else "computed",
        label=f"here: {format_share(here)} on {format_count(scaling.setting.ranks, 'device')}",
        lines=lines,
        x=axis("devices", RANKS, log=True, at=RANKS),
        y=axis("efficiency", [0], "%", high=1.0),
        here=(scaling.setting.ranks, here),
    )


def _published(scaling: Scaling, points: Mapping[int, float]) -> dict[str, Line]:
    author = scaling.setting.system.split(",")[0]
    return {f"{author} (published)": Line(list(points), list(points.values()), dots=True)} if points else {}
