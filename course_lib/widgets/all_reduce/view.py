"""The all-reduce explorer: choose a plan and a network, and watch chunks, links, clock, all plans and the map."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from course_lib.comm import Report
from course_lib.draw.collectives.chunks import OUTLINE, chunk_panel, describe_chunk_table
from course_lib.draw.collectives.replays import Replay
from course_lib.draw.collectives.times import plan_bars
from course_lib.draw.collectives.traffic import link_panel
from course_lib.draw.collectives.winners import map_panel
from course_lib.draw.panels import Bars, Table
from course_lib.draw.timelines import timeline_panel
from course_lib.draw.units import format_bytes, format_count, format_range, format_seconds
from course_lib.widgets.all_reduce.model import MAX_CHUNK_RANKS, AllReduceModel, Wires
from course_lib.widgets.controls import (
    bytes_slider,
    explain,
    menu,
    number,
    offer,
    rate_slider,
    scale,
    seconds_slider,
)
from course_lib.widgets.explorer import Part
from course_lib.widgets.stepped import SteppedExplorer

__all__ = ["AllReduceExplorer"]

_MAX_RANKS = 44
_ALL_REDUCES = (1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 40, 80, 161)
_GOAL_S = 0.125  # the backward pass of chapter 02
_NODES = {"none, all links equal": 0, **{f"{n} ranks, 10× faster inside": n for n in (2, 4, 8)}}


class AllReduceExplorer(SteppedExplorer):
    """An all-reduce to take apart: chunk table step by step, bytes by link, timeline, all plans' times, the map.

    Args:
        program: a function(comm, tensor) of your own; it comes first in the menu and its own trace is replayed.
        algorithm: the plan to begin with; yours if there is a program, else "ring".
        world_size, message_bytes, all_reduces, latency_s, bytes_per_s, ranks_per_node, straggler, times_slower, step:
            where the controls stand at first. `message_bytes` go as `all_reduces` equal ones, of which one is shown.
            With ranks_per_node, links inside a node are ten times faster.
    """

    moves: ClassVar = {"algorithm": None, "world_size": [2, 3, 4, 6, 8], "step": None}

    def __init__(
        self,
        program: Callable[..., Any] | None = None,
        *,
        algorithm: str | None = None,
        world_size: int = 8,
        message_bytes: int = 100_000_000,
        all_reduces: int = 4,
        latency_s: float = 1e-5,
        bytes_per_s: float = 6.25e9,
        ranks_per_node: int | None = None,
        straggler: int | None = None,
        times_slower: float = 3,
        step: int = 1,
    ) -> None:
        mine = {f"mine: {getattr(program, '__name__', 'program')}": program} if program is not None else {}
        self.model = AllReduceModel.of_library(mine)
        first = algorithm or next(iter(mine), "ring")
        super().__init__(
            self._shown_of,
            algorithm=menu("plan", list(self.model.programs), first),
            world_size=number("ranks", 2, _MAX_RANKS, world_size),
            message_bytes=bytes_slider("bytes in all", message_bytes),
            all_reduces=scale("all-reduces", _ALL_REDUCES, all_reduces),
            latency_s=seconds_slider("latency", latency_s),
            bytes_per_s=rate_slider("bandwidth", bytes_per_s),
            ranks_per_node=menu("ranks a node", _NODES, ranks_per_node or 0),
            straggler=menu("straggler", _stragglers(world_size), -1 if straggler is None else straggler),
            times_slower=scale("slower by", [1.5, 2, 3, 5, 10, 30, 100], times_slower, lambda x: f"{x:g}×"),
            step=step,
        )

    @property
    def moving(self) -> dict[str, Sequence[Any] | None]:
        """Of a program of your own, that and the ring."""
        mine = [name for name in self.model.programs if name.startswith("mine: ")]
        return {**super().moving, "algorithm": [*mine, "ring"]} if mine else super().moving

    def prepare(self) -> None:
        """Let stragglers be ranks there are, nodes no larger than all ranks, and steps those of the algorithm."""
        ranks = self.controls["world_size"].value
        offer(self.controls["straggler"], _stragglers(ranks))
        offer(self.controls["ranks_per_node"], {name: size for name, size in _NODES.items() if size <= ranks})
        explain(self.controls["times_slower"], self.controls["straggler"].value < 0, "only where there is a straggler")
        super().prepare()

    def steps(self, values: dict[str, Any]) -> int:
        """Those of the algorithm."""
        with contextlib.suppress(Exception):  # a program of your own may fail; then the error says how
            return max(self._report(values).trace.steps, 1)
        return 1

    def _shown_of(self, **values: Any) -> list[Part]:
        """All that is shown of a setting."""
        report, step = self._report(values), values["step"]
        story = self._story(values)
        winners = self.model.winners(_wires(values), values["world_size"])
        shown: list[Part] = [_sentence(report, story, step), self._facts(values)]
        shown += [chunk_panel(story, min(step, story.steps))] if story is not None else []
        look = {"origin": "simulated", "step": step, "outline": OUTLINE}
        clock = f"Timeline, ends at {format_seconds(report.seconds)}"
        shown += [
            link_panel(report.trace, **look),
            timeline_panel(report.trace, title=clock, high_px=150.0, wide=False, grid=False, **look),
        ]
        here = (_bytes_of_one(values), values["world_size"])
        land = map_panel(winners, here, title="Fastest plan; circle: your setting", gap_px=0)
        return [*shown, land, self._plans(values)]

    def _report(self, values: dict[Any, Any]) -> Report:
        return self.model.report(values["algorithm"], values["world_size"], _bytes_of_one(values), _wires(values))

    def _story(self, values: dict[Any, Any]) -> Replay | None:
        """How the chunks fill up; None where there are more ranks than the table has room for."""
        if values["world_size"] > MAX_CHUNK_RANKS:
            return None
        return self.model.story(values["algorithm"], values["world_size"], values["ranks_per_node"] or None)

    def _plans(self, values: dict[Any, Any]) -> Bars:
        """A bar for each plan that has a formula: the time of all its all-reduces."""
        of_one = self.model.predictions(values["world_size"], _bytes_of_one(values), _wires(values))
        in_all = {name: values["all_reduces"] * seconds for name, seconds in of_one.items()}
        bars = {f"{name}, {format_seconds(seconds)}": seconds for name, seconds in in_all.items()}
        title = f"All plans, {format_count(values['all_reduces'], 'all-reduce')}"
        return plan_bars(bars, goal_s=_GOAL_S, longest_s=0.0, title=title)

    def _facts(self, values: dict[Any, Any]) -> Table:
        """The numbers of this setting, each with its origin."""
        report, wires = self._report(values), _wires(values)
        run = (values["algorithm"], values["world_size"], _bytes_of_one(values))
        predicted, sent = self.model.predicted_s(*run, wires), report.trace.bytes_sent
        in_all_s = values["all_reduces"] * report.seconds
        winner, winner_s = self.model.fastest(*run[1:], wires)
        even = "" if wires.straggler is None else ", no straggler"  # of which formulas know nothing
        facts = {
            f"formula{even} (computed)": "none" if predicted is None else format_seconds(predicted),
            "clock (simulated)": format_seconds(report.seconds),
            f"{format_count(values['all_reduces'], 'all-reduce')} (simulated)": format_seconds(in_all_s),
            "steps": str(report.trace.steps),
            "sent by a rank": format_range(sent, format_bytes),
            "in all": format_bytes(report.trace.total_bytes),
            f"fastest here{even} (computed)": f"{winner}, {format_seconds(winner_s)}",
        }
        return Table(facts, "simulated, computed")


def _sentence(report: Report, story: Replay | None, step: int) -> str:
    """The step in words: its chunks, and its messages."""
    trace = report.trace
    text = f"Step {step} of {trace.steps}."
    if story is None:
        text += f" The chunk table has room for {MAX_CHUNK_RANKS} ranks."
    else:
        text = describe_chunk_table(story, min(step, story.steps))
        if story.steps < trace.steps:  # the message is cut into segments
            text += f" The table follows one segment; with all segments there are {trace.steps} steps."
    now = [f"{src} to {dst}" for src, dst in sorted((m.src, m.dst) for m in trace.messages if m.step == step)]
    return text + (f" Messages of this step: {', '.join(now[:6])}{', …' if len(now) > 6 else '.'}" if now else "")


def _bytes_of_one(values: dict[Any, Any]) -> int:
    """The message of one all-reduce, in whole numbers of four bytes."""
    return max(int(values["message_bytes"] // values["all_reduces"]) // 4, 1) * 4


def _stragglers(world_size: int) -> dict[str, int]:
    return {"nobody": -1, **{f"rank {rank}": rank for rank in range(world_size)}}


def _wires(values: dict[Any, Any]) -> Wires:
    """The network that the controls describe; a menu cannot hold None, so 0 ranks per node and rank -1 stand for it."""
    slow = values.get("straggler", -1)
    even = Wires(values["latency_s"], values["bytes_per_s"], values["ranks_per_node"] or None)
    return even if slow < 0 else even._replace(straggler=slow, times_slower=values["times_slower"])
