"""The pictures of the faults explorer: the waste by interval with its optimum, and one run with its failures."""

from __future__ import annotations

from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Axis, Bars, Lane, Line, Lines, Matrix, Sketch, Stretch, Table, Timeline, axis
from course_lib.draw.units import format_count
from course_lib.faults import RunStretch
from course_lib.widgets.faults.cut import cut_pictures
from course_lib.widgets.faults.model import COPY_SHARE, INTERVALS_S, Faults, FaultSetting, duration

__all__ = ["describe_faults", "pictures"]

# What a stretch is called, and its color: kept, lost, and what is no computing.
_LANES = {
    "compute": ("computing", "#8fd0bb"),
    "lost": ("computing that is lost", COLORS["vermillion"]),
    "save": ("standing still for a save", COLORS["blue"]),
    "restart": ("restarting", COLORS["orange"]),
}
_CURVE_S = tuple(INTERVALS_S[0] * (INTERVALS_S[-1] / INTERVALS_S[0]) ** (step / 80) for step in range(81))
_TICKS = {60.0: "1 min", 600.0: "10 min", 3600.0: "1 h", 21_600.0: "6 h", 86_400.0: "1 day"}


def pictures(setting: FaultSetting) -> list[str | Table | Lines | Bars | Timeline | Sketch | Matrix]:
    """All that is shown of a setting."""
    if setting.show:
        return [*cut_pictures(setting.show, setting.step)]
    faults = Faults(setting)
    run = [_run(faults)] if faults.progresses else []
    return [describe_faults(faults), _facts(faults), _waste(faults), _shares(faults), *run]


def describe_faults(faults: Faults) -> str:
    """The setting in words."""
    setting = faults.setting
    nodes = format_count(setting.nodes, "node")
    here = faults.waste_at(setting.interval_s, setting.beside)
    way = (
        f"written beside the training, which stands still for a copy ({COPY_SHARE:.0%} of the time to save)"
        if setting.beside
        else "for which the training stands still"
    )
    said = (
        f"{nodes}: a failure every {duration(faults.mtbf_s)} on average. A save every "
        f"{duration(setting.interval_s)}, {way}: {here:.1%} of the time is wasted."
    )
    return said if faults.progresses else f"{said} Hardly an interval ends before the next failure: no run is shown."


def _facts(faults: Faults) -> Table:
    setting = faults.setting
    return Table(
        {
            "a failure every": duration(faults.mtbf_s),
            "Young": duration(faults.young_s),
            "Daly": duration(faults.daly_s),
            "waste at best, standing still": f"{faults.min_waste:.1%}",
            "waste here": f"{faults.waste_at(setting.interval_s, setting.beside):.1%}",
        },
        "computed",
    )


def _waste(faults: Faults) -> Lines:
    setting = faults.setting
    here = faults.waste_at(setting.interval_s, setting.beside)
    top = min(1.0, max(3 * faults.min_waste, 1.3 * here))
    lines = {
        name: Line(_CURVE_S, [faults.waste_at(interval_s, beside) for interval_s in _CURVE_S], color, dash)
        for name, beside, color, dash in (
            ("standing still for saves", False, COLORS["blue"], ()),
            ("written beside", True, COLORS["green"], (6.0, 3.0)),
        )
    }
    for name, optimum_s, color in (("Young", faults.young_s, COLORS["vermillion"]), ("Daly", faults.daly_s, "ink")):
        if INTERVALS_S[0] <= optimum_s <= INTERVALS_S[-1]:
            lines[f"{name}'s optimum"] = Line([optimum_s, optimum_s], [0.0, top], color, (2.0, 3.0))
    return Lines(
        title="Waste by the time between saves",
        origin="computed",
        label=f"here: {here:.1%} at {duration(setting.interval_s)}; Young {duration(faults.young_s)}, "
        f"Daly {duration(faults.daly_s)}; at best {faults.min_waste:.1%} with saves that hold the training up",
        lines=lines,
        x=Axis("time between saves", INTERVALS_S[0], INTERVALS_S[-1], _TICKS, log=True),
        y=axis("wasted", [0], "%", high=top),
        here=(setting.interval_s, here),
    )


def _shares(faults: Faults) -> Bars:
    setting = faults.setting
    shares = {
        "here": faults.shares_at(setting.interval_s, setting.beside),
        "at Young's": faults.shares_at(faults.young_s, beside=False),
    }
    colors = dict(_LANES.values())
    words = [
        f"{row}: " + ", ".join(f"{_LANES[what][0]} {share:.1%}" for what, share in parts.items())
        for row, parts in shares.items()
    ]
    return Bars(
        title="Where the time goes",
        origin="computed",
        label="; ".join(words),
        bars={row: {_LANES[what][0]: share for what, share in parts.items()} for row, parts in shares.items()},
        axis=axis("share of the time", [0], "%", high=1.0),
        colors=colors,
    )


def _run(faults: Faults) -> Timeline:
    shown = [stretch for stretch in faults.stretches if stretch.start_s < faults.seconds]
    lanes = {
        name: Lane(color, [_box(s) for s in shown if s.what == what], edge=False)
        for what, (name, color) in _LANES.items()
    }
    failures = sum(stretch.what == "restart" for stretch in shown)
    lost_s = sum(min(s.end_s, faults.seconds) - s.start_s for s in shown if s.what == "lost")
    return Timeline(
        title=f"One run: {format_count(failures, 'failure')} in {duration(faults.seconds)}",
        origin="simulated",
        label=f"{format_count(failures, 'failure')}; {duration(lost_s)} of computing lost",
        rows=["training"],
        lanes=lanes,
        seconds=faults.seconds,
        row_px=60.0,
        unit="h",
        wide=True,
    )


def _box(stretch: RunStretch) -> Stretch:
    return Stretch(0, stretch.start_s, stretch.end_s)
