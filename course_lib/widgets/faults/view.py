"""The faults explorer: machines that fail, what a failure costs, and an interval to choose."""

from __future__ import annotations

from typing import Any, ClassVar

from course_lib.widgets.controls import explain, menu, number, scale
from course_lib.widgets.faults.cut import OPERATIONS, WAYS
from course_lib.widgets.faults.model import INTERVALS_S, PRESETS, FaultSetting, Machines, duration
from course_lib.widgets.faults.panels import pictures
from course_lib.widgets.stepped import SteppedExplorer

__all__ = ["FaultsExplorer"]

_OWN = ""
_NODES = {1, 2, 4, 8, 16, 32, 64, 256, 512, 1024, 4096, 8192, 16_384, *(preset.nodes for preset in PRESETS.values())}
_RATES = {1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1}
_RATES |= {preset.failures_per_node_day for preset in PRESETS.values()}
_TIMES_S = (1, 2, 5, 10, 20, 30, 60, 120, 180, 300, 600, 1200, 1800, 3600)


class FaultsExplorer(SteppedExplorer):
    """How often to save, by the formulas and the simulation of chapter 12; or one save that is cut, to be played.

    Args:
        machines: one of PRESETS, published, or "" for one's own.
        nodes, failures_per_node_day: of one's own machines, 128 and 0.005 if none are given; presets say theirs.
        save_s, interval_s, notice_s, restart_s, beside, run: where the controls stand at first. With `beside` a save is
            written while the run goes on; `run` chooses the failures that are drawn.
        show, step: "" for how often to save, or one of the ways to save, and after how many of its operations it stops.
    """

    moves: ClassVar = {
        "show": None,
        "machines": [*PRESETS][:2],
        "save_s": [5, 60, 300],
        "interval_s": [60.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 18000.0],
        "notice_s": [60, 180, 600],
        "beside": None,
        "step": None,
    }

    def __init__(
        self,
        *,
        machines: str = "Llama 3, 16,384 GPUs",
        nodes: int | None = None,
        failures_per_node_day: float | None = None,
        save_s: float = 60,
        interval_s: float = 3600,
        notice_s: float = 600,
        restart_s: float = 600,
        beside: bool = False,
        run: int = 1,
        show: str = "",
        step: int = 1,
    ) -> None:
        self._machines = _OWN
        self._start = {"machines": machines, "save_s": save_s, "interval_s": interval_s, "beside": beside}
        self._start["notice_s"] = notice_s
        known = PRESETS.get(machines, Machines(128, 5e-3))
        nodes = known.nodes if nodes is None else nodes
        if failures_per_node_day is None:
            failures_per_node_day = known.failures_per_node_day
        super().__init__(
            lambda **values: pictures(FaultSetting(**values)),
            show=menu("show", {"how often to save": "", **{way: way for way in WAYS}}, show),
            machines=menu("machines", {**{name: name for name in PRESETS}, "your own": _OWN}, machines),
            nodes=scale("nodes", sorted(_NODES), nodes, "{:,}".format),
            failures_per_node_day=scale("failures a day", sorted(_RATES), failures_per_node_day, "{:.2g}".format),
            save_s=scale("a save takes", _TIMES_S, save_s, duration),
            interval_s=scale("a save every", INTERVALS_S, interval_s, duration),
            notice_s=scale("noticing takes", _TIMES_S, notice_s, duration),
            restart_s=scale("a restart takes", _TIMES_S, restart_s, duration),
            beside=menu("saves are", {"waited for": False, "written beside": True}, beside),
            run=number("run", 1, 20, run),
            step=step,
        )

    def prepare(self) -> None:
        """A preset moves the nodes and their rate; who moves these has machines of their own. One save knows none."""
        super().prepare()
        for name, control in self.controls.items():
            if name not in ("show", "step"):
                explain(control, bool(self.controls["show"].value), "one save does not depend on it")
        for name, value in self._start.items() if self.controls["show"].value else ():
            self.controls[name].value = value
        machines, nodes, rate = (self.controls[name] for name in ("machines", "nodes", "failures_per_node_day"))
        preset = PRESETS.get(machines.value)
        if preset is not None and machines.value != self._machines:
            nodes.value, rate.value = preset
        elif preset is not None and (nodes.value, rate.value) != preset:
            machines.value = _OWN
        self._machines = machines.value

    def steps(self, values: dict[str, Any]) -> int:
        """The operations of a save."""
        return len(OPERATIONS[values["show"] or WAYS[0]])

    def opens(self, values: dict[str, Any]) -> dict[str, Any]:
        """A save is what moves."""
        return {} if values["show"] else {"show": WAYS[0]}
