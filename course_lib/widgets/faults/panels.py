"""The pictures of the faults explorer: what a failure costs, by part and by interval, and one run with its failures."""

from __future__ import annotations

from course_lib.draw.colors import COLORS
from course_lib.draw.faults import COST_COLORS
from course_lib.draw.panels import Axis, Bars, Lane, Line, Lines, Matrix, Sketch, Stretch, Table, Timeline, axis
from course_lib.draw.units import format_count
from course_lib.faults import RunStretch
from course_lib.widgets.faults.cut import cut_pictures
from course_lib.widgets.faults.model import INTERVALS_S, Faults, FaultSetting, duration

__all__ = ["describe_faults", "pictures"]

# What a stretch of the run is called, and its color: the parts of a failure's cost have those of the page.
_LANES = {
    "compute": ("work that counts", "#8fd0bb"),
    "lost": ("lost work", COST_COLORS["lost work"]),
    "save": ("saves", COST_COLORS["saves"]),
    "notice": ("notice", COST_COLORS["notice"]),
    "restart": ("restart", COST_COLORS["restart"]),
}
_CURVE_S = tuple(INTERVALS_S[0] * (INTERVALS_S[-1] / INTERVALS_S[0]) ** (step / 80) for step in range(81))
_TICKS = {60.0: "1 min", 600.0: "10 min", 3600.0: "1 h", 21_600.0: "6 h", 86_400.0: "1 day"}
_UNITS = {"minutes": 60.0, "hours": 3600.0, "days": 86_400.0}
_BEST = "√(2δM)"


def pictures(setting: FaultSetting) -> list[str | Table | Lines | Bars | Timeline | Sketch | Matrix]:
    """All that is shown of a setting."""
    if setting.show:
        return [*cut_pictures(setting.show, setting.step)]
    faults = Faults(setting)
    run = [_run(faults)] if faults.progresses else []
    return [describe_faults(faults), _facts(faults), _costs(faults), _by_interval(faults), *run]


def describe_faults(faults: Faults) -> str:
    """The setting in words."""
    setting = faults.setting
    nodes = format_count(setting.nodes, "node")
    stands_s, write_s = faults.save_and_write_s(setting.interval_s, setting.beside)
    way = f"the run stands still for {duration(stands_s)}"
    if setting.beside:
        way = f"{way}, and what it saves is written for {duration(write_s)} beside it"
    said = (
        f"{nodes}: a failure every {duration(faults.mtbf_s)} on average. A save every "
        f"{duration(setting.interval_s)}: {way}. A failure costs {_minutes(sum(faults.here_s.values()))}; "
        f"for nine tenths of the time it may cost {_minutes(faults.budget_s)}."
    )
    return said if faults.progresses else f"{said} Hardly an interval ends before the next failure: no run is shown."


def _minutes(seconds: float) -> str:
    """As the page counts, as long as that can be read."""
    return f"{seconds / 60:.1f} min" if 60 <= seconds < 36_000 else duration(seconds)


def _facts(faults: Faults) -> Table:
    wasted = faults.waste_at(faults.setting.interval_s, faults.setting.beside)
    return Table(
        {
            "a failure every": duration(faults.mtbf_s),
            f"{_BEST}, Young's": _minutes(faults.young_s),
            "Daly's interval": _minutes(faults.daly_s),
            "a failure costs": _minutes(sum(faults.here_s.values())),
            "a tenth of M": _minutes(faults.budget_s),
            "wasted, if failures come in saves and restarts, too": f"{wasted:.1%}" if wasted >= 5e-4 else "below 0.1%",
        },
        "computed",
    )


def _unit(seconds: float) -> str:
    """The unit in which so long a time is drawn."""
    return "minutes" if seconds < 36_000 else "hours" if seconds < 3 * 86_400 else "days"


def _costs(faults: Faults) -> Bars:
    setting = faults.setting
    plans = {"here": faults.here_s, f"at {_BEST}": faults.cost_at(faults.young_s, setting.beside)}
    longest_s = max(faults.budget_s, *(sum(parts.values()) for parts in plans.values()))
    unit = _unit(longest_s)
    scale = _UNITS[unit]
    bars = {
        f"{plan}: {_minutes(sum(parts.values()))}": {part: cost_s / scale for part, cost_s in parts.items()}
        for plan, parts in plans.items()
    }
    words = [
        f"{plan}: {', '.join(f'{part} {_minutes(cost_s)}' for part, cost_s in parts.items())}"
        for plan, parts in plans.items()
    ]
    limit = f"a tenth of M: {_minutes(faults.budget_s)}"
    return Bars(
        title="What a failure costs",
        origin="computed",
        label="; ".join([*words, limit]),
        bars=bars,
        axis=axis(f"{unit} for each failure", [1.05 * longest_s / scale]),
        limits={"a tenth of M": faults.budget_s / scale},
        colors=COST_COLORS,
        wide=True,
    )


def _by_interval(faults: Faults) -> Lines:
    setting = faults.setting
    here_s = sum(faults.here_s.values())
    best_s = sum(faults.cost_at(faults.young_s, setting.beside).values())
    top_s = max(2.5 * faults.budget_s, 1.3 * here_s, 1.3 * best_s)
    unit = _unit(top_s)
    scale = _UNITS[unit]
    lines = {
        name: Line(_CURVE_S, [sum(faults.cost_at(each_s, beside).values()) / scale for each_s in _CURVE_S], color, dash)
        for name, beside, color, dash in (
            ("standing still for saves", False, "ink", ()),
            ("written beside", True, COLORS["green"], (6.0, 3.0)),
        )
    }
    ends, budget = [_CURVE_S[0], _CURVE_S[-1]], faults.budget_s / scale
    lines["a tenth of M"] = Line(ends, [budget, budget], "ink", (2.0, 3.0))
    if INTERVALS_S[0] <= faults.young_s <= INTERVALS_S[-1]:
        lines[_BEST] = Line([faults.young_s] * 2, [0.0, top_s / scale], COLORS["purple"], (2.0, 3.0))
    return Lines(
        title="What a failure costs, by the time between saves",
        origin="computed",
        label=f"here: {_minutes(here_s)} at {duration(setting.interval_s)}; {_BEST}: {_minutes(best_s)} at "
        f"{duration(faults.young_s)}; a tenth of M: {_minutes(faults.budget_s)}",
        lines=lines,
        x=Axis("time between saves", INTERVALS_S[0], INTERVALS_S[-1], _TICKS, log=True),
        y=axis(f"{unit} for each failure", [0], high=top_s / scale),
        here=(setting.interval_s, here_s / scale),
        wide=True,
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
        label=f"{format_count(failures, 'failure')}; {duration(lost_s)} of work lost",
        rows=["run"],
        lanes=lanes,
        seconds=faults.seconds,
        row_px=60.0,
        unit="h",
        wide=True,
    )


def _box(stretch: RunStretch) -> Stretch:
    return Stretch(0, stretch.start_s, stretch.end_s)
