"""Seconds against message size or number of ranks, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from course_lib.draw.colors import INK
from course_lib.draw.lines import PAGE_PX, Axis, Curve, lines_panel, scaled
from course_lib.draw.looks import look_of
from course_lib.draw.panels import Line, Lines
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture
from course_lib.draw.units import format_bytes, format_seconds

__all__ = ["SECONDS", "bytes_axis", "describe_seconds_curves", "draw_alpha_beta_fit", "draw_seconds_curves"]

SECONDS = Axis("time", format_seconds, log=True)
_X_LABELS = {"message_bytes": "message size", "bucket_bytes": "bucket size", "ranks": "ranks"}
_FEW = 7


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
    places = sorted({place for curve in given for place in curve.x})
    across = bytes_axis(places, _X_LABELS[x]) if x.endswith("_bytes") else Axis("ranks", log=True, ticks=places)
    panel = lines_panel(given, across, SECONDS, title=title or f"Time by {_X_LABELS[x]}")
    return picture_of([panel], alt=describe_seconds_curves(given, x), note=note)


def describe_seconds_curves(curves: Sequence[Curve], x: str = "message_bytes") -> str:
    """The curves in words: each one's two ends."""
    show = format_bytes if x.endswith("_bytes") else lambda ranks: f"{ranks:g} rank{'s' if ranks != 1 else ''}"
    parts = [
        f"{c.name} ({c.origin}) from {format_seconds(c.seconds[0])} at {show(c.x[0])} "
        f"to {format_seconds(c.seconds[-1])} at {show(c.x[-1])}"
        for c in curves
    ]
    return f"Time against {_X_LABELS[x]}, both axes logarithmic: " + "; ".join(parts) + "."


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
    low, high = min(message_bytes), max(message_bytes)
    sizes = [low * (high / low) ** (step / 99) for step in range(100)]
    fitted = [latency_s + size / bytes_per_s for size in sizes]
    rate = f"{bytes_per_s / 1e9:.3g} GB/s" if bytes_per_s >= 1e9 else f"{bytes_per_s / 1e6:.3g} MB/s"
    panel = Lines(
        title=f"Time of {of}",
        origin=f"{origin}, computed",
        wide=True,
        lines={
            f"{of} ({origin})": Line(message_bytes, seconds, look_of("ring").color, drawn="dots", symbol="o"),
            f"{format_seconds(latency_s)} + bytes / {rate} (computed)": Line(sizes, fitted, INK, (10, 4)),
        },
        x=scaled(bytes_axis(message_bytes), message_bytes),
        y=scaled(SECONDS, [*seconds, *fitted]),
        height_px=PAGE_PX,
        grid="xy",
    )
    alt = (
        f"Time of {of}: {len(message_bytes)} sizes from {format_bytes(low)} to {format_bytes(high)}, "
        f"times from {format_seconds(min(seconds))} to {format_seconds(max(seconds))}, and the fitted line "
        f"{format_seconds(latency_s)} plus bytes over {rate}."
    )
    return picture_of([panel], alt=alt, note=note)


def bytes_axis(sizes: Iterable[float], label: str = "message size") -> Axis:
    """An axis with ticks at the sizes themselves if they are few, else at round ones."""
    few = sorted(set(sizes))
    return Axis(label, format_bytes, log=True, ticks=few if len(few) <= _FEW else ())
