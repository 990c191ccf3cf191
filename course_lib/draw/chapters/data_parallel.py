"""The pictures of chapter 01: replicas, goals, steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from course_lib.draw.colors import COLORS, FILLS
from course_lib.draw.line_charts import Axis, scaled
from course_lib.draw.panels import Bars, Lane, Line, Lines, Stretch, Timeline, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture, arrow, block, caption, empty, finish, frame, new_picture, styled
from course_lib.draw.units import format_count, format_seconds

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
    block(axes, _EDGE, 0.85, right - _EDGE, 0.45, COLORS["purple"], sentence)
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


def draw_goals(
    goals: Sequence[Any], critical: float, fewest: float, *, origin: str = "measured", note: str = ""
) -> Picture:
    """Two panels over the batch size: updates, and examples computed, with the curves of fewest × (1 + critical/B).

    Args:
        goals: anything with `batch_size`, `updates` and `examples`.
        critical, fewest: of the fitted curve; a dotted line stands at the critical batch size.
        origin: where the goals are from; the curve is computed.
    """
    sizes = [goal.batch_size for goal in goals]
    panels = []
    for name in ("updates", "examples"):
        counts = [getattr(goal, name) for goal in goals]
        each = sizes if name == "examples" else [1] * len(sizes)
        fitted = [fewest * (1 + critical / size) * factor for size, factor in zip(sizes, each, strict=True)]
        panels.append(
            Lines(
                title=f"{name.capitalize()} to the goal",
                origin=f"{origin}, computed",
                lines={
                    "fewest × (1 + critical / batch), computed": Line(sizes, fitted, COLORS["blue"]),
                    origin: Line(sizes, counts, COLORS["vermillion"], drawn="dots", symbol="o"),
                },
                x=scaled(Axis("batch size", log=True, ticks=sizes), [*sizes, critical]),
                y=scaled(Axis(name, "{:,.0f}".format, log=True), [*counts, *fitted]),
                flags={"critical batch size": critical},
                height_px=200,
                grid="y",
            )
        )
    words = "; ".join(f"batch {g.batch_size}: {g.updates} updates, {g.examples} examples" for g in goals)
    alt = f"What the goal takes: {words}. The dashed line stands at the critical batch size, {critical:.3g}."
    title = f"Batches of more than about {critical:.2g} save few updates, and cost examples"
    return picture_of(panels, alt=alt, note=note, title=title, shared=True)


def draw_steps(steps: dict[str, Any], *, title: str = "", note: str = "", origin: str = "computed") -> Picture:
    """Several StepTimelines under each other, by name, on one scale of time."""
    longest = max(step.seconds for step in steps.values())
    panels = [
        step_panel(step, title=f"{name}: {format_seconds(step.seconds)}", origin=origin, seconds=longest)
        for name, step in steps.items()
    ]
    words = "; ".join(
        f"{name} takes {format_seconds(step.seconds)}, of which {format_seconds(step.seconds - step.compute_s)} waits "
        f"for all-reduces of {format_count(len(step.all_reduces), 'bucket')}"
        for name, step in steps.items()
    )
    return picture_of(panels, alt=f"One data-parallel step: {words}.", note=note, title=title, shared=True)


def draw_run_minutes(plans: Mapping[str, tuple[Any, float]], steps: int, *, wanted: float, title: str = "") -> Picture:
    """A bar for each plan: the minutes of a run, by what a step spends them on; its error stands beside its name.

    Args:
        plans: plan -> (StepTimeline of one step, percent of the images that are classified wrongly).
        steps: of the whole run.
        wanted: minutes; a dashed line stands there.
    """
    bars, longest = {}, wanted
    for plan, (step, wrong) in plans.items():
        seconds = {
            "forward": step.forward[-1].end_s,
            "backward": step.compute_s - step.forward[-1].end_s,
            "all-reduce, waited for": step.seconds - step.compute_s,
        }
        minutes = steps * step.seconds / 60
        bars[f"{plan}: {minutes:.0f} min, {wrong:.1f}% wrong"] = {k: steps * s / 60 for k, s in seconds.items()}
        longest = max(longest, minutes)
    panel = Bars(
        title=title or "Minutes of the run",
        origin="computed; published errors",
        bars=bars,
        axis=axis("minutes", [1.05 * longest]),
        limits={f"wanted: {wanted:.0f}": wanted},
        wide=True,
        row_px=38.0,
    )
    return picture_of([panel], alt=f"Minutes of the run, wanted {wanted:.0f}. {'; '.join(bars)}.")


def step_panel(step: Any, *, title: str, origin: str, seconds: float = 0.0, label: str = "") -> Timeline:
    """One StepTimeline: passes above, layer by layer; all-reduces below, bucket by bucket, and red where nothing hides
    them. `seconds`: the end of its axis, if later than its own."""
    late = [s._replace(start_s=max(s.start_s, step.compute_s)) for s in step.all_reduces if s.end_s > step.compute_s]
    lanes = {
        "forward": (0, step.forward),
        "backward": (0, step.backward),
        "all-reduce": (1, step.all_reduces),
        "all-reduce, waited for": (1, late),
    }
    return Timeline(
        title=title,
        origin=origin,
        label=label,
        wide=True,
        rows=("compute", "wire"),
        lanes={
            name: Lane(
                FILLS["passes"][name].color,
                [Stretch(row, s.start_s, s.end_s, _number(name, s.label)) for s in stretches],
            )
            for name, (row, stretches) in lanes.items()
        },
        seconds=seconds or step.seconds or 1.0,
        row_px=34,
    )


def _number(lane: str, number: int) -> str:
    """What stands in a box: the layer's or the bucket's number, once for both parts of a bucket."""
    return "" if lane == "all-reduce, waited for" else str(number)
