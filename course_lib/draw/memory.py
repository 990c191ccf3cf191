"""Stacked bars of what fills a device's memory, against what devices have."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from course_lib.draw.style import INK, Picture, fill_of, finish, new_picture, styled
from course_lib.draw.units import byte_unit, format_bytes

__all__ = ["describe_memory_bars", "draw_memory_bars"]


@styled
def draw_memory_bars(
    bars: Mapping[str, Mapping[str, float]],
    *,
    limits: Mapping[str, float] | None = None,
    origin: str = "computed",
    title: str = "",
    note: str = "",
) -> Picture:
    """One horizontal bar a name, stacked from parts in bytes; a dashed line for each limit.

    Args:
        bars: name -> part -> bytes, for example {"1 B, fp32": {"parameters": 4e9, "gradients": 4e9, "Adam": 8e9}}.
        limits: name of a device -> its memory in bytes.
    """
    limits = dict(limits or {})
    longest = max([sum(parts.values()) for parts in bars.values()] + list(limits.values()))
    scale, unit = byte_unit(longest)
    parts = list(dict.fromkeys(part for bar in bars.values() for part in bar))
    picture, axes = new_picture(7.4, 0.95 + 0.3 * (len(parts) > 1) + 0.42 * len(bars))
    left = [0.0] * len(bars)
    for number, part in enumerate(parts):
        widths = [bar.get(part, 0.0) / scale for bar in bars.values()]
        fill = fill_of(part, number)
        look = {"color": fill.color, "hatch": fill.hatch, "edgecolor": "white"}
        axes.barh(range(len(bars)), widths, 0.62, left=left, label=part, **look)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    for row, total in enumerate(left):
        axes.text(total, row, f" {format_bytes(total * scale)}", va="center", fontsize=9)
    axes.set_yticks(range(len(bars)), list(bars))
    axes.set_ylim(len(bars) - 0.5, -0.5 - 0.62 * bool(limits))
    axes.set_xlim(0, longest / scale * 1.16)
    _draw_limits(axes, {name: count / scale for name, count in limits.items()})
    axes.set_xlabel(f"memory ({unit})")
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.set_title(title or "Memory")
    if len(parts) > 1:
        picture.legend(loc="outside upper right", ncols=4, handlelength=1.2, columnspacing=1.2)
    return finish(picture, origin=origin, alt=describe_memory_bars(bars, limits), note=note)


def describe_memory_bars(bars: Mapping[str, Mapping[str, float]], limits: Mapping[str, float] | None = None) -> str:
    """The bars in words."""
    words = []
    for name, parts in bars.items():
        inside = ", ".join(f"{part} {format_bytes(count)}" for part, count in parts.items())
        words.append(f"{name}: {format_bytes(sum(parts.values()))} ({inside})")
    for name, count in (limits or {}).items():
        over = [bar for bar, parts in bars.items() if sum(parts.values()) > count]
        words.append(
            f"{name} has {format_bytes(count)}, " + (f"too little for {', '.join(over)}" if over else "enough for all")
        )
    return "Bars of memory. " + "; ".join(words) + "."


def _draw_limits(axes: Axes, limits: Mapping[str, float]) -> None:
    for name, place in limits.items():
        axes.axvline(place, color=INK, linewidth=1.2, dashes=(4, 2))
        axes.text(place, -0.55, f"{name} ", ha="right", va="bottom", fontsize=9, color=INK)
