"""One data-parallel step as a picture: the passes of the layers above, the all-reduces of the buckets below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course_lib.draw.style import FILLS, Picture, finish, new_picture, styled
from course_lib.draw.units import format_count, format_seconds, time_unit

__all__ = ["draw_steps", "step_legend", "step_on"]


@styled
def draw_steps(steps: dict[str, Any], *, note: str = "", origin: str = "computed") -> Picture:
    """Several StepTimelines under each other, by name, on one scale of time."""
    picture, grid = new_picture(7.4, 0.5 + 1.15 * len(steps), len(steps), 1, sharex=True, squeeze=False)
    longest = max(step.seconds for step in steps.values())
    for axes, (name, step) in zip(grid[:, 0], steps.items(), strict=True):
        step_on(axes, step, longest)
        axes.set_title(f"{name}: {format_seconds(step.seconds)}", fontsize=10)
    grid[-1, 0].set_xlabel(f"time ({time_unit(longest)[1]})")
    picture.legend(handles=step_legend(), loc="outside upper right", ncols=4, columnspacing=1.2, handlelength=1.2)
    words = "; ".join(
        f"{name} takes {format_seconds(step.seconds)}, of which {format_seconds(step.seconds - step.compute_s)} waits "
        f"for all-reduces of {format_count(len(step.all_reduces), 'bucket')}"
        for name, step in steps.items()
    )
    return finish(picture, origin=origin, alt=f"One data-parallel step: {words}.", note=note)


def step_on(axes: Axes, step: Any, longest_s: float) -> None:
    """Draw one StepTimeline on axes that end at `longest_s`."""
    scale, _ = time_unit(longest_s)
    narrow_s = 0.005 * longest_s
    rows = ((step.forward, 0, "forward"), (step.backward, 0, "backward"), (step.all_reduces, 1, "all-reduce"))
    for stretches, row, name in rows:
        _bars(axes, stretches, row, scale, FILLS["passes"][name].color, narrow_s)
    late = [s._replace(start_s=max(s.start_s, step.compute_s)) for s in step.all_reduces if s.end_s > step.compute_s]
    _bars(axes, late, 1, scale, FILLS["passes"]["all-reduce, waited for"].color, narrow_s)
    axes.set_ylim(2, 0)
    axes.set_xlim(0, longest_s / scale * 1.005)
    axes.set_yticks([0.5, 1.5], ["compute", "wire"])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")


def _bars(axes: Axes, stretches: Sequence[Any], row: int, scale: float, color: str, narrow_s: float) -> None:
    where = [(s.start_s / scale, (s.end_s - s.start_s) / scale) for s in stretches]
    edges = ["white" if width * scale > narrow_s else color for _, width in where]  # an edge would hide a narrow bar
    axes.broken_barh(where, (row + 0.1, 0.8), facecolor=color, edgecolor=edges, linewidth=0.5)


def step_legend() -> list[Patch]:
    """One entry a color."""
    names = ("forward", "backward", "all-reduce", "all-reduce, waited for")
    return [Patch(facecolor=FILLS["passes"][name].color, label=name) for name in names]
