"""All-reduces against the clock: plans beside a goal, a plan at three scales, what NVIDIA published of eight A100s."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.draw.colors import COLORS, INK
from course_lib.draw.goal import goal_bars, goal_color
from course_lib.draw.lines import PAGE_PX, SECONDS, Axis, Curve, bytes_axis, lines_panel, scaled
from course_lib.draw.panels import Bars, Line, Lines, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture
from course_lib.draw.units import format_bytes, format_seconds
from course_lib.published import A100_SWEEP, NCCL_RING_PROTOCOLS, nccl_ring_choice, nccl_ring_seconds

__all__ = [
    "describe_a100_sweep",
    "describe_three_scales",
    "draw_a100_sweep",
    "draw_plan_times",
    "draw_three_scales",
    "plan_bars",
]

_LOOKS: dict[str, tuple[str, tuple[float, ...]]] = {
    "LL": (COLORS["orange"], (2, 3)),
    "LL128": (COLORS["green"], (10, 3)),
    "Simple": (COLORS["blue"], ()),
}


def draw_plan_times(plans: Mapping[str, float], *, goal_s: float = 0.125, title: str = "") -> Picture:
    """A bar for each plan, its name with its whole milliseconds, and a dashed line at the goal.

    A bar that stays below the goal is green. The axis always goes to a second, so pictures with more bars compare.

    Args:
        plans: name -> seconds of all its all-reduces.

    Raises:
        ValueError: if there is no bar.

    >>> draw_plan_times({"central": 0.9926, "ring": 0.0316}).alt
    'Time of the all-reduce, goal 125 ms: central, 993 ms; ring, 32 ms. (computed)'
    """
    named = {f"{name}, {1000 * seconds:.0f} ms": seconds for name, seconds in plans.items()}
    panel = plan_bars(named, goal_s=goal_s, longest_s=1.0, title=title or "Time of the all-reduce")
    return picture_of([panel], alt=f"Time of the all-reduce, goal {format_seconds(goal_s)}: {'; '.join(named)}.")


def plan_bars(plans: Mapping[str, float], *, goal_s: float, longest_s: float, title: str) -> Bars:
    """The bars of `draw_plan_times`, on an axis up to `longest_s`, or to the longest bar."""
    return goal_bars(
        plans,
        "a plan's time",
        along=axis("milliseconds", [longest_s, goal_s, *plans.values()], show=lambda s: f"{1000 * s:,.4g}"),
        limit=(f"goal: {format_seconds(goal_s)}", goal_s),
        colors={name: goal_color(seconds <= goal_s) for name, seconds in plans.items()},
        show=lambda _: "",
        title=title,
        origin="computed",
        row_px=26.0,
    )


def draw_three_scales(panels: Mapping[str, Sequence[Curve]], *, title: str = "", note: str = "") -> Picture:
    """A panel for each set of curves, seconds against ranks: real processes as markers, simulated ranks as bands
    where the formula is there as a line.

    Curves of one name and origin are joined, so that each point may come as a curve of its own.

    Args:
        panels: heading -> curves whose x is a number of ranks; measured markers are full, emulated ones open.
    """
    joined = {heading: _joined(curves) for heading, curves in panels.items()}
    everyone = [curve for curves in joined.values() for curve in curves]
    ranks = Axis("ranks", log=True, ticks=sorted({x for curve in everyone for x in curve.x}))
    look: dict[str, Any] = {"wide": False, "height_px": 240.0}
    drawn = [
        lines_panel(curves, ranks, SECONDS, title=heading, beside=everyone, **look)
        for heading, curves in joined.items()
    ]
    return picture_of(drawn, alt=describe_three_scales(joined), note=note, title=title, shared=True)


def describe_three_scales(panels: Mapping[str, Sequence[Curve]]) -> str:
    """The figure in words: both ends of every curve."""
    parts = []
    for heading, curves in panels.items():
        ends = [
            f"{c.name} ({c.origin}) {format_seconds(c.seconds[0])} on {c.x[0]:g} to {format_seconds(c.seconds[-1])} "
            f"on {c.x[-1]:g} ranks"
            for c in _joined(curves)
        ]
        parts.append(f"{heading}: {'; '.join(ends)}.")
    return "Time against ranks, both axes logarithmic. " + " ".join(parts)


def _joined(curves: Sequence[Curve]) -> list[Curve]:
    """One curve for each name and origin, its points in order of x."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for curve in curves:
        points.setdefault((curve.name, curve.origin), []).extend(zip(curve.x, curve.seconds, strict=True))
    return [
        Curve(name, [x for x, _ in sorted(pairs)], [s for _, s in sorted(pairs)], origin)
        for (name, origin), pairs in points.items()
    ]


def draw_a100_sweep() -> Picture:
    """Published times as crosses, NCCL's model of each protocol as lines, and where its fastest protocol changes."""
    sizes = [timing.message_bytes for timing in A100_SWEEP]
    fine = [sizes[0] * 2 ** (i / 8) for i in range(8 * (len(sizes) - 1) + 1)]
    lines = {
        f"{protocol} (computed)": Line(fine, [nccl_ring_seconds(protocol, size) for size in fine], *_LOOKS[protocol])
        for protocol in NCCL_RING_PROTOCOLS
    }
    lines["published"] = Line(sizes, [timing.seconds for timing in A100_SWEEP], INK, drawn="crosses")
    panel = Lines(
        title=f"Eight A100s: by NCCL's model the fastest protocol changes after {_changes()}",
        origin="published, computed",
        wide=True,
        lines=lines,
        x=scaled(bytes_axis(sizes), sizes),
        y=scaled(Axis("time", format_seconds, log=True, ticks=[10.0**power for power in range(-5, 1)]), [4e-6, 1.0]),
        zones=_fastest(sizes),
        height_px=PAGE_PX,
        grid="xy",
    )
    return picture_of([panel], alt=describe_a100_sweep(), note="8 × A100, one server; model: NCCL tuning.cc")


def describe_a100_sweep() -> str:
    """The figure in words."""
    first, last = A100_SWEEP[0], A100_SWEEP[-1]
    switched = [f"{new} after {format_bytes(size)}" for size, new in _switches()]
    return (
        f"Time of an all-reduce on eight A100 GPUs, both axes logarithmic: from {format_seconds(first.seconds)} at "
        f"{format_bytes(first.message_bytes)} to {format_seconds(last.seconds)} at {format_bytes(last.message_bytes)}. "
        f"NCCL's model begins with {nccl_ring_choice(first.message_bytes)} and changes to {' and to '.join(switched)}."
    )


def _changes() -> str:
    """After which sizes the fastest protocol changes, in words."""
    return " and ".join(format_bytes(size) for size, _ in _switches())


def _switches() -> list[tuple[int, str]]:
    """The last size before each change of the fastest protocol, and the protocol after it."""
    pairs = itertools.pairwise(A100_SWEEP)
    choices = [
        (a.message_bytes, nccl_ring_choice(a.message_bytes), nccl_ring_choice(b.message_bytes)) for a, b in pairs
    ]
    return [(size, after) for size, before, after in choices if before != after]


def _fastest(sizes: Sequence[int]) -> dict[str, tuple[float, float, str]]:
    """From which size to which each protocol is the fastest."""
    edges = [0.5 * sizes[0], *(size * 2**0.5 for size, _ in _switches()), 2.0 * sizes[-1]]
    names = [nccl_ring_choice(sizes[0]), *(name for _, name in _switches())]
    return {f"{name} fastest": (*ends, "none") for name, ends in zip(names, itertools.pairwise(edges), strict=True)}
