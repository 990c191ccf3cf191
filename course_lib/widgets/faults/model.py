"""What the faults explorer computes: what a failure costs at any interval, and one run with its failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

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

__all__ = ["COPY_SHARE", "GPUS_PER_NODE", "INTERVALS_S", "PRESETS", "FaultSetting", "Faults", "Machines", "duration"]

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


class FaultSetting(NamedTuple):
    """All that the controls say. `machines` is the name of a preset, or "" for one's own; `show` a way to save that is
    cut after a step, or "" for how often to save."""

    machines: str
    nodes: int
    failures_per_node_day: float
    save_s: float
    interval_s: float
    restart_s: float
    beside: bool
    run: int
    notice_s: float = 0.0
    show: str = ""
    step: int = 0

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


def duration(seconds: float) -> str:
    """A time in the unit of a clock or a calendar.

    >>> [duration(seconds) for seconds in (2.0, 90.0, 600.0, 11_135.0, 864_000.0)]
    ['2 s', '90 s', '10 min', '3.1 h', '10 days']
    """
    for scale, unit in ((86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * scale:
            return f"{seconds / scale:,.{int(seconds < 10 * scale)}f} {unit}".replace(".0 ", " ")
    return f"{seconds:.3g} s"
