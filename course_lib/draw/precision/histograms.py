"""Gradients by their exponent, and what becomes of them in a format."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from matplotlib.axes import Axes

from course_lib.draw.style import INK, Picture, finish, looks_of, new_picture, styled
from course_lib.precision import FP16, FloatFormat

__all__ = ["ZONE_COLORS", "draw_gradients", "zones_of"]

ZONE_COLORS = {"becomes 0": "#f6d5c3", "subnormal": "#fdf3c0", "normal": "#ffffff", "infinite": "#f6d5c3"}


@styled
def draw_gradients(
    counts: Mapping[str, Mapping[int, int]],
    number_format: FloatFormat = FP16,
    *,
    origin: str = "measured",
    title: str = "",
    note: str = "",
) -> Picture:
    """Shares of numbers that are not zero, by exponent, over the format's zones.

    Args:
        counts: name -> {exponent: how many numbers lie between 2^exponent and twice that}; see `exponent_counts`.
    """
    picture, axes = new_picture(7.4, 3.6)
    low = min(min(row) for row in counts.values()) - 1
    high = max(max(row) for row in counts.values()) + 2
    low, high = max(low, -60), max(high, 2)
    _zones(axes, number_format, low, high)
    looks = looks_of(counts)
    for name, row in counts.items():
        total, exponents = sum(row.values()), range(low, high)
        shares = [100 * row.get(exponent, 0) / total for exponent in exponents]
        axes.stairs(shares, [*exponents, high], color=looks[name].color, linestyle=looks[name].dash, lw=2, label=name)
    axes.set_xlim(low, high)
    ticks = [tick for tick in range(-60, 20, 8) if low <= tick <= high]
    axes.set_xticks(ticks, [f"$2^{{{tick}}}$" for tick in ticks])
    axes.set(xlabel="magnitude of the gradient", ylabel="share of those that are not 0 (%)", title=title)
    if len(counts) > 1:
        picture.legend(loc="outside right upper", handlelength=2.6)
    return finish(picture, origin=origin, alt=_describe(counts, number_format), note=note)


def zones_of(number_format: FloatFormat) -> dict[str, tuple[float, float]]:
    """Between which powers of two a number becomes 0, subnormal, normal or infinite.

    >>> zones_of(FP16)
    {'becomes 0': (-inf, -25.0), 'subnormal': (-25.0, -14.0), 'normal': (-14.0, 16.0), 'infinite': (16.0, inf)}
    """
    edges = [
        -math.inf,
        math.log2(number_format.smallest_subnormal) - 1,
        math.log2(number_format.smallest_normal),
        float(math.floor(math.log2(number_format.largest)) + 1),
        math.inf,
    ]
    return dict(zip(ZONE_COLORS, itertools.pairwise(edges), strict=True))


def _zones(axes: Axes, number_format: FloatFormat, low: int, high: int) -> None:
    for name, (left, right) in zones_of(number_format).items():
        left, right = max(left, low), min(right, high)
        if left < right:
            axes.axvspan(left, right, color=ZONE_COLORS[name], zorder=0)
            axes.axvline(left, color="#8a8a8a", linewidth=0.6, zorder=1)
        if right - left > 6:
            axes.text(
                (left + right) / 2, 0.98, name, transform=axes.get_xaxis_transform(), ha="center", va="top", color=INK
            )


def _describe(counts: Mapping[str, Mapping[int, int]], number_format: FloatFormat) -> str:
    zones = zones_of(number_format)
    parts = []
    for name, row in counts.items():
        total = sum(row.values())
        inside = {z: sum(n for e, n in row.items() if a <= e < b) / total for z, (a, b) in zones.items()}
        parts.append(f"{name}: " + ", ".join(f"{share:.0%} {zone}" for zone, share in inside.items() if share))
    return f"Gradients by exponent, over the zones of {number_format.name}. {'; '.join(parts)}."
