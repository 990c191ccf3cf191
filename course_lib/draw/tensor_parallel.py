"""An MLP whose layers are cut by columns and then by rows, between the operators f and g."""

from __future__ import annotations

from matplotlib.axes import Axes

from course_lib.draw.blocks import arrow, block, caption, empty
from course_lib.draw.colors import RANK_COLORS
from course_lib.draw.style import PAGE_IN, Picture, finish, new_picture, styled

__all__ = [
    "draw_parallel_mlp",
]

_WHOLE = "#d9d9d9"
_ALT = (
    "An MLP on {n} ranks. x is whole on every rank and passes f, which copies forward and sums gradients backward. "
    "Each rank has its columns of up, GELU of its own hidden numbers, and its rows of down. g sums the addends forward "
    "and copies backward; y is whole on every rank. Nothing crosses between f and g."
)


@styled
def draw_parallel_mlp(ranks: int = 2) -> Picture:
    """Who computes what of y = down(GELU(up(x))): one color a rank, gray where all have everything.

    Raises:
        ValueError: unless there are 2 to 4 ranks.
    """
    if not 2 <= ranks <= len(RANK_COLORS):
        raise ValueError(f"the picture has room for 2 to {len(RANK_COLORS)} ranks, got {ranks}")
    picture, axes = new_picture(PAGE_IN, 0.7 + 0.8 * ranks)
    high = float(ranks)
    empty(axes, 12.2, high + 1.0)
    for x, name, forward, backward in ((2.1, "f", "copy", "sum"), (9.3, "g", "sum", "copy")):
        block(axes, x, 0.6, 0.7, high, _WHOLE, name, size=13)
        caption(axes, x + 0.35, high + 0.8, f"forward: {forward}")
        caption(axes, x + 0.35, 0.3, f"backward: {backward}")
    for x, name in ((0.1, "x"), (11.2, "y")):
        block(axes, x, 0.6 + high / 2 - 0.35, 0.9, 0.7, _WHOLE, name, size=12)
    arrow(axes, (1.05, 0.6 + high / 2), (2.05, 0.6 + high / 2))
    arrow(axes, (10.05, 0.6 + high / 2), (11.15, 0.6 + high / 2))
    for rank in range(ranks):
        _path(axes, 0.6 + high - rank - 0.5, rank)
    note = "one color a rank; gray: whole on every rank; nothing crosses between f and g"
    return finish(picture, origin="schematic", alt=_ALT.format(n=ranks), note=note)


def _path(axes: Axes, y: float, rank: int) -> None:
    """What one rank does between f and g."""
    boxes = ((3.3, 1.8, f"up, columns {rank}"), (5.6, 1.1, "GELU"), (7.2, 1.6, f"down, rows {rank}"))
    right = 2.8
    for x, wide, text in boxes:
        arrow(axes, (right + 0.05, y), (x - 0.05, y))
        block(axes, x, y - 0.33, wide, 0.66, RANK_COLORS[rank], text)
        right = x + wide
    arrow(axes, (right + 0.05, y), (9.25, y))
