"""The faults explorer: machines that fail, what a failure costs, and an interval to choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from course_lib.draw.chapters.faults import COST_COLORS
from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Bars, Lane, Line, Lines, Matrix, PanelAxis, Sketch, Stretch, Table, Timeline, axis
from course_lib.draw.units import format_count
from course_lib.faults import (
    LLAMA_3,
    META_CLUSTERS,
    OPT_175B,
    FailedTraining,
    RunStretch,
    async_stall_s,
    daly_interval_s,
    failure_cost_s,
    simulate_run,
    waste,
    young_interval_s,
)
from course_lib.widgets.controls import disable, menu, number, scale, step_slider
from course_lib.widgets.faults_cut import OPERATIONS, WAYS, cut_pictures, outcomes
from course_lib.widgets.settings import EVERY, SteppedExplorer, control

__all__ = [
    "COPY_SHARE",
    "GPUS_PER_NODE",
    "INTERVALS_S",
    "PRESETS",
    "WAYS",
    "FaultSetting",
    "Faults",
    "FaultsExplorer",
    "Machines",
    "describe_faults",
    "duration",
    "outcomes",
]

GPUS_PER_NODE = 8
COPY_SHARE = 1 / 12  # of the time to save: the copy for which the run stands still, if the rest is written beside it
_MINUTES = (0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 480, 720, 1440)
INTERVALS_S = tuple(60.0 * minutes for minutes in _MINUTES)
_SHOWN_FAILURES, _MAX_INTERVALS = 6, 400  # of the run in the timeline


class Machines(NamedTuple):
    """How many nodes there are, and how often one of them fails in a day."""

    nodes: int
    failures_per_node_day: float


def _of_training(training: FailedTraining) -> Machines:
    nodes = training.gpus // GPUS_PER_NODE
    return Machines(nodes, training.failures / training.days / nodes)


PRESETS: Mapping[str, Machines] = {
    "Llama 3, 16,384 GPUs": _of_training(LLAMA_3),
    "OPT-175B, 992 GPUs": _of_training(OPT_175B),
    "RSC-1, 1,024 GPUs": Machines(128, META_CLUSTERS["RSC-1"]),
    "RSC-2, 1,024 GPUs": Machines(128, META_CLUSTERS["RSC-2"]),
}
_OWN, _LLAMA = "", PRESETS["Llama 3, 16,384 GPUs"]
_MACHINES = {**{name: name for name in PRESETS}, "your own": _OWN}
_NODES = {1, 2, 4, 8, 16, 32, 64, 256, 512, 1024, 4096, 8192, 16_384, *(preset.nodes for preset in PRESETS.values())}
_RATES = {1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1}
_RATES |= {preset.failures_per_node_day for preset in PRESETS.values()}
_TIMES_S = (1, 2, 5, 10, 20, 30, 60, 120, 180, 300, 600, 1200, 1800, 3600)
_BOOK_S = [60.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 18000.0]


def duration(seconds: float) -> str:
    """A time in the unit of a clock or a calendar.

    >>> [duration(seconds) for seconds in (2.0, 90.0, 600.0, 11_135.0, 864_000.0)]
    ['2 s', '90 s', '10 min', '3.1 h', '10 days']
    """
    for long_s, unit in ((86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * long_s:
            return f"{seconds / long_s:,.{int(seconds < 10 * long_s)}f} {unit}".replace(".0 ", " ")
    return f"{seconds:.3g} s"


@dataclass(frozen=True)
class FaultSetting:
    """All that the controls say. `machines` is the name of a preset, or "" for one's own; `show` a way to save that is
    cut after a step, or "" for how often to save."""

    show: str = control("", menu, "show", {"how often to save": "", **dict(zip(WAYS, WAYS, strict=True))}, book=EVERY)
    machines: str = control(next(iter(PRESETS)), menu, "machines", _MACHINES, book=[*PRESETS][:2], about='"": your own')
    nodes: int = control(_LLAMA.nodes, scale, "nodes", sorted(_NODES), show="{:,}".format)
    failures_per_node_day: float = control(
        _LLAMA.failures_per_node_day, scale, "failures a day", sorted(_RATES), show="{:.2g}".format, about="of a node"
    )
    save_s: float = control(60, scale, "a save takes", _TIMES_S, show=duration, book=[5, 60, 300])
    interval_s: float = control(3600, scale, "a save every", INTERVALS_S, show=duration, book=_BOOK_S)
    notice_s: float = control(600, scale, "noticing takes", _TIMES_S, show=duration, book=[60, 180, 600])
    restart_s: float = control(600, scale, "a restart takes", _TIMES_S, show=duration)
    beside: bool = control(False, menu, "saves are", {"waited for": False, "written beside": True}, book=EVERY)
    run: int = control(1, number, "run", 1, 20, about="which failures are drawn")
    step: int = control(1, step_slider, "step", book=EVERY, about="how many operations of a save are done")

    @property
    def down_s(self) -> float:
        """From a failure until steps are made again."""
        return self.notice_s + self.restart_s


class Faults:
    """What follows from a setting."""

    def __init__(self, setting: FaultSetting) -> None:
        self.setting = setting
        self.mtbf_s = 86_400 / (setting.nodes * setting.failures_per_node_day)

    def save_and_write_s(self, interval_s: float, beside: bool) -> tuple[float, float]:
        """How long the run stands still for a save, and how long the save goes on beside it."""
        save_s = self.setting.save_s
        if not beside:
            return save_s, 0.0
        copy_s = COPY_SHARE * save_s
        return async_stall_s(copy_s, save_s - copy_s, interval_s), save_s - copy_s

    def cost_at(self, interval_s: float, beside: bool) -> dict[str, float]:
        """The page's sum: seconds that a failure costs, by part."""
        stall_s, write_s = self.save_and_write_s(interval_s, beside)
        setting = self.setting
        return failure_cost_s(interval_s, stall_s, self.mtbf_s, setting.notice_s, setting.restart_s, write_s)

    def waste_at(self, interval_s: float, beside: bool) -> float:
        """The share of the time that is wasted, where failures may come during saves and restarts, too.

        Beside the run it is an estimate: a write under way is worth nothing yet, so a failure that comes during it
        costs an interval more, which on average is one time to write for each failure.
        """
        stall_s, write_s = self.save_and_write_s(interval_s, beside)
        useful = 1 - waste(interval_s, stall_s, self.mtbf_s, self.setting.down_s)
        return min(1.0, 1 - useful * (1 - min(1.0, write_s / self.mtbf_s)))

    @property
    def here_s(self) -> dict[str, float]:
        """What a failure costs where the controls stand."""
        return self.cost_at(self.setting.interval_s, self.setting.beside)

    @property
    def budget_s(self) -> float:
        """What a failure may cost if nine tenths of the time are to be training."""
        return self.mtbf_s / 10

    @cached_property
    def young_s(self) -> float:
        """Young's optimum, by the time for which the run stands still."""
        return young_interval_s(self._standing_s, self.mtbf_s)

    @cached_property
    def daly_s(self) -> float:
        """Daly's."""
        return daly_interval_s(self._standing_s, self.mtbf_s)

    @property
    def _standing_s(self) -> float:
        return self.setting.save_s * (COPY_SHARE if self.setting.beside else 1.0)

    @property
    def progresses(self) -> bool:
        """False if hardly an interval ends before the next failure."""
        return self.waste_at(self.setting.interval_s, self.setting.beside) < 0.95

    @cached_property
    def seconds(self) -> float:
        """How much of the run is shown: about six failures, but not so many saves that none could be seen."""
        return min(_SHOWN_FAILURES * self.mtbf_s, _MAX_INTERVALS * (self.setting.interval_s + self.setting.save_s))

    @cached_property
    def stretches(self) -> list[RunStretch]:
        """One run, until it has worked longer than is shown; computing that a failure takes back is "lost"."""
        setting = self.setting
        stall_s = self._standing_s
        log: list[RunStretch] = []
        if self.progresses:
            times = (setting.interval_s, stall_s, self.mtbf_s, setting.down_s, setting.save_s - stall_s)
            simulate_run(self.seconds, *times, seed=setting.run, log=log)
        return [part for stretch in _with_losses(log) for part in _noticed(stretch, setting.restart_s)]


