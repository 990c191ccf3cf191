"""The pictures of chapter 08: formats, gradients beside them, steps that recipes need, the roofline."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from course_lib.draw.bar_charts import goal_bars, goal_color
from course_lib.draw.colors import COLORS, GROUNDS, INK
from course_lib.draw.line_charts import PAGE_PX, Axis, scaled
from course_lib.draw.panels import Line, Lines, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import PAGE_IN, Picture, block, empty, finish, new_picture, put_title, styled
from course_lib.draw.units import power_of
from course_lib.precision import FORMATS, FP16, FloatFormat, Roofline

FIELD_COLORS = {"sign": COLORS["vermillion"], "exponent": COLORS["sky"], "mantissa": COLORS["green"]}
_CELL = 0.26


@styled
def draw_formats(formats: Sequence[FloatFormat] = FORMATS, *, title: str = "") -> Picture:
    """One row a format, one box a bit, each in the color of its field."""
    widest = max(each.bits for each in formats)
    picture, axes = new_picture(PAGE_IN, 0.55 + 0.4 * len(formats) + (0.25 if title else 0.0))
    put_title(picture, title)
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


ZONE_COLORS = {
    "lost": GROUNDS["red"],
    "subnormal": GROUNDS["orange"],
    "normal": "none",
    "overflow": GROUNDS["nothing"],
}


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
    low = max(min(min(row) for row in counts.values()) - 1, -60)
    high = max(max(max(row) for row in counts.values()) + 2, 2)
    exponents = range(low, high)
    edges = [edge for exponent in exponents for edge in (exponent, exponent + 1)]
    lines = {
        name: Line(edges, [row.get(each, 0) / sum(row.values()) for each in exponents for _ in range(2)])
        for name, row in counts.items()
    }
    panel = Lines(
        title=title,
        origin=origin,
        wide=True,
        lines=lines,
        x=axis(
            "magnitude of the gradient",
            [],
            low=low,
            high=high,
            at=range(-56, 20, 8),
            show=lambda exponent: power_of(2, int(exponent)),
        ),
        y=axis("share of those that are not 0", [share for line in lines.values() for share in line.y], "%"),
        zones={name: (*ends, ZONE_COLORS[name]) for name, ends in zones_of(number_format).items()},
        height_px=PAGE_PX,
    )
    return picture_of([panel], alt=_describe(counts, number_format), note=note)


def zones_of(number_format: FloatFormat) -> dict[str, tuple[float, float]]:
    """Between which powers of two a number is lost (it becomes 0), subnormal, normal, or overflows.

    >>> zones_of(FP16)
    {'lost': (-inf, -25.0), 'subnormal': (-25.0, -14.0), 'normal': (-14.0, 16.0), 'overflow': (16.0, inf)}
    """
    edges = [
        -math.inf,
        math.log2(number_format.smallest_subnormal) - 1,
        math.log2(number_format.smallest_normal),
        float(math.floor(math.log2(number_format.largest)) + 1),
        math.inf,
    ]
    return dict(zip(ZONE_COLORS, itertools.pairwise(edges), strict=True))


def _describe(counts: Mapping[str, Mapping[int, int]], number_format: FloatFormat) -> str:
    zones = zones_of(number_format)
    parts = []
    for name, row in counts.items():
        total = sum(row.values())
        inside = {z: sum(n for e, n in row.items() if a <= e < b) / total for z, (a, b) in zones.items()}
        parts.append(f"{name}: " + ", ".join(f"{share:.0%} {zone}" for zone, share in inside.items() if share))
    return f"Gradients by exponent, over the zones of {number_format.name}. {'; '.join(parts)}."


def draw_steps_needed(
    steps: Mapping[str, int | None], *, goal: int, most: int, origin: str = "measured", title: str = ""
) -> Picture:
    """A bar for each recipe by name, with the steps that it needs, and a dashed line at `goal`, the steps of fp32.

    Args:
        steps: None where a run is not there after `most` steps; its bar fills the axis.

    A bar that reaches the goal is green, one that never does vermillion. The axis always ends at `most`, so that
    pictures with more bars can be compared.

    Raises:
        ValueError: if there is no bar.

    >>> draw_steps_needed({".half()": None, "scaled": 156}, goal=156, most=450).alt
    'Steps to the loss, fp32 needs 156: .half() not in 450, scaled 156. (measured)'
    """
    said = {name: f"{count:,}" if count is not None else f"not in {most:,}" for name, count in steps.items()}
    lengths = {name: most if count is None else count for name, count in steps.items()}
    words: dict[float, str] = dict(zip(lengths.values(), said.values(), strict=True))
    never = COLORS["vermillion"]
    panel = goal_bars(
        lengths,
        "a recipe",
        along=axis("steps", [most], most=9),
        limit=(f"fp32: {goal:,}", goal),
        colors={name: never if count is None else goal_color(count <= goal) for name, count in steps.items()},
        show=words.__getitem__,
        title=title or "Steps that each recipe needs",
        origin=origin,
    )
    told = ", ".join(f"{name} {each}" for name, each in said.items())
    return picture_of([panel], alt=f"Steps to the loss, fp32 needs {goal:,}: {told}.")


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
    intensities = [intensity for intensity, _ in operations.values()]
    below = sum(intensity < roofline.ridge for intensity in intensities)
    ends = [min(*intensities, roofline.ridge) / 2, roofline.ridge, max(*intensities, roofline.ridge) * 2]
    roof = Line(ends, [roofline.attainable_flops_per_s(x) / 1e9 for x in ends], INK)
    points = {name: Line([x], [flops_per_s / 1e9], drawn="dots") for name, (x, flops_per_s) in operations.items()}
    panel = Lines(
        title=f"{below} of {len(operations)} operations lie below the ridge: their bytes limit them",
        origin=origin,
        wide=True,
        lines={"roof": roof, **points},
        x=scaled(Axis("flops for each byte", log=True), ends),
        y=scaled(Axis("GFLOP/s", log=True), [*roof.y, *(point.y[0] for point in points.values())]),
        flags={f"ridge: {roofline.ridge:.1f} flops/byte": roofline.ridge},
        height_px=PAGE_PX,
        grid="xy",
    )
    return picture_of([panel], alt=_describe_roofline(roofline, operations), note=note)


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
