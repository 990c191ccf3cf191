"""Seconds against message size or number of ranks, on logarithmic axes; the marker says where a number is from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from course_lib.draw.style import (
    INK,
    MUTED,
    Look,
    Picture,
    finish,
    look_of,
    looks_of,
    new_picture,
    styled,
)
from course_lib.draw.units import format_bytes, format_seconds, log_ticks

__all__ = [
    "BAND",
    "Curve",
    "curves_legend",
    "describe_seconds_curves",
    "draw_alpha_beta_fit",
    "draw_seconds_curves",
    "label_bytes_axis",
    "label_ranks_axis",
    "label_seconds_axis",
    "plot_curves",
]


class Curve(NamedTuple):
    """Seconds of one algorithm at several message sizes (bytes) or numbers of ranks, and where they are from."""

    name: str
    x: Sequence[float]
    seconds: Sequence[float]
    origin: str


_LINES = ("simulated", "computed")
BAND = {"linewidth": 6, "alpha": 0.35, "linestyle": "solid", "zorder": 1.5}  # for computed lines to lie on
_KINDS: dict[str, dict[str, Any]] = {
    "measured": {},
    "emulated": {"markerfacecolor": "white", "markeredgewidth": 1.6},
    "published": {"marker": "x", "markeredgewidth": 2},
    "simulated": {},
    "computed": {},
}
_X_LABELS = {"message_bytes": "message size", "bucket_bytes": "bucket size", "ranks": "ranks"}


@styled
def draw_seconds_curves(
    curves: Iterable[Curve | tuple[Any, ...]], x: str = "message_bytes", *, title: str = "", note: str = ""
) -> Picture:
    """Seconds of several algorithms: measured as full markers, emulated as open ones, published as crosses, computed
    as lines, simulated as lines too, or as bands where there are both.

    Args:
        x: "message_bytes", "bucket_bytes" or "ranks".

    Raises:
        ValueError: if `x` is none of these, or there is no curve.
    """
    given = [Curve(*curve) for curve in curves]
    if x not in _X_LABELS or not given:
        raise ValueError(
            f"x must be one of {', '.join(_X_LABELS)} and there must be a curve, got {x!r} and {len(given)} curves"
        )
    picture, axes = new_picture(7.4, 4.4)
    styles = looks_of(curve.name for curve in given)
    plot_curves(axes, given, styles)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    _label_axes(axes, given, x)
    axes.set_title(title or f"Time by {_X_LABELS[x]}")
    picture.legend(handles=curves_legend(given, styles), loc="outside right upper", handlelength=2.6)
    origins = list(dict.fromkeys(curve.origin for curve in given))
    return finish(picture, origin=", ".join(origins), alt=describe_seconds_curves(given, x), note=note)


def describe_seconds_curves(curves: Sequence[Curve], x: str = "message_bytes") -> str:
    """The curves in words: each one's two ends."""
    show = format_bytes if x.endswith("_bytes") else lambda ranks: f"{ranks:g} rank{'s' if ranks != 1 else ''}"
    parts = [
        f"{c.name} ({c.origin}) from {format_seconds(c.seconds[0])} at {show(c.x[0])} "
        f"to {format_seconds(c.seconds[-1])} at {show(c.x[-1])}"
        for c in curves
    ]
    return f"Time against {_X_LABELS[x]}, both axes logarithmic: " + "; ".join(parts) + "."


@styled
def draw_alpha_beta_fit(
    message_bytes: Sequence[float],
    seconds: Sequence[float],
    latency_s: float,
    bytes_per_s: float,
    *,
    of: str = "one message",
    origin: str = "measured",
    note: str = "",
) -> Picture:
    """Times of one thing in several sizes as points, and the line latency_s + bytes / bytes_per_s through them."""
    picture, axes = new_picture(6.4, 4.0)
    style = look_of("ring")
    ends = np.geomspace(min(message_bytes), max(message_bytes), 100).tolist()
    axes.plot(message_bytes, seconds, "o", color=style.color, label=f"{of} ({origin})")
    line = [latency_s + b / bytes_per_s for b in ends]
    rate = f"{bytes_per_s / 1e9:.3g} GB/s" if bytes_per_s >= 1e9 else f"{bytes_per_s / 1e6:.3g} MB/s"
    fitted = f"{format_seconds(latency_s)} + bytes / {rate} (computed)"
    axes.plot(ends, line, color=INK, dashes=(5, 2), label=fitted)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    _label_axes(axes, [Curve("", list(message_bytes), list(seconds), origin)], "message_bytes")
    axes.legend(loc="upper left")
    axes.set_title(f"Time of {of}")
    alt = (
        f"Time of {of}: {len(message_bytes)} sizes from {format_bytes(min(message_bytes))} "
        f"to {format_bytes(max(message_bytes))}, "
        f"times from {format_seconds(min(seconds))} to {format_seconds(max(seconds))}, and the fitted line "
        f"{format_seconds(latency_s)} plus bytes over {rate}."
    )
    return finish(picture, origin=f"{origin}, computed", alt=alt, note=note)


