"""One step of data parallelism as a picture: a batch in parts, a copy of the model on every rank, one mean."""

from __future__ import annotations

from matplotlib.axes import Axes

from course_lib.draw.schematics.blocks import arrow, block, caption, empty, frame
from course_lib.draw.style import COLORS, Picture, finish, new_picture, styled

__all__ = ["draw_replicas"]

_EDGE = 0.06
_WIDTH = 1.5
_GAP = 0.25
_ALT = (
    "One step of data parallelism on {n} ranks, from top to bottom. A batch of {batch} examples is cut into {n} parts "
    "of {part}. Every rank has a copy of the whole model and computes the gradient of its own part. An all-reduce "
    "gives all ranks the mean of the gradients. All make the same update, so the copies stay equal."
)


@styled
def draw_replicas(world_size: int = 4, *, part: int = 12) -> Picture:
    """A batch of `part` examples a rank on its way through one data-parallel step.

    Raises:
        ValueError: unless there are 2 to 5 ranks.
    """
    if not 2 <= world_size <= 5:
        raise ValueError(f"the picture has room for 2 to 5 ranks, got {world_size}")
    picture, axes = new_picture(1.1 + 1.65 * world_size, 3.7)
    right = _EDGE + world_size * (_WIDTH + _GAP) - _GAP
    empty(axes, right + _EDGE, 5.1)
    caption(axes, right / 2, 4.95, f"one batch of {world_size * part} examples", bold=True)
    for rank in range(world_size):
        _draw_rank(axes, rank, part, right)
    sentence = "all-reduce: every rank gets the mean of the gradients"
    block(axes, _EDGE, 0.85, right - _EDGE, 0.45, COLORS["yellow"], sentence)
    caption(axes, right / 2, 0.1, "the same update everywhere, so the copies stay equal")
    alt = _ALT.format(n=world_size, batch=world_size * part, part=part)
    return finish(picture, origin="schematic", alt=alt)


def _draw_rank(axes: Axes, rank: int, part: int, right: float) -> None:
    left = _EDGE + rank * (_WIDTH + _GAP)
    middle, inner = left + _WIDTH / 2, _WIDTH - 0.3
    # Parts of the batch touch each other where ranks do not: it is one batch.
    begin, end = max(_EDGE, left - _GAP / 2), min(right, left + _WIDTH + _GAP / 2)
    block(axes, begin, 4.25, end - begin, 0.45, COLORS["orange"], str(part))
    arrow(axes, (middle, 4.22), (middle, 3.92))
    frame(axes, left, 1.75, _WIDTH, 2.15, f"rank {rank}")
    block(axes, left + 0.15, 2.85, inner, 0.6, COLORS["blue"], "the whole\nmodel")
    arrow(axes, (middle, 2.83), (middle, 2.5))
    block(axes, left + 0.15, 1.95, inner, 0.5, COLORS["green"], "gradient")
    arrow(axes, (middle, 1.33), (middle, 1.75), both=True)
    arrow(axes, (middle, 0.82), (middle, 0.35))
