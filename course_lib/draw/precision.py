"""The pictures of chapter 08: formats, gradients beside them, the roofline."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from course_lib.draw.schematics.blocks import block, empty
from course_lib.draw.style import COLORS, INK, MUTED, PAGE_IN, Picture, finish, looks_of, new_picture, styled
from course_lib.precision import FORMATS, FP16, FloatFormat, Roofline

__all__ = [
    "FIELD_COLORS",
    "ZONE_COLORS",
    "draw_formats",
    "draw_gradients",
    "draw_roofline",
    "zones_of",
]

FIELD_COLORS = {"sign": COLORS["vermillion"], "exponent": COLORS["sky"], "mantissa": COLORS["green"]}
_CELL = 0.26


@styled
def draw_formats(formats: Sequence[FloatFormat] = FORMATS) -> Picture:
    """One row a format, one box a bit, each in the color of its field."""
    widest = max(each.bits for each in formats)
    picture, axes = new_picture(PAGE_IN, 0.55 + 0.4 * len(formats))
    empty(axes, 1.6 + _CELL * widest, 0.4 * len(formats) + 0.45)
    words = []
    for row, each in enumerate(formats):
        y = 0.4 * (len(formats) - 1 - row) + 0.05
        axes.text(1.35, y + _CELL / 2, each.name, ha="right", va="center")
        fields = ["sign"] + ["exponent"] * each.exponent_bits + ["mantissa"] * each.mantissa_bits
        for place, field in enumerate(fields):
            block(axes, 1.5 + _CELL * place, y, _CELL, _CELL, FIELD_COLORS[field])
        words.append(f"{each.name}: 1 sign, {each.exponent_bits} exponent, {each.mantissa_bits} mantissa")
    for place, (field, color) in enumerate(FIELD_COLORS.items()):
        block(axes, 1.5 + 2.2 * place, 0.4 * len(formats) + 0.12, _CELL, _CELL, color)
        axes.text(1.85 + 2.2 * place, 0.4 * len(formats) + 0.12 + _CELL / 2, field, va="center")
    return finish(picture, origin="schematic", alt=f"Bits of formats. {'; '.join(words)}.")


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


@styled
def draw_roofline(
    roofline: Roofline, operations: Mapping[str, tuple[float, float]], *, origin: str = "measured", note: str = ""
) -> Picture:
    """The roof as a line, and below it each operation as a point.

    Args:
        operations: by name: flops for each byte, and flops per second.

    Raises:
        ValueError: if there is no operation.
    """
    if not operations:
        raise ValueError("there must be an operation to draw, got none")
    picture, axes = new_picture(7.4, 4.2)
    intensities = [intensity for intensity, _ in operations.values()]
    ends = [min(*intensities, roofline.ridge) / 2, roofline.ridge, max(*intensities, roofline.ridge) * 2]
    axes.plot(ends, [roofline.attainable_flops_per_s(x) / 1e9 for x in ends], color=INK, linewidth=1.8)
    axes.axvline(roofline.ridge, color=MUTED, linestyle=":", linewidth=1.2)
    axes.text(
        0.93 * roofline.ridge, 0.03, f"ridge: {roofline.ridge:.1f} flops/byte ", transform=axes.get_xaxis_transform(),
        rotation=90, ha="right", va="bottom", fontsize=9,
    )  # fmt: skip
    looks = looks_of(operations)
    for name, (intensity, flops_per_s) in operations.items():
        look = looks[name]
        axes.plot([intensity], [flops_per_s / 1e9], look.marker, color=look.color, markersize=8, label=name)
    for axis, scale, label in (
        (axes.xaxis, axes.set_xscale, "flops for each byte"),
        (axes.yaxis, axes.set_yscale, "GFLOP/s"),
    ):
        scale("log")
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_label_text(label)
    axes.grid()
    axes.set_title("The roofline of this machine")
    picture.legend(loc="outside right upper")
    return finish(picture, origin=origin, alt=_describe_roofline(roofline, operations), note=note)


def _describe_roofline(roofline: Roofline, operations: Mapping[str, tuple[float, float]]) -> str:
    points = [
        f"{name}: {speed / 1e9:.3g} GFLOP/s at {intensity:.3g} flops/byte, "
        f"{speed / roofline.attainable_flops_per_s(intensity):.0%} of the roof"
        for name, (intensity, speed) in operations.items()
    ]
    return (
        f"A roof of {roofline.flops_per_s / 1e9:.3g} GFLOP/s and {roofline.bytes_per_s / 1e9:.3g} GB/s, "
        f"ridge at {roofline.ridge:.3g} flops/byte. {'; '.join(points)}."
    )
