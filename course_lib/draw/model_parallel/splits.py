"""One fully connected layer and its three splits: what each rank holds of the input, the weight and the output."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from course_lib.draw.colors import COLORS
from course_lib.draw.schematics.blocks import block, caption, empty
from course_lib.draw.style import PAGE_IN, Picture, finish, new_picture, styled

__all__ = ["RANK_COLORS", "draw_linear_splits"]

RANK_COLORS = (COLORS["sky"], COLORS["orange"], COLORS["green"], COLORS["purple"])
_WHOLE = "#d9d9d9"
_TITLES = {"examples": "By examples", "outputs": "By outputs", "inputs": "By inputs"}
_SUMMED = {"examples": "gradient of W", "outputs": "gradient of x", "inputs": "y"}
_ALT = (
    "A layer y = x Wᵀ on {n} ranks. By examples: x and y in rows, W whole on every rank; the gradient of W is summed. "
    "By outputs: x whole on every rank, W in rows, y in columns; the gradient of x is summed. By inputs: x and W in "
    "columns; every rank has an addend of all of y, and y is summed."
)


@styled
def draw_linear_splits(ranks: int = 2, splits: Sequence[str] = tuple(_TITLES)) -> Picture:
    """Who holds what of y = x Wᵀ: one color a rank, gray where all have everything, mixed where sums are missing.

    Raises:
        ValueError: unless there are 2 to 4 ranks.
    """
    if not 2 <= ranks <= len(RANK_COLORS):
        raise ValueError(f"the picture has room for 2 to {len(RANK_COLORS)} ranks, got {ranks}")
    picture, panels = new_picture(PAGE_IN, 2.2, 1, len(splits), squeeze=False)
    for axes, split in zip(panels.flat, splits, strict=True):
        empty(axes, 6.2, 4.2)
        axes.set_title(_TITLES[split])
        _matrix(axes, 0.1, 1.3, 1.3, 1.9, "x", {"examples": "rows", "outputs": "", "inputs": "columns"}[split], ranks)
        _matrix(axes, 2.0, 1.3, 1.3, 1.9, "W", {"examples": "", "outputs": "rows", "inputs": "columns"}[split], ranks)
        y_cut = {"examples": "rows", "outputs": "columns", "inputs": "sums"}[split]
        _matrix(axes, 4.3, 1.3, 1.3, 1.9, "y", y_cut, ranks)
        caption(axes, 3.8, 2.25, "→")
        caption(axes, 3.0, 0.4, f"summed: {_SUMMED[split]}")
    note = "one color a rank; gray: whole on every rank; by inputs, every rank has an addend of all of y"
    return finish(picture, origin="schematic", alt=_ALT.format(n=ranks), note=note)


def _matrix(axes: Axes, x: float, y: float, wide: float, high: float, name: str, cut: str, ranks: int) -> None:
    """A matrix with its name above, cut into rows, columns or (where sums are missing) stripes of all ranks."""
    caption(axes, x + wide / 2, y + high + 0.25, name, bold=True)
    if not cut:
        block(axes, x, y, wide, high, _WHOLE)
    for rank in range(ranks if cut else 0):
        color = RANK_COLORS[rank]
        if cut == "rows":
            block(axes, x, y + high * (ranks - 1 - rank) / ranks, wide, high / ranks, color, str(rank))
        elif cut == "columns":
            block(axes, x + wide * rank / ranks, y, wide / ranks, high, color, str(rank))
        else:
            block(axes, x + 0.22 * rank, y - 0.18 * rank, wide, high, color)
            if rank == ranks - 1:
                caption(axes, x + 0.22 * rank + wide + 0.2, y + (high - 0.18 * rank) / 2, "Σ", bold=True)