def _noticed(stretch: RunStretch, restart_s: float) -> list[RunStretch]:
    """A stretch; where steps are to be made again, what comes before the last restart is the time to notice."""
    if stretch.what != "restart":
        return [stretch]
    middle_s = max(stretch.start_s, stretch.end_s - restart_s)
    return [stretch._replace(what="notice", end_s=middle_s), stretch._replace(start_s=middle_s)]


def _with_losses(log: list[RunStretch]) -> Iterator[RunStretch]:
    """The stretches from the last to the first; what a later restart begins before has been lost."""
    kept_s = float("inf")
    for stretch in reversed(log):
        kept_s = min(kept_s, stretch.done_s) if stretch.what == "restart" else kept_s
        lost = stretch.what == "compute" and stretch.done_s > kept_s
        yield stretch._replace(what="lost") if lost else stretch


# The pictures of the faults explorer: what a failure costs, by part and by interval, and one run with its failures.

# What a stretch of the run is called, and its color: the parts of a failure's cost have those of the page.
_LANES = {
    "compute": ("work that counts", COLORS["green"]),
    "lost": ("lost work", COST_COLORS["lost work"]),
    "save": ("saves", COST_COLORS["saves"]),
    "notice": ("notice", COST_COLORS["notice"]),
    "restart": ("restart", COST_COLORS["restart"]),
}
_CURVE_S = tuple(INTERVALS_S[0] * (INTERVALS_S[-1] / INTERVALS_S[0]) ** (step / 80) for step in range(81))
_TICKS = {60.0: "1 min", 600.0: "10 min", 3600.0: "1 h", 21_600.0: "6 h", 86_400.0: "1 day"}
_UNITS = {"minutes": 60.0, "hours": 3600.0, "days": 86_400.0}
_BEST = "√(2δM)"


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
        x=PanelAxis("time between saves", INTERVALS_S[0], INTERVALS_S[-1], _TICKS, log=True),
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


