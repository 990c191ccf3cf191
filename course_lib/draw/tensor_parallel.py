"""The pictures of chapter 05: an MLP between the operators f and g, and what a GPU holds, cut by cut."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from course_lib.draw.bars import describe_memory_bars
from course_lib.draw.blocks import arrow, block, caption, empty
from course_lib.draw.colors import COLORS, RANK_COLORS
from course_lib.draw.panels import Bars, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import PAGE_IN, Picture, finish, new_picture, styled
from course_lib.draw.units import format_bytes

__all__ = [
    "cut_bars",
    "draw_cuts",
    "draw_parallel_mlp",
]

_WHOLE = COLORS["gray"]
_ALT = (
    "An MLP on {n} ranks. x is whole on every rank and passes f, which copies forward{f}. "
    "Each rank has its columns of up, GELU of its own hidden numbers, and its rows of down. g sums the addends forward"
    "{g}; y is whole on every rank. Nothing crosses between f and g."
)


def cut_bars(held: Mapping[str, Mapping[str, float]], gpu_bytes: float, title: str = "") -> Bars:
    """A bar for each cut, named with its sum: what a GPU holds by part; and a dashed line for what it has.

    Args:
        held: cut -> part -> bytes.
    """
    bars = {f"{cut}: {format_bytes(sum(parts.values()))}": parts for cut, parts in held.items()}
    limits = {f"a GPU of {format_bytes(gpu_bytes)}": gpu_bytes}
    return Bars(
        title=title or "What a GPU must hold, cut by cut",
        origin="computed",
        label=describe_memory_bars(held, limits),
        bars=bars,
        axis=axis("memory", [gpu_bytes, *(1.02 * sum(parts.values()) for parts in held.values())], "B", most=8),
        limits=limits,
        wide=True,
        row_px=34.0,
    )


def draw_cuts(held: Mapping[str, Mapping[str, float]], gpu_bytes: float, *, title: str) -> Picture:
    """What a GPU must hold by each cut, and what it has."""
    panel = cut_bars(held, gpu_bytes, title)
    return picture_of([panel], alt=panel.label)


@styled
def draw_parallel_mlp(ranks: int = 2, *, backward: bool = True) -> Picture:
    """Who computes what of y = down(GELU(up(x))): one color a rank, gray where all have everything.

    Args:
        backward: say what f and g do on the way back, too.

    Raises:
        ValueError: unless there are 2 to 4 ranks.
    """
    if not 2 <= ranks <= len(RANK_COLORS):
        raise ValueError(f"the picture has room for 2 to {len(RANK_COLORS)} ranks, got {ranks}")
    picture, axes = new_picture(PAGE_IN, 1.0 + 0.8 * ranks)
    axes.set_title("On the way back f sums, and g copies" if backward else "Nothing crosses between f and g")
    high = float(ranks)
    empty(axes, 12.2, high + 1.0)
    for x, name, there, back in ((2.1, "f", "copy", "sum"), (9.3, "g", "sum", "copy")):
        block(axes, x, 0.6, 0.7, high, _WHOLE, name, size=13)
        caption(axes, x + 0.35, high + 0.8, f"forward: {there}")
        if backward:
            caption(axes, x + 0.35, 0.3, f"backward: {back}")
    for x, name in ((0.1, "x"), (11.2, "y")):
        block(axes, x, 0.6 + high / 2 - 0.35, 0.9, 0.7, _WHOLE, name, size=12)
    arrow(axes, (1.05, 0.6 + high / 2), (2.05, 0.6 + high / 2))
    arrow(axes, (10.05, 0.6 + high / 2), (11.15, 0.6 + high / 2))
    for rank in range(ranks):
        _path(axes, 0.6 + high - rank - 0.5, rank)
    ways = (" and sums gradients backward", " and copies backward") if backward else ("", "")
    alt = _ALT.format(n=ranks, f=ways[0], g=ways[1])
    return finish(picture, origin="schematic", alt=alt, note="one color a rank; gray: whole on every rank")


def _path(axes: Axes, y: float, rank: int) -> None:
    """What one rank does between f and g."""
    boxes = ((3.3, 1.8, f"up, columns {rank}"), (5.6, 1.1, "GELU"), (7.2, 1.6, f"down, rows {rank}"))
    right = 2.8
    for x, wide, text in boxes:
        arrow(axes, (right + 0.05, y), (x - 0.05, y))
        block(axes, x, y - 0.33, wide, 0.66, RANK_COLORS[rank], text)
        right = x + wide
    arrow(axes, (right + 0.05, y), (9.25, y))
