"""One algorithm at three scales: measured and emulated on a few ranks, simulated on many, in one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from course_lib.draw.curves import Curve, curves_legend, label_ranks_axis, label_seconds_axis, plot_curves
from course_lib.draw.style import PAGE_IN, Picture, finish, looks_of, new_picture, put_title, styled
from course_lib.draw.units import format_seconds

__all__ = ["describe_three_scales", "draw_three_scales"]


@styled
def draw_three_scales(panels: Mapping[str, Sequence[Curve]], *, title: str = "", note: str = "") -> Picture:
    """A panel for each set of curves, seconds against ranks: real processes as markers, simulated ranks as bands
    where the formula is there as a line.

    Curves of one name and origin are joined, so that each point may come as a curve of its own.

    Args:
        panels: heading -> curves whose x is a number of ranks; measured markers are full, emulated ones open.
    """
    joined = {heading: _joined(curves) for heading, curves in panels.items()}
    everyone = [curve for curves in joined.values() for curve in curves]
    styles = looks_of(curve.name for curve in everyone)
    picture, grid = new_picture(PAGE_IN, 3.9, 1, len(joined), sharex=True, squeeze=False)
    for axes, (heading, curves) in zip(grid.flat, joined.items(), strict=True):
        plot_curves(axes, curves, styles, everyone)
        _dress(axes, curves)
        axes.set_title(heading)
    grid[0, 0].set_ylabel("time")
    handles = curves_legend(everyone, styles)
    picture.legend(handles=handles, loc="outside lower left", ncols=4, handlelength=2.0, columnspacing=1.1)
    put_title(picture, title)
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


def _dress(axes: Axes, curves: Sequence[Curve]) -> None:
    ranks = sorted({x for curve in curves for x in curve.x})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    label_ranks_axis(axes, ranks, most=8)
    label_seconds_axis(axes)
    axes.set_xlabel("ranks")
    axes.grid()