def label_bytes_axis(axes: Axes, sizes: Iterable[float], most: int = 7) -> None:
    """Put ticks named in bytes at the sizes themselves if they are few, else at round ones, on the x axis."""
    ticks = sorted(set(sizes))
    axes.xaxis.set_major_locator(FixedLocator(ticks if len(ticks) <= most else log_ticks(ticks[0], ticks[-1], most)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: format_bytes(size)))


def plot_curves(
    axes: Axes, curves: Sequence[Curve], styles: Mapping[str, Look], beside: Sequence[Curve] | None = None
) -> None:
    """Draw curves on axes, each as its name and origin ask; `beside`: all curves of the picture, if more."""
    origins = {curve.origin for curve in beside or curves}
    for curve in curves:
        axes.plot(curve.x, curve.seconds, **_look(curve, styles[curve.name], origins))


def _look(curve: Curve, style: Look, origins: set[str]) -> dict[str, Any]:
    """How a curve is drawn: color and dash or marker of its name; full, open, crossed, line or band by its origin."""
    if curve.origin == "simulated" and "computed" in origins:
        return {"color": style.color, **BAND}
    if curve.origin in _LINES:
        return {"color": style.color, "linestyle": style.dash, "linewidth": 2}
    shape = {"marker": style.marker, "markersize": 7, "zorder": 3, **_KINDS[curve.origin]}
    return {"color": style.color, "linestyle": "none", **shape}


def curves_legend(curves: Sequence[Curve], styles: Mapping[str, Look]) -> list[Line2D]:
    """One entry a name (color, marker, dash), then one an origin if there are several."""
    entries, all_origins = [], {curve.origin for curve in curves}
    for name, style in styles.items():
        origins = {curve.origin for curve in curves if curve.name == name}
        marker = style.marker if origins & {"measured", "emulated"} else None if origins & set(_LINES) else "x"
        dash = style.dash if origins & set(_LINES) else "none"
        entries.append(Line2D([], [], color=style.color, marker=marker, linestyle=dash, linewidth=2, label=name))
        if origins == {"simulated"} and "computed" in all_origins:
            entries[-1].set(**BAND)
    present = list(dict.fromkeys(curve.origin for curve in curves))
    for origin in present if len(present) > 1 else []:
        look = _look(Curve("", (), (), origin), Look(MUTED, "o", "solid"), all_origins)
        entries.append(Line2D([], [], label=origin, **look))
    return entries


def label_ranks_axis(axes: Axes, ranks: Iterable[float], most: int = 11) -> None:
    """Put ticks at these numbers of ranks, or at every second, third, ... and the largest, on the x axis."""
    down = sorted(set(ranks), reverse=True)
    axes.xaxis.set_major_locator(FixedLocator(down[:: -(-len(down) // most)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rank, _: f"{rank:g}"))


def label_seconds_axis(axes: Axes) -> None:
    """Name round times, each with its unit, on the logarithmic y axis."""
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(FixedLocator(log_ticks(low, high)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: format_seconds(seconds)))


def _label_axes(axes: Axes, curves: Sequence[Curve], x: str) -> None:
    sizes = sorted({size for curve in curves for size in curve.x})
    (label_bytes_axis if x.endswith("_bytes") else label_ranks_axis)(axes, sizes)
    axes.set_xlabel(_X_LABELS[x])
    axes.set_ylabel("time")
    label_seconds_axis(axes)
    axes.grid()
