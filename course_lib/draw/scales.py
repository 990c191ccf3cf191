"""One algorithm at three scales: measured and emulated on a few ranks, simulated on many, in one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from course_lib.draw.curves import Curve, label_ranks_axis, label_seconds_axis
from course_lib.draw.style import MUTED, PAGE_IN, Picture, algorithm_style, finish, new_picture, styled
from course_lib.draw.units import format_seconds

__all__ = ["describe_three_scales", "draw_three_scales"]

_LINES = ("simulated", "computed")


@styled
def draw_three_scales(panels: Mapping[str, Sequence[Curve]], *, title: str = "", note: str = "") -> Picture:
    """A panel for each set of curves, seconds against ranks: real processes as markers, simulated ranks as lines.

    Curves of one name and origin are joined, so that each point may come as a curve of its own.

    Args:
        panels: heading -> curves whose x is a number of ranks; measured markers are full, emulated ones open.
    """
    joined = {heading: _joined(curves) for heading, curves in panels.items()}
    picture, grid = new_picture(PAGE_IN, 3.9, 1, len(joined), sharex=True, squeeze=False)
    for axes, (heading, curves) in zip(grid.flat, joined.items(), strict=True):
        for curve in curves:
            axes.plot(curve.x, curve.seconds, **_look(curve))
        _dress(axes, curves)
        axes.set_title(heading)
    grid[0, 0].set_ylabel("time")
    everyone = [curve for curves in joined.values() for curve in curves]
    picture.legend(handles=_legend(everyone), loc="outside lower left", ncols=4, handlelength=2.0, columnspacing=1.1)
    if title:
        picture.suptitle(title, fontsize=11, fontweight="bold", x=0.01, ha="left")
    origins = ", ".join(dict.fromkeys(curve.origin for curve in everyone))
    return finish(picture, origin=origins, alt=describe_three_scales(joined), note=note)


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


def _look(curve: Curve) -> dict[str, Any]:
    style = algorithm_style(curve.name)
    if curve.origin in _LINES:
        return {"color": style.color, "linestyle": style.dash, "linewidth": 2.2 if curve.origin == "simulated" else 0.9}
    open_marker = {"markerfacecolor": "white", "markeredgewidth": 1.8} if curve.origin == "emulated" else {}
    return {
        "color": style.color,
        "linestyle": "none",
        "marker": style.marker,
        "markersize": 8,
        "zorder": 3,
        **open_marker,
    }


def _legend(curves: Sequence[Curve]) -> list[Line2D]:
    names = dict.fromkeys(curve.name for curve in curves)
    entries = []
    for name in names:
        style = algorithm_style(name)
        entries.append(
            Line2D([], [], color=style.color, marker=style.marker, linestyle=style.dash, linewidth=2, label=name)
        )
    kinds: dict[str, dict[str, Any]] = {
        "measured": {"marker": "o", "linestyle": "none"},
        "emulated": {"marker": "o", "markerfacecolor": "white", "linestyle": "none"},
        "simulated": {"linestyle": "solid"},
        "computed": {"linestyle": "solid", "linewidth": 0.9},
    }
    present = dict.fromkeys(curve.origin for curve in curves)
    return entries + [Line2D([], [], color=MUTED, label=kind, **kinds[kind]) for kind in kinds if kind in present]


def _dress(axes: Axes, curves: Sequence[Curve]) -> None:
    ranks = sorted({x for curve in curves for x in curve.x})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    label_ranks_axis(axes, ranks, most=8)
    label_seconds_axis(axes)
    axes.set_xlabel("ranks")
    axes.grid()
