"""Line charts: any quantity against any other, and seconds against bytes or ranks.

How a point is drawn says where it is from: measured, emulated, simulated, computed or published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from course_lib.draw.colors import INK, MUTED, look_of
from course_lib.draw.panels import Line, Lines, axis
from course_lib.draw.panels.drawing import Key
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture
from course_lib.draw.units import format_bytes, format_seconds

PAGE_PX = 260.0  # height of the room for lines where a panel has a page's width for itself
_ROOM = 0.03  # of an axis, free at both ends
_FEW = 7  # sizes
_FEW_LINES = 3
_X_LABELS = {"message_bytes": "message size", "bucket_bytes": "bucket size", "ranks": "ranks"}
_WAYS = {"measured": "dots", "emulated": "open dots", "published": "crosses"}


class Axis(NamedTuple):
    """One axis of `draw_lines`: what it counts, how its numbers are written, and whether each step multiplies.

    `ticks` names the places of the ticks; without it they are round numbers, three of them or more.
    """

    label: str
    show: Callable[[float], str] = "{:g}".format
    log: bool = False
    ticks: Sequence[float] = ()


SECONDS = Axis("time", format_seconds, log=True)


class Curve(NamedTuple):
    """Seconds of one algorithm at several message sizes (bytes) or numbers of ranks, and where they are from."""

    name: str
    x: Sequence[float]
    seconds: Sequence[float]
    origin: str


def draw_lines(
    lines: Mapping[str, tuple[Any, ...]],
    x: Axis,
    y: Axis,
    *,
    origin: str = "computed",
    marks: Mapping[str, float] | None = None,
    zones: Mapping[str, tuple[float, float]] | None = None,
    title: str = "",
    note: str = "",
) -> Picture:
    """Lines by name: (x values, y values), or (x values, y values, origin) where they differ in that.

    Computed and simulated values are drawn as lines (where there are both, simulated ones as bands), measured ones as
    full markers, emulated as open ones, published as crosses.

    Args:
        marks: what to write at a dotted line upward -> its x.
        zones: what to write over a part of x -> from where to where.

    Raises:
        ValueError: if there is no line.

    >>> draw_lines({"half": ([1, 2, 4], [0.5, 1, 2])}, Axis("ranks"), Axis("speed-up")).alt
    'speed-up against ranks: half from 0.5 at 1 to 2 at 4. (computed)'
    """
    if not lines:
        raise ValueError("there must be a line to draw, got none")
    curves = [Curve(name, line[0], line[1], line[2] if len(line) > 2 else origin) for name, line in lines.items()]
    panel = lines_panel(curves, x, y, title=title or f"{y.label} by {x.label}", marks=marks)
    if zones:
        panel = replace(panel, zones={words: (*ends, "none") for words, ends in zones.items()})
    return picture_of([panel], alt=_describe(curves, x, y, marks or {}), note=note)


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
        title=_fit_title(of, latency_s * bytes_per_s),
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


def _fit_title(of: str, half: float) -> str:
    """The finding of a fit: the size whose time is latency to one half."""
    if half <= 0:
        return f"Bytes alone take the time of {of}"
    return f"Up to {format_bytes(float(f'{half:.2g}'))} the latency is most of the time of {of}"


def lines_panel(
    curves: Sequence[Curve],
    x: Axis,
    y: Axis,
    *,
    title: str,
    marks: Mapping[str, float] | None = None,
    all_curves: Sequence[Curve] | None = None,
    **more: Any,
) -> Lines:
    """Curves as a panel.

    Args:
        all_curves: all curves of the picture, if it has more than this panel.
        more: what else Lines have.
    """
    shown = all_curves or curves
    origins = list(dict.fromkeys(curve.origin for curve in shown))
    keys = [_origin_key(origin, origins) for origin in origins] if len(origins) > 1 else []
    # A few lines of one origin each say it beside their names.
    called = {curve.name: f"{curve.name} ({curve.origin})" for curve in shown} if keys else {}
    if len({(curve.name, curve.origin) for curve in shown}) > min(len(called), _FEW_LINES):
        called = {}
    lines: dict[str, list[Line]] = {name: [] for name in dict.fromkeys(curve.name for curve in shown)}
    for curve in curves:
        lines[curve.name].append(Line(curve.x, curve.seconds, drawn=_way(curve.origin, origins)))
    look: dict[str, Any] = {"wide": True, "height_px": PAGE_PX, "grid": "xy"} | more
    return Lines(
        title=title,
        origin=", ".join(dict.fromkeys(curve.origin for curve in curves)),
        lines=lines,
        x=scaled(x, [place for curve in shown for place in curve.x] + list((marks or {}).values()), most=10),
        y=scaled(y, [value for curve in curves for value in curve.seconds]),
        flags=marks or {},
        called=called,
        keys=[] if called else keys,
        **look,
    )


def scaled(spec: Axis, values: Sequence[float], most: int = 7) -> Any:
    """The axis that holds these values, with at most so many ticks."""
    return axis(spec.label, values, log=spec.log, at=spec.ticks, show=spec.show, room=_ROOM, most=most)


def _way(origin: str, origins: Sequence[str]) -> str:
    """How numbers of an origin are drawn beside those of others."""
    return "band" if origin == "simulated" and "computed" in origins else _WAYS.get(origin, "line")


def _origin_key(origin: str, origins: Sequence[str]) -> Key:
    """What the legend says of an origin, where there are several."""
    way = _way(origin, origins)
    symbol = {"dots": "o", "open dots": "o", "crosses": "x"}.get(way, "")
    return Key(origin, MUTED, None if symbol else (), symbol, open=way == "open dots", band=way == "band")


def bytes_axis(sizes: Iterable[float], label: str = "message size") -> Axis:
    """An axis with ticks at the sizes themselves if they are few, else at round ones."""
    few = sorted(set(sizes))
    return Axis(label, format_bytes, log=True, ticks=few if len(few) <= _FEW else ())


def _describe(curves: Sequence[Curve], x: Axis, y: Axis, marks: Mapping[str, float]) -> str:
    parts = [f"{c.name} from {_point(c, 0, x, y)} to {_point(c, -1, x, y)}" for c in curves]
    marked = "".join(f" {text}: {_said(place, x)}." for text, place in marks.items())
    return f"{y.label} against {x.label}: {'; '.join(parts)}.{marked}"


def _point(curve: Curve, place: int, x: Axis, y: Axis) -> str:
    return f"{_said(curve.seconds[place], y)} at {_said(curve.x[place], x)}"


def _said(value: float, axis: Axis) -> str:
    """As the axis writes it: a whole number as it is, any other with three digits where that is shorter."""
    exact = axis.show(value)
    return exact if float(value).is_integer() else min(exact, axis.show(float(f"{value:.3g}")), key=len)


_NUMBERS_ENDS = (100, 100_000)  # of the axis of numbers


def draw_forms(
    forms: Mapping[str, Sequence[tuple[float, float]]], *, goal: float, origin: str = "measured", title: str = ""
) -> Picture:
    """A marker for each layer that was tried, (numbers, accuracy) by the name of its form, and a line at the goal.

    The axes run from 100 to 100,000 numbers and from 0% to 100%, so that pictures with more forms can be compared.

    Raises:
        ValueError: if there is no form.

    >>> draw_forms({"thin": [(496, 0.46), (2976, 0.97)]}, goal=0.96).alt
    'Accuracy against numbers of the weight, goal 96%: thin 46% with 496, 97% with 2,976. (measured)'
    """
    if not forms:
        raise ValueError("there must be a form to draw, got none")
    curves = []
    for name, tried in forms.items():
        curves.append(Curve(name, [n for n, _ in tried], [share for _, share in tried], origin))
    across = Axis("numbers of the weight", "{:,.0f}".format, log=True, ticks=[10**power for power in range(2, 6)])
    panel = lines_panel(curves, across, Axis("accuracy"), title=title)
    lines = {**panel.lines, f"goal: {goal:.0%}": Line(_NUMBERS_ENDS, [goal, goal], INK, (6, 3))}
    ends = axis(across.label, _NUMBERS_ENDS, log=True, at=across.ticks, show=across.show)
    panel = replace(
        panel, lines=lines, x=ends, y=axis("accuracy", [0, 1], at=[0, 0.25, 0.5, 0.75, 1], show="{:.0%}".format)
    )
    words = [", ".join(f"{share:.0%} with {n:,.0f}" for n, share in tried) for tried in forms.values()]
    told = "; ".join(f"{name} {each}" for name, each in zip(forms, words, strict=True))
    return picture_of([panel], alt=f"Accuracy against numbers of the weight, goal {goal:.0%}: {told}.")
