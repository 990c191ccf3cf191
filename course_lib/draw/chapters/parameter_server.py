"""The pictures of chapter 03: servers and workers, processes that are killed, policies compared."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from course_lib.draw.bar_charts import goal_bars, goal_color
from course_lib.draw.colors import COLORS, INK
from course_lib.draw.histories import x_label_of
from course_lib.draw.panels import Bars, Events, Lane, Stretch, Timeline, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import (
    PAGE_IN,
    Picture,
    arrow,
    block,
    caption,
    empty,
    finish,
    frame,
    new_picture,
    origins_of,
    styled,
)
from course_lib.draw.timelines import timeline_panel
from course_lib.draw.units import format_bytes, format_range

_SHARDS = [COLORS[name] for name in ("blue", "orange", "green", "purple", "sky", "vermillion")]
_PUSH, _PULL = INK, COLORS["gray"]
# widths of a frame, between two frames, and of a cell
_BOX = 1.9
_GAP = 0.5
_CELL = 0.28
_SERVERS_AT, _WORKERS_AT = 2.75, 0.35  # lower edges of the frames


@styled
def draw_parameter_server(workers: int = 4, servers: int = 2) -> Picture:
    """Servers above, each with its shard of the parameters; workers below, each with a copy of all and data of its own.

    Raises:
        ValueError: if there is no worker or no server, or more than six of either.
    """
    if not (1 <= workers <= 6 and 1 <= servers <= 6):
        raise ValueError(f"the picture has room for 1 to 6 workers and servers, got {workers} and {servers}")
    width = max(workers, servers) * (_BOX + _GAP) + 1.1
    picture, axes = new_picture(min(PAGE_IN, 1.0 + 0.75 * width), 3.3)
    empty(axes, width, 4.1)
    at_server, at_worker = _places(servers, width), _places(workers, width)
    for worker, x in enumerate(at_worker):
        for place, above in enumerate(at_server):
            _conversation(axes, x + _spread(place, servers), above + _spread(worker, workers))
    for server, x in enumerate(at_server):
        name = f"server {server}" if servers > 1 else "server"
        _member(axes, x, _SERVERS_AT, name, [server], servers, f"shard {server}" if servers > 1 else "all parameters")
    for worker, x in enumerate(at_worker):
        _member(axes, x, _WORKERS_AT, f"worker {worker}", list(range(servers)), servers, "copy of all")
    caption(axes, width / 2, 0.15, "each worker draws its own batches and computes gradients on its copy")
    _legend(axes, width)
    return finish(picture, origin="schematic", alt=_words(workers, servers))


def _places(count: int, width: float) -> list[float]:
    """The left edges of so many frames, centered."""
    left = (width - count * _BOX - (count - 1) * _GAP - 1.1) / 2
    return [left + number * (_BOX + _GAP) for number in range(count)]


def _spread(number: int, count: int) -> float:
    """Where on a frame's edge, from its left end, the arrows to the other side's `number` stand."""
    return _BOX * (number + 1) / (count + 1)


def _member(axes: Axes, x: float, y: float, name: str, held: list[int], shards: int, words: str) -> None:
    """A frame with the shards that it holds as cells of a row; those that lie elsewhere are left out."""
    frame(axes, x, y, _BOX, 1.0, name)
    cells = 6 // shards if shards <= 3 else 1
    row = _CELL * cells * len(held)
    for place, shard in enumerate(held):
        for cell in range(cells):
            left = x + (_BOX - row) / 2 + _CELL * (place * cells + cell)
            block(axes, left, y + 0.36, _CELL, 0.3, _SHARDS[shard])
    caption(axes, x + _BOX / 2, y + 0.18, words)


def _conversation(axes: Axes, below: float, above: float) -> None:
    """A push up and, beside it, parameters down."""
    bottom, top = _WORKERS_AT + 1.08, _SERVERS_AT - 0.08
    length = math.hypot(above - below, top - bottom)
    across, up = 0.06 * (top - bottom) / length, 0.06 * (above - below) / length  # at a right angle to the way
    arrow(axes, (below - across, bottom + up), (above - across, top + up), color=_PUSH)
    arrow(axes, (above + across, top - up), (below + across, bottom - up), color=_PULL)


def _legend(axes: Axes, width: float) -> None:
    x = width - 1.1
    for y, color, up, words in ((2.35, _PUSH, True, "push:\ngradient"), (1.65, _PULL, False, "pull:\nparameters")):
        ends = ((x, y - 0.22), (x, y + 0.22))
        arrow(axes, *(ends if up else reversed(ends)), color=color)
        caption(axes, x + 0.12, y, words, ha="left")


def _words(workers: int, servers: int) -> str:
    holds = "which hold one shard of the parameters each" if servers > 1 else "which holds all parameters"
    plural = "s" if servers > 1 else ""
    return (
        f"{servers} server{plural}, {holds}, above {workers} worker{'s' if workers > 1 else ''} with a copy of all "
        f"parameters each. Every worker pushes gradients to every server and pulls parameters from it; "
        "workers do not talk to each other, nor do servers."
    )


def draw_faults(report: Any, *, note: str = "") -> Picture:
    """The events of a FaultReport by time: bars are lives, crosses kills, triangles returns, ticks portions done."""
    lives, kills, backs, done = _by_process(report)
    names = sorted(lives)
    stretches = [Stretch(row, *life) for row, name in enumerate(names) for life in lives[name]]
    looks = {"portion done": ("|", INK, done), "back": ("^", COLORS["green"], backs)}
    looks["kill -9"] = ("X", COLORS["vermillion"], kills)
    panel = Timeline(
        title=f"{report.kills} × kill -9, {report.lost} updates lost",
        origin=report.origin,
        wide=True,
        rows=names,
        lanes={"lives": Lane(COLORS["sky"], stretches, 0.2, 0.6, edge=False)},
        events={
            what: Events(symbol, color, [(row, at_s) for row, name in enumerate(names) for at_s in times[name]])
            for what, (symbol, color, times) in looks.items()
        },
        seconds=report.seconds,
        row_px=34.0,
    )
    rows = "; ".join(f"{name} killed {len(kills[name])} times, {len(done[name])} portions done" for name in names)
    return picture_of([panel], alt=f"Processes and their deaths by time: {rows}.", note=note)


def _by_process(report: Any) -> tuple[dict[Any, Any], ...]:
    """By process: stretches of life, moments of death, of return, and of portions done."""
    lives: dict[str, list[Any]] = defaultdict(list)
    kills: dict[str, list[Any]] = defaultdict(list)
    backs: dict[str, list[Any]] = defaultdict(list)
    done: dict[str, list[Any]] = defaultdict(list)
    born: dict[str, float] = {}
    for event in report.events:
        if event.what == "back":
            if kills[event.who]:
                backs[event.who].append(event.at_s)
            born.setdefault(event.who, event.at_s)
        elif event.what in ("kill", "death"):
            kills[event.who].append(event.at_s)
            if event.who in born:
                lives[event.who].append((born.pop(event.who), event.at_s))
        elif event.what == "done":
            done[event.who].append(event.at_s)
    for name, start_s in born.items():
        lives[name].append((start_s, report.seconds))
    return lives, kills, backs, done


def draw_times_to_loss(
    needed: Mapping[str, tuple[float, int]],
    *,
    goal: float,
    most: float = 13.0,
    origin: str = "simulated",
    title: str = "",
) -> Picture:
    """A bar for each policy: the virtual seconds that it needs to a loss, its name with its oldest gradient, the goal.

    Green reaches the goal with fresh gradients, blue is fresh and takes longer, and gray uses old ones; vermillion is
    never there. The axis always ends at `most`, so that pictures with more bars can be compared.

    Args:
        needed: name -> (seconds, updates that the oldest gradient was old); infinite seconds are never.

    Raises:
        ValueError: if there is no bar.

    >>> draw_times_to_loss({"synchronous": (11.68, 0), "asynchronous": (math.inf, 67)}, goal=4.5).alt
    'Seconds to the loss, goal 4.5: synchronous (fresh): 11.7; asynchronous (67 old): not in 13. (simulated)'
    """
    bars: dict[str, float] = {}
    colors: dict[str, str] = {}
    for name, (seconds, oldest) in needed.items():
        said = f"{seconds:.1f}" if seconds < math.inf else f"not in {most:g}"
        label = f"{name} ({f'{oldest} old' if oldest else 'fresh'}): {said}"
        bars[label] = min(seconds, most)
        colors[label] = "quiet" if oldest else goal_color(seconds <= goal)
        if seconds == math.inf:
            colors[label] = COLORS["vermillion"]
    panel = goal_bars(
        bars,
        "a policy",
        along=axis("virtual seconds until the loss is below 0.2", [most], most=9),
        limit=(f"goal: {goal:.1f}", goal),
        colors=colors,
        show=lambda _: "",  # a number behind its bar would lie on the line of the goal
        title=title or "Seconds that each policy needs",
        origin=origin,
    )
    return picture_of([panel], alt=f"Seconds to the loss, goal {goal:.1f}: {'; '.join(bars)}.")


def draw_beginnings(
    histories: Mapping[str, Any], *, until_s: float, slow: int | None = None, note: str = ""
) -> Picture:
    """The first seconds of trainings with one server, one timeline below the other; a worker that is `slow` is marked.

    Args:
        histories: by name, anything with a `trace`, and a `busy_share` of the workers.
    """
    panels, words = [], []
    for name, history in histories.items():
        words.append(f"{name}: workers compute {history.busy_share:.0%} of the time")
        workers = [f"worker {number}" for number in range(history.trace.world_size - 1)]
        if slow is not None:
            workers[slow] += ", slow"
        time = x_label_of(histories, "time_s").removesuffix(" (s)")
        look: dict[str, Any] = {
            "names": ["server", *workers],
            "until_s": until_s,
            "time": time,
            "high_px": 20.0 * (len(workers) + 1),
        }
        panels.append(timeline_panel(history.trace, title=words[-1], origin=origins_of([history]), **look))
    return picture_of(panels, alt=f"{'; '.join(words)}.", note=note, shared=True)


def draw_corners(pairs: Sequence[tuple[Any, Any]], *, note: str = "") -> Picture:
    """Chapter 00's map with numbers: in each corner the time of a round with equal workers and with one slow one.

    Args:
        pairs: for each corner a `Corner` with equal workers and one with a slow worker, in any order.
    """
    places = [(place, time) for place in ("centralized", "decentralized") for time in ("synchronous", "asynchronous")]
    longest_s = max(corner.seconds_per_round for pair in pairs for corner in pair)
    words = [
        f"{even.place} and {even.time}: a round takes {even.seconds_per_round:.2f} s, with one slow worker "
        f"{slow.seconds_per_round:.2f} s"
        for even, slow in pairs
    ]
    in_order = sorted(pairs, key=lambda pair: places.index((pair[0].place, pair[0].time)))
    panels = [_corner(even, slow, longest_s) for even, slow in in_order]
    return picture_of(panels, alt=f"{'; '.join(words)}.", note=note, title=_cost_of_one(pairs))


def _cost_of_one(pairs: Sequence[tuple[Any, Any]]) -> str:
    """How much longer a round takes with a slow worker, for who waits and who does not."""
    found = []
    for time in dict.fromkeys(even.time for even, _ in pairs):
        ratios = [slow.seconds_per_round / even.seconds_per_round for even, slow in pairs if even.time == time]
        found.append(f"{time} rounds × {format_range(ratios, '{:.1f}'.format)}")
    return f"One slow worker: {', '.join(found)}"


def _corner(even: Any, slow: Any, longest_s: float) -> Bars:
    """Two bars, and below them the load, the staleness and the loss."""
    name = "server" if even.name == even.time else even.name
    rows = {"all equal": even, "one 4× slower": slow}
    return Bars(
        title=f"{even.place}, {even.time}:\n{name}",
        origin=origins_of([even, slow]),
        bars={row: {row: corner.seconds_per_round} for row, corner in rows.items()},
        axis=axis("a round takes (s)", [longest_s], show="{:g}".format),
        colors={"all equal": COLORS["blue"], "one 4× slower": COLORS["vermillion"]},
        show="{:.2f} s".format,
        row_px=34.0,
        facts=[
            f"busiest rank {format_bytes(round(even.busiest_bytes, -2))} · staleness {even.staleness:.1f}",
            f"loss {even.loss:.2f}, one slow {slow.loss:.2f}",
        ],
    )