class FaultsExplorer(SteppedExplorer):
    """How often to save, by the formulas and the simulation of chapter 12; or one save that is cut, to be played.

    Machines of your own are 128 nodes with 0.005 failures a day, where nothing else is given.
    """

    Setting = FaultSetting

    def __init__(self, **asked: Any) -> None:
        own = bool(asked.keys() & set(Machines._fields))  # whoever names these has machines of their own
        asked = ({"machines": _OWN} if own else {}) | asked
        self._machines = asked["machines"] if own else _OWN
        known = PRESETS.get(asked.get("machines", FaultSetting.machines), Machines(128, 5e-3))
        super().__init__(**known._asdict() | asked)

    @staticmethod
    def pictures(setting: FaultSetting) -> list[str | Table | Lines | Bars | Timeline | Sketch | Matrix]:
        """All that is shown of a setting."""
        if setting.show:
            return [*cut_pictures(setting.show, setting.step)]
        faults = Faults(setting)
        run = [_run(faults)] if faults.progresses else []
        return [describe_faults(faults), _facts(faults), _costs(faults), _by_interval(faults), *run]

    def prepare(self) -> None:
        """A preset moves the nodes and their rate; who moves these has machines of their own. One save knows none."""
        super().prepare()
        one_save = bool(self.controls["show"].value)
        for name in self.controls.keys() - {"show", "step"}:
            disable(self.controls[name], one_save, "one save does not depend on it")
        for name in ("machines", "save_s", "interval_s", "beside", "notice_s") if one_save else ():
            self.controls[name].value = getattr(self.asked, name)
        machines, nodes, rate = (self.controls[name] for name in ("machines", "nodes", "failures_per_node_day"))
        preset = PRESETS.get(machines.value)
        if preset is not None and machines.value != self._machines:
            nodes.value, rate.value = preset
        elif preset is not None and (nodes.value, rate.value) != preset:
            machines.value = _OWN
        self._machines = machines.value

    def steps(self, setting: FaultSetting) -> int:
        """The operations of a save."""
        return len(OPERATIONS[setting.show or WAYS[0]])

    def before_playing(self, setting: FaultSetting) -> dict[str, Any]:
        """Show a save."""
        return {} if setting.show else {"show": WAYS[0]}
