"""The all-reduce explorer: choose an algorithm and a network, and watch chunks, links, clock and the map of winners."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from course_lib.comm import Report, Trace
from course_lib.draw.collectives.chunks import chunk_table_on, describe_chunk_table
from course_lib.draw.collectives.links import link_heatmap_on
from course_lib.draw.collectives.replays import Replay
from course_lib.draw.collectives.winners import winner_legend, winner_map_on
from course_lib.draw.style import PAGE_IN, Picture, finish, new_picture, styled
from course_lib.draw.timelines import timeline_legend, timeline_on
from course_lib.draw.units import format_bytes, format_rate, format_seconds
from course_lib.widgets.all_reduce.model import MOST_CHUNK_RANKS, AllReduceModel, Wires
from course_lib.widgets.all_reduce.panels import chunk_panel, link_panel, map_panel, timeline_panel
from course_lib.widgets.controls import (
    bytes_slider,
    menu,
    number,
    offer,
    rate_slider,
    scale,
    seconds_slider,
    step_player,
)
from course_lib.widgets.explorer import Explorer, Panel
from course_lib.widgets.html import numbers_html

__all__ = ["AllReduceExplorer"]

_WIRES = ("latency_s", "bytes_per_s", "ranks_per_node", "straggler", "times_slower")
_RUN = ("algorithm", "world_size", "message_bytes", *_WIRES)
_CHUNKS = ("The ranks added up in each chunk", "simulated")
_LINKS = ("Bytes from rank (down) to rank (across)", "simulated")
_MAP = ("The fastest algorithm; the circle is here", "computed")
_MOST_RANKS = 24
_NODES = {"none, all links equal": 0, **{f"{n} ranks, 10× faster inside": n for n in (2, 4, 8)}}


class AllReduceExplorer(Explorer):
    """An all-reduce to take apart: chunk table step by step, bytes by link, timeline, prediction, map of winners.

    Args:
        program: a function(comm, tensor) of your own; it comes first in the menu and its own trace is replayed.
        algorithm: the name to begin with; yours if there is a program, else "ring".
        world_size, message_bytes, latency_s, bytes_per_s, ranks_per_node, straggler, times_slower, step: where the
            controls stand at first. With ranks_per_node, links inside a node are ten times faster.
    """

    above = ("numbers",)

    def __init__(
        self,
        program: Callable | None = None,
        *,
        algorithm: str | None = None,
        world_size: int = 4,
        message_bytes: int = 2**20,
        latency_s: float = 5e-6,
        bytes_per_s: float = 10e9,
        ranks_per_node: int | None = None,
        straggler: int | None = None,
        times_slower: float = 3,
        step: int = 1,
    ) -> None:
        mine = {f"mine: {getattr(program, '__name__', 'program')}": program} if program is not None else {}
        self.model = AllReduceModel.of_library(mine)
        first = algorithm or next(iter(mine), "ring")
        self.step_slider, self.player = step_player(1, step)
        controls = {
            "algorithm": menu("algorithm", list(self.model.programs), first),
            "world_size": number("ranks", 2, _MOST_RANKS, world_size),
            "message_bytes": bytes_slider("message", message_bytes),
            "latency_s": seconds_slider("latency", latency_s),
            "bytes_per_s": rate_slider("bandwidth", bytes_per_s),
            "ranks_per_node": menu("ranks a node", _NODES, ranks_per_node or 0),
            "straggler": menu("straggler", _stragglers(world_size), -1 if straggler is None else straggler),
            "times_slower": scale("slower by", [1.5, 2, 3, 5, 10, 30, 100], times_slower, lambda x: f"{x:g}×"),
            "step": self.step_slider,
        }
        panels = {
            "numbers": Panel(lambda **values: numbers_html(self._facts(values), "steps and bytes: simulated"), _RUN),
            "chunks": Panel(self._draw_chunks, ("algorithm", "world_size", "ranks_per_node", "step"), *_CHUNKS),
            "links": Panel(self._on_trace(link_panel), (*_RUN, "step"), *_LINKS),
            "timeline": Panel(self._on_trace(timeline_panel), (*_RUN, "step"), "Timeline", "simulated"),
            "map": Panel(self._draw_map, ("algorithm", "world_size", "message_bytes", *_WIRES[:3]), *_MAP),
        }
        self._wanted_step: int | None = step
        super().__init__(panels, still=lambda **values: self._draw_still(values), **controls)

    def prepare(self) -> None:
        """Let stragglers be ranks there are, nodes no larger than all ranks, and steps those of the algorithm."""
        ranks, steps = self.controls["world_size"].value, 1
        offer(self.controls["straggler"], _stragglers(ranks))
        offer(self.controls["ranks_per_node"], {name: size for name, size in _NODES.items() if size <= ranks})
        self.controls["times_slower"].disabled = self.controls["straggler"].value < 0
        with contextlib.suppress(Exception):  # a program of your own may fail; then the pictures say how
            steps = max(self._report(self.values).trace.steps, 1)
        self.step_slider.max = steps
        if self._wanted_step is not None:  # where the author wants it, now that the steps are known
            self.step_slider.value, self._wanted_step = min(self._wanted_step, steps), None

    def caption(self) -> str:
        values = self.values
        try:
            trace = self._report(values).trace
            story = self._story(values) if values["world_size"] <= MOST_CHUNK_RANKS else None
        except Exception:
            return "This program did not come to its end; the message is in the place of the pictures."
        text = f"Step {values['step']} of {trace.steps}."
        if story is not None:
            text = describe_chunk_table(story, min(values["step"], story.steps))
            if story.steps < trace.steps:  # the message is cut into segments
                text += f" The table follows one segment; with all segments there are {trace.steps} steps."
        now = [
            f"{src} to {dst}" for src, dst in sorted((m.src, m.dst) for m in trace.messages if m.step == values["step"])
        ]
        return text + (f" Messages of this step: {', '.join(now[:6])}{', …' if len(now) > 6 else '.'}" if now else "")

    def _report(self, values: dict) -> Report:
        return self.model.report(values["algorithm"], values["world_size"], values["message_bytes"], _wires(values))

    def _story(self, values: dict) -> Replay:
        return self.model.story(values["algorithm"], values["world_size"], values["ranks_per_node"] or None)

    def _facts(self, values: dict) -> dict[str, str]:
        """The numbers of this setting, each with its origin."""
        report, wires = self._report(values), _wires(values)
        run = (values["algorithm"], values["world_size"], values["message_bytes"])
        predicted, sent = self.model.predicted_s(*run, wires), report.trace.bytes_sent
        winner, winner_s = self.model.fastest(*run[1:], wires)
        even = "" if wires.straggler is None else ", no straggler"  # of which formulas know nothing
        return {
            f"formula{even} (computed)": "none" if predicted is None else format_seconds(predicted),
            "clock (simulated)": format_seconds(report.seconds),
            "steps": str(report.trace.steps),
            "sent by a rank": _spread(sent),
            "in all": format_bytes(report.trace.total_bytes),
            f"fastest here{even} (computed)": f"{winner}, {format_seconds(winner_s)}",
        }

    def _draw_chunks(self, **values: Any) -> str:
        if values["world_size"] > MOST_CHUNK_RANKS:
            return f"<p>The chunk table has room for {MOST_CHUNK_RANKS} ranks.</p>"
        self._report(self.values)  # what is wrong with the program is said once, in the same words
        story = self._story(values)
        return chunk_panel(story, min(values["step"], story.steps))

    def _on_trace(self, panel: Callable[[Trace, int], str]) -> Callable[..., str]:
        return lambda **values: panel(self._report(values).trace, values["step"])

    def _draw_map(self, **values: Any) -> str:
        winners = self.model.winners(_wires(values), values["world_size"])
        return map_panel(winners, (values["message_bytes"], values["world_size"]))

    @styled
    def _draw_still(self, values: dict) -> Picture:
        trace = self._report(values).trace
        picture, grid = new_picture(PAGE_IN, 7.2, 2, 2)
        (chunks, links), (timeline, winners) = grid
        if values["world_size"] <= MOST_CHUNK_RANKS:
            story = self._story(values)
            chunk_table_on(chunks, story, min(values["step"], story.steps), named=values["world_size"] <= 8)
            chunks.set(title=f"Chunks after step {values['step']} of {story.steps}", xlabel="chunk", ylabel="rank")
        else:
            chunks.set_axis_off()
        links.set_title(f"Bytes by link ({link_heatmap_on(links, trace, aspect='auto')})")
        timeline_on(timeline, trace)
        timeline.set_title("Timeline")
        lands = self.model.winners(_wires(values), values["world_size"])
        winner_map_on(winners, lands, (values["message_bytes"], values["world_size"]), ticks=4)
        below = {"loc": "upper left", "bbox_to_anchor": (-0.02, -0.16), "columnspacing": 1.2, "handlelength": 1.2}
        timeline.legend(handles=timeline_legend(trace), ncols=3, **below)
        winners.legend(handles=winner_legend(lands), ncols=2, **below)
        winners.set_title("The fastest algorithm")
        facts = ", ".join(f"{name} {value}" for name, value in self._facts(values).items())
        speed = f"{format_seconds(values['latency_s'])}, {format_rate(values['bytes_per_s'])}"
        note = f"{speed}; the controls work in JupyterLab"
        alt = f"All-reduce explorer: {values['algorithm']}, {values['world_size']} ranks, {facts}. {self.caption()}"
        return finish(picture, origin="simulated, computed", alt=alt, note=note)


def _stragglers(world_size: int) -> dict[str, int]:
    return {"nobody": -1, **{f"rank {rank}": rank for rank in range(world_size)}}


def _wires(values: dict) -> Wires:
    """The network that the controls describe; a menu cannot hold None, so 0 ranks per node and rank -1 stand for it."""
    slow = values.get("straggler", -1)
    even = Wires(values["latency_s"], values["bytes_per_s"], values["ranks_per_node"] or None)
    return even if slow < 0 else even._replace(straggler=slow, times_slower=values["times_slower"])


def _spread(counts: list[int]) -> str:
    """The least and the most of some byte counts, once if they read the same."""
    low, high = format_bytes(min(counts)), format_bytes(max(counts))
    return high if low == high else f"{low} to {high}"
