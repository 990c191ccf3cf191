"""What the faults explorer computes: the waste of a training at any interval, and one run with its failures."""

from __future__ import annotations

import math
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
    best_interval_s,
    daly_interval_s,
    simulate_run,
    waste,
    young_interval_s,
)

__all__ = ["COPY_SHARE", "GPUS_PER_NODE", "INTERVALS_S", "PRESETS", "FaultSetting", "Faults", "Machines", "duration"]

GPUS_PER_NODE = 8
COPY_SHARE = 0.05  # of the time to save: the copy for which training stands still, if the rest is written beside it
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
    show: str = ""
    step: int = 0


class Faults:
    """What follows from a setting."""

    def __init__(self, setting: FaultSetting) -> None:
        self.setting = setting
        self.mtbf_s = 86_400 / (setting.nodes * setting.failures_per_node_day)

    def waste_at(self, interval_s: float, beside: bool) -> float:
        """The share of the time that is wasted. Beside the training it is an estimate.

        A write under way is worth nothing yet. A failure that comes during it costs an interval more, which on average
        is one time to write for each failure.
        """
        setting = self.setting
        if not beside:
            return waste(interval_s, setting.save_s, self.mtbf_s, setting.restart_s)
        stall_s = async_stall_s(COPY_SHARE * setting.save_s, setting.save_s, interval_s)
        useful = 1 - waste(interval_s, stall_s, self.mtbf_s, setting.restart_s)
        return min(1.0, 1 - useful * (1 - min(1.0, setting.save_s / self.mtbf_s)))

    def shares_at(self, interval_s: float, beside: bool) -> dict[str, float]:
        """What the time goes into: work that counts, standing still for saves, restarts, and work that is lost.

        Each failure begins a restart, which the next failure cuts short: 1 - e^(-restart/mtbf) of the time.
        """
        setting = self.setting
        counts = 1 - self.waste_at(interval_s, beside)
        stall_s = async_stall_s(COPY_SHARE * setting.save_s, setting.save_s, interval_s) if beside else setting.save_s
        saves = counts * stall_s / interval_s
        restarts = -math.expm1(-setting.restart_s / self.mtbf_s)
        return {"compute": counts, "save": saves, "restart": restarts, "lost": max(0.0, 1 - counts - saves - restarts)}

    @cached_property
    def young_s(self) -> float:
        """Young's optimum for saves that hold the training up."""
        return young_interval_s(self.setting.save_s, self.mtbf_s)

    @cached_property
    def daly_s(self) -> float:
        """Daly's."""
        return daly_interval_s(self.setting.save_s, self.mtbf_s)

    @cached_property
    def min_waste(self) -> float:
        """At the best interval for saves that hold the training up."""
        return self.waste_at(best_interval_s(self.setting.save_s, self.mtbf_s), beside=False)

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
        stall_s = COPY_SHARE * setting.save_s if setting.beside else setting.save_s
        log: list[RunStretch] = []
        if self.progresses:
            times = (setting.interval_s, stall_s, self.mtbf_s, setting.restart_s, setting.save_s - stall_s)
            simulate_run(self.seconds, *times, seed=setting.run, log=log)
        return list(_with_losses(log))


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
