"""A parameter server: who holds what and who talks to whom, and the processes that die and come back."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from matplotlib.axes import Axes

from course_lib.draw.blocks import arrow, block, caption, empty, frame
from course_lib.draw.panels import Events, Lane, Stretch, Timeline
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import COLORS, INK, PAGE_IN, Picture, finish, new_picture, styled

__all__ = ["draw_faults", "draw_parameter_server"]

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
