"""A parameter server as boxes and arrows: who holds what, and who talks to whom."""

from __future__ import annotations

import math

from matplotlib.axes import Axes

from course_lib.draw.schematics.blocks import arrow, block, caption, empty, frame
from course_lib.draw.style import COLORS, PAGE_IN, Picture, finish, new_picture, styled

__all__ = ["draw_parameter_server"]

_SHARDS = [COLORS[name] for name in ("blue", "orange", "green", "purple", "sky", "vermillion")]
_PUSH, _PULL = "#1f1f1f", "#8a8a8a"
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
