"""The all-reduce explorer: choose a plan and a network, and watch chunks, links, clock, all plans and the map."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from course_lib.collectives import ALL_REDUCE_SECONDS, ALL_REDUCES
from course_lib.comm import Link, MismatchError, Network, RankError, Report, simulate
from course_lib.draw.chapters.collectives.chunks import OUTLINE, ChunkReplay, chunk_panel, describe_chunk_table, replay
from course_lib.draw.chapters.collectives.links import link_panel
from course_lib.draw.chapters.collectives.times import WinnerMap, map_panel, plan_bars, winner_map
from course_lib.draw.panels import Bars, Table
from course_lib.draw.timelines import timeline_panel
from course_lib.draw.units import format_bytes, format_count, format_range, format_seconds, one_two_five
from course_lib.widgets.controls import (
    bytes_slider,
    disable,
    menu,
    number,
    offer,
    rate_slider,
    scale,
    seconds_slider,
    step_slider,
)
from course_lib.widgets.explorer import Part
from course_lib.widgets.settings import EVERY, SteppedExplorer, control, control_of

MAX_CHUNK_RANKS = 16
MAP_SIZES = tuple(int(size) for size in one_two_five(1_000, 10**9))
MAP_RANKS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 44)
_INSIDE = 10  # links inside a node are this many times faster than those between nodes
_SEGMENT_BYTES = 2_000_000  # the smallest segment of the algorithms that cut messages into segments
_REMEMBERED = 24  # more of them make every garbage collection slower than a picture
_REAL_BYTES = 64_000_000  # a program that cannot do without numbers gets them up to this many bytes in all


class Wires(NamedTuple):
    """The network of a setting: the links, nodes (None: no nodes) and a straggler (None: nobody)."""

    latency_s: float
    bytes_per_s: float
    ranks_per_node: int | None = None
    straggler: int | None = None
    times_slower: float = 1.0

    @property
    def network(self) -> Network:
        slow = {} if self.straggler is None else {self.straggler: self.times_slower}
        if self.ranks_per_node is None:
            return Network(self.latency_s, self.bytes_per_s, stragglers=slow)
        inside = Link(self.latency_s / _INSIDE, self.bytes_per_s * _INSIDE)
        outside = Link(self.latency_s, self.bytes_per_s)
        return Network.over(inside, ranks_per_node=self.ranks_per_node, outside=outside, stragglers=slow)


_GOAL_S = 0.125  # the backward pass of chapter 02
_ALL_REDUCES = (1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 40, 80, 161)
_NODES = {"none, all links equal": 0, **{f"{n} ranks, 10× faster inside": n for n in (2, 4, 8)}}


def _stragglers(world_size: int) -> dict[str, int]:
    return {"nobody": -1, **{f"rank {rank}": rank for rank in range(world_size)}}


@dataclass(frozen=True)
class AllReduceSetting:
    """All that the controls say. A menu cannot hold None: 0 ranks a node are no nodes, straggler -1 is nobody."""

    algorithm: str = control_of("ring", lambda s, value: menu("plan", list(s.programs), value), "plan", book=EVERY)
    world_size: int = control(8, number, "ranks", 2, 44, book=[2, 3, 4, 6, 8])
    message_bytes: int = control(100_000_000, bytes_slider, "bytes in all", about="sent as so many equal all-reduces")
    all_reduces: int = control(4, scale, "all-reduces", _ALL_REDUCES, about="of which one is shown")
    latency_s: float = control(1e-5, seconds_slider, "latency")
    bytes_per_s: float = control(6.25e9, rate_slider, "bandwidth")
    ranks_per_node: int = control(0, menu, "ranks a node", _NODES, about="with links ten times faster inside")
    straggler: int = control_of(
        -1, lambda s, value: menu("straggler", _stragglers(s.world_size), value), "straggler", about="-1: nobody"
    )
    times_slower: float = control(3, scale, "slower by", [1.5, 2, 3, 5, 10, 30, 100], show="{:g}×".format)
    step: int = control(1, step_slider, "step", book=EVERY)
    program: Callable[..., Any] | None = None

    @property
    def programs(self) -> dict[str, Callable[..., Any]]:
        """The library's plans, after one of your own."""
        name = f"mine: {getattr(self.program, '__name__', 'program')}"
        return {**({} if self.program is None else {name: self.program}), **ALL_REDUCES}

    @property
    def bytes_of_one(self) -> int:
        """The message of one all-reduce, in whole numbers of four bytes."""
        return max(int(self.message_bytes // self.all_reduces) // 4, 1) * 4

    @property
    def wires(self) -> Wires:
        """The network that the controls describe."""
        even = Wires(self.latency_s, self.bytes_per_s, self.ranks_per_node or None)
        slow = self.straggler
        return even if slow < 0 else even._replace(straggler=slow, times_slower=self.times_slower)


class AllReduceModel:
    """Answers about all-reduces, remembered; errors are remembered too.

    Args:
        programs: name -> function(comm, tensor); the library's, if none are given.
    """

    def __init__(self, programs: dict[str, Callable[..., Any]] | None = None) -> None:
        self.programs, self.formulas = programs or dict(ALL_REDUCES), dict(ALL_REDUCE_SECONDS)
        self._memory: OrderedDict[Hashable, tuple[Any, Exception | None]] = OrderedDict()

    def report(self, algorithm: str, world_size: int, message_bytes: int, wires: Wires) -> Report:
        """One simulated all-reduce of this size."""
        key = ("report", algorithm, world_size, message_bytes, wires)
        return self._once(key, lambda: self._simulate(algorithm, world_size, message_bytes, wires))

    def story(self, algorithm: str, world_size: int, ranks_per_node: int | None) -> ChunkReplay:
        """How the chunks fill up; the same for every message size."""
        key = ("story", algorithm, world_size, ranks_per_node)
        return self._once(key, lambda: self._replay(algorithm, world_size, ranks_per_node))

    def predicted_s(self, algorithm: str, world_size: int, message_bytes: int, wires: Wires) -> float | None:
        """Seconds by the formula, which knows no straggler; None if there is no formula."""
        if algorithm not in self.formulas:
            return None
        return float(self._ask(algorithm, message_bytes, world_size, wires.network))

    def predictions(self, world_size: int, message_bytes: int, wires: Wires) -> dict[str, float]:
        """Seconds by every formula, which know no straggler."""
        network = wires.network
        return {name: float(self._ask(name, message_bytes, world_size, network)) for name in self.formulas}

    def fastest(self, world_size: int, message_bytes: int, wires: Wires) -> tuple[str, float]:
        """The algorithm that is fastest by the formulas, and its seconds; of equals the first."""
        times = self.predictions(world_size, message_bytes, wires)
        best_s = min(times.values())
        return next((name, seconds) for name, seconds in times.items() if seconds <= best_s * (1 + 1e-9))

    def winners(self, wires: Wires, world_size: int) -> WinnerMap:
        """Who is fastest by the formulas on this network, which know no straggler; this number of ranks has a row."""
        even = wires._replace(straggler=None, times_slower=1.0)
        ranks = tuple(sorted({*MAP_RANKS, world_size}))
        network = even.network
        asked = {name: lambda n, p, name=name: self._ask(name, n, p, network) for name in self.formulas}
        return self._once(("map", even, ranks), lambda: winner_map(asked, MAP_SIZES, ranks))

    def _simulate(self, algorithm: str, world_size: int, message_bytes: int, wires: Wires) -> Report:
        segments = {name: int(size) for name, size in _segments(algorithm, message_bytes, world_size).items()}
        program, network = partial(self.programs[algorithm], **segments), wires.network
        weightless = torch.empty(message_bytes // 4, device="meta")
        try:
            return simulate(program, world_size, args=(weightless,), network=network, ranks="greenlets")
        except (RankError, MismatchError):
            if message_bytes * world_size > _REAL_BYTES:
                raise
            return simulate(program, world_size, args=(torch.zeros(message_bytes // 4),), network=network)

    def _replay(self, algorithm: str, world_size: int, ranks_per_node: int | None) -> ChunkReplay:
        if world_size > MAX_CHUNK_RANKS:
            raise ValueError(f"the chunk table has room for {MAX_CHUNK_RANKS} ranks, got {world_size}")
        network = Wires(1e-6, 1e9, ranks_per_node).network
        program = self.programs[algorithm]
        try:
            return replay(program, world_size, network=network, ranks="greenlets")
        except RankError:
            return replay(program, world_size, network=network)

    def _ask(self, algorithm: str, message_bytes: Any, world_size: Any, network: Network) -> Any:
        """Seconds by the formula of an algorithm; numbers or arrays."""
        segments = _segments(algorithm, message_bytes, world_size)
        return self.formulas[algorithm](message_bytes, world_size, network, **segments)

    def _once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        if key not in self._memory:
            try:
                self._memory[key] = compute(), None
            except Exception as error:
                self._memory[key] = None, error
            if len(self._memory) > _REMEMBERED:
                self._memory.popitem(last=False)
        answer, problem = self._memory[key]
        if problem is not None:
            raise problem.with_traceback(None)
        return answer


def _segments(algorithm: str, message_bytes: Any, world_size: Any) -> dict[str, Any]:
    """Segments large enough that a message is not cut into thousands: what the algorithm does, in few pieces."""
    if algorithm == "pipelined ring":
        return {"segment_bytes": np.maximum(_SEGMENT_BYTES, np.ceil(message_bytes / world_size / 2))}
    if algorithm == "double tree":
        return {"segment_bytes": np.maximum(_SEGMENT_BYTES, np.ceil(message_bytes / 2 / 16))}
    return {}


def _sentence(report: Report, story: ChunkReplay | None, step: int) -> str:
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


class AllReduceExplorer(SteppedExplorer):
    """An all-reduce to take apart: chunk table step by step, bytes by link, timeline, all plans' times, the map.

    Args:
        program: a function(comm, tensor) of your own; it comes first in the menu, is chosen where no other plan is, and
            its own trace is replayed.
    """

    Setting = AllReduceSetting

    def __init__(self, program: Callable[..., Any] | None = None, **asked: Any) -> None:
        given = {name: value for name, value in asked.items() if value is not None}
        plans = AllReduceSetting(program=program).programs
        self.model = AllReduceModel(plans)
        first = {"algorithm": next(iter(plans))} if program is not None else {}
        super().__init__(program=program, **first | given)

    @property
    def in_book(self) -> dict[str, Sequence[Any] | None]:
        """Of a program of your own, that and the ring."""
        mine = [name for name in self.model.programs if name.startswith("mine: ")]
        return {**super().in_book, "algorithm": [*mine, "ring"]} if mine else super().in_book

    def prepare(self) -> None:
        """Let stragglers be ranks there are, nodes no larger than all ranks, and steps those of the algorithm."""
        ranks = self.controls["world_size"].value
        offer(self.controls["straggler"], _stragglers(ranks))
        offer(self.controls["ranks_per_node"], {name: size for name, size in _NODES.items() if size <= ranks})
        disable(self.controls["times_slower"], self.controls["straggler"].value < 0, "only where there is a straggler")
        super().prepare()

    def steps(self, setting: AllReduceSetting) -> int:
        """Those of the algorithm."""
        with contextlib.suppress(Exception):  # a program of your own may fail; then the error says how
            return max(self._report(setting).trace.steps, 1)
        return 1

    def pictures(self, setting: AllReduceSetting) -> list[Part]:
        """All that is shown of a setting."""
        report, step = self._report(setting), setting.step
        story = self._story(setting)
        winners = self.model.winners(setting.wires, setting.world_size)
        shown: list[Part] = [_sentence(report, story, step), self._facts(setting)]
        shown += [chunk_panel(story, min(step, story.steps))] if story is not None else []
        look: dict[str, Any] = {"origin": "simulated", "step": step, "outline": OUTLINE}
        clock = f"Timeline, ends at {format_seconds(report.seconds)}"
        shown += [
            link_panel(report.trace, **look),
            timeline_panel(report.trace, title=clock, high_px=150.0, wide=False, grid=False, **look),
        ]
        here = (setting.bytes_of_one, setting.world_size)
        land = map_panel(winners, here, title="Fastest plan; circle: your setting", gap_px=0)
        return [*shown, land, self._plans(setting)]

    def _report(self, setting: AllReduceSetting) -> Report:
        return self.model.report(setting.algorithm, setting.world_size, setting.bytes_of_one, setting.wires)

    def _story(self, setting: AllReduceSetting) -> ChunkReplay | None:
        """How the chunks fill up; None where there are more ranks than the table has room for."""
        if setting.world_size > MAX_CHUNK_RANKS:
            return None
        return self.model.story(setting.algorithm, setting.world_size, setting.ranks_per_node or None)

    def _plans(self, setting: AllReduceSetting) -> Bars:
        """A bar for each plan that has a formula: the time of all its all-reduces."""
        of_one = self.model.predictions(setting.world_size, setting.bytes_of_one, setting.wires)
        in_all = {name: setting.all_reduces * seconds for name, seconds in of_one.items()}
        bars = {f"{name}, {format_seconds(seconds)}": seconds for name, seconds in in_all.items()}
        title = f"All plans, {format_count(setting.all_reduces, 'all-reduce')}"
        return plan_bars(bars, goal_s=_GOAL_S, longest_s=0.0, title=title)

    def _facts(self, setting: AllReduceSetting) -> Table:
        """The numbers of this setting, each with its origin."""
        report, wires = self._report(setting), setting.wires
        run = (setting.algorithm, setting.world_size, setting.bytes_of_one)
        predicted, sent = self.model.predicted_s(*run, wires), report.trace.bytes_sent
        in_all_s = setting.all_reduces * report.seconds
        winner, winner_s = self.model.fastest(*run[1:], wires)
        even = "" if wires.straggler is None else ", no straggler"  # of which formulas know nothing
        facts = {
            f"formula{even} (computed)": "none" if predicted is None else format_seconds(predicted),
            "clock (simulated)": format_seconds(report.seconds),
            f"{format_count(setting.all_reduces, 'all-reduce')} (simulated)": format_seconds(in_all_s),
            "steps": str(report.trace.steps),
            "sent by a rank": format_range(sent, format_bytes),
            "in all": format_bytes(report.trace.total_bytes),
            f"fastest here{even} (computed)": f"{winner}, {format_seconds(winner_s)}",
        }
        return Table(facts, "simulated, computed")
