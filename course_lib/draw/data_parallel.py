"""The pictures of chapter 01: replicas, goals, steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator

from course_lib.draw.schematics.blocks import arrow, block, caption, empty, frame
from course_lib.draw.style import COLORS, FILLS, PAGE_IN, Picture, finish, new_picture, styled
from course_lib.draw.units import format_count, format_seconds, time_unit

__all__ = [
    "draw_goals",
    "draw_replicas",
    "draw_steps",
    "step_legend",
    "step_on",
]

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


@styled
def draw_goals(
    goals: Sequence[Any], critical: float, fewest: float, *, origin: str = "measured", note: str = ""
) -> Picture:
    """Two panels over the batch size: updates, and examples computed, with the curves of fewest × (1 + critical/B).

    Args:
        goals: anything with `batch_size`, `updates` and `examples`.
        critical, fewest: of the fitted curve; a dashed line stands at the critical batch size.
        origin: where the goals are from; the curve is computed.
    """
    picture, (left, right) = new_picture(PAGE_IN, 3.4, 1, 2)
    sizes = [goal.batch_size for goal in goals]
    for axes, name in ((left, "updates"), (right, "examples")):
        counts = [getattr(goal, name) for goal in goals]
        each = sizes if name == "examples" else [1] * len(sizes)
        fitted = [fewest * (1 + critical / size) * factor for size, factor in zip(sizes, each, strict=True)]
        axes.plot(sizes, fitted, color=COLORS["blue"], label="fewest × (1 + critical / batch), computed")
        axes.plot(sizes, counts, "o", color=COLORS["vermillion"], label=origin)
        axes.axvline(critical, color="#5a5a5a", linestyle="--", linewidth=1, label="critical batch size")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
        axes.minorticks_off()
        axes.set(title=f"{name.capitalize()} to the goal", xlabel="batch size", ylabel=name)
        axes.grid(axis="y")
    picture.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=3)
    words = "; ".join(f"batch {g.batch_size}: {g.updates} updates, {g.examples} examples" for g in goals)
    alt = f"What the goal takes: {words}. The dashed line stands at the critical batch size, {critical:.3g}."
    return finish(picture, origin=f"{origin}, computed", alt=alt, note=note)


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
