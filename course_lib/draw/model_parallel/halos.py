"""The rows of a picture on several ranks: who owns them, and who needs them too."""

from __future__ import annotations

from matplotlib.axes import Axes

from course_lib.draw.model_parallel.splits import RANK_COLORS
from course_lib.draw.schematics.blocks import arrow, block, caption, empty
from course_lib.draw.style import Picture, finish, new_picture, styled
from course_lib.draw.units import format_count
from course_lib.model_parallel import RowKernel, halo_plan, needed_rows, owned_rows

__all__ = ["draw_halos"]


@styled
def draw_halos(height: int, kernel: RowKernel, world_size: int) -> Picture:
    """The input picture on the left, cut among ranks; beside it, rank by rank, the rows that each of them works on.

    Raises:
        ValueError: unless there are 1 to 4 ranks and at most 24 rows.
    """
    if not 1 <= world_size <= len(RANK_COLORS) or not 1 <= height <= 24:
        raise ValueError(f"there is room for 1 to 4 ranks and 24 rows, got {world_size} ranks and {height} rows")
    owned = owned_rows(height, world_size)
    outputs = owned_rows(kernel.output_height(height), world_size)
    picture, axes = new_picture(6.6, 0.6 + 0.2 * (height + 2 * kernel.padding))
    empty(axes, 3.4 + 1.9 * world_size, height + 2 * kernel.padding + 2)
    top = height + kernel.padding
    for rank, rows in enumerate(owned):
        for row in range(*rows):
            block(axes, 0.6, top - row - 1, 1.6, 1, RANK_COLORS[rank], str(row), 7)
    caption(axes, 1.4, top + kernel.padding + 1, "the picture", bold=True)
    for rank, output in enumerate(outputs):
        left = _left(rank)
        caption(axes, left + 0.75, top + kernel.padding + 1, f"rank {rank}", bold=True)
        for row in range(*needed_rows(output, kernel)):
            owner = next((r for r, rows in enumerate(owned) if rows.start <= row < rows.stop), None)
            color = "#f4f4f4" if owner is None else RANK_COLORS[owner]
            block(axes, left, top - row - 1, 1.5, 1, color, "pad" if owner is None else str(row), 7)
            if owner not in (None, rank):
                _lend(axes, owner, rank, top - row - 0.5)
    plan = halo_plan(height, kernel, world_size)
    lends = [f"rank {src} lends rank {dst} {format_count(rows.number, 'row')}" for src, dst, rows in plan]
    lent = "; ".join(lends) or "nobody lends any"
    alt = f"A picture of {height} rows on {world_size} ranks, {_words(kernel)}. Rows that cross: {lent}."
    note = f"{_words(kernel)}; an arrow: a row that is lent; pad: a row of zeros"
    return finish(picture, origin="computed", alt=alt, note=note)


def _left(rank: int) -> float:
    """Where a rank's column begins."""
    return 3.2 + 1.9 * rank


def _lend(axes: Axes, owner: int, rank: int, height: float) -> None:
    """An arrow from the owner's column to the borrower's."""
    if owner < rank:
        arrow(axes, (_left(owner) + 1.52, height), (_left(rank) - 0.02, height))
    else:
        arrow(axes, (_left(owner) - 0.02, height), (_left(rank) + 1.52, height))


def _words(kernel: RowKernel) -> str:
    parts = [f"kernel {kernel.size}", f"stride {kernel.stride}", f"padding {kernel.padding}"]
    return ", ".join([*parts, f"dilation {kernel.dilation}"] if kernel.dilation > 1 else parts)
