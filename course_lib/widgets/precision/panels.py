"""The pictures of the precision explorer: bits, spacing by magnitude, gradients by exponent, what is kept by scale."""

from __future__ import annotations

import math
from functools import cache

from course_lib.draw.panels import Axis, Bars, Cell, Line, Lines, Matrix, Sketch, Table, axis
from course_lib.draw.panels.drawing import Key
from course_lib.draw.precision import FIELD_COLORS
from course_lib.draw.style import COLORS
from course_lib.precision import FloatFormat
from course_lib.widgets.precision.model import CLICKABLE, PrecisionSetting, neighbors
from course_lib.widgets.precision.rounds import rounding_pictures

__all__ = ["SCALES", "describe_precision", "pictures"]

SCALES = tuple(2.0**k for k in range(-8, 33))
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOW, _HIGH = -44, 20  # exponents of the histogram
_MAGNITUDES = [2.0**k for k in range(-30, 20)]
_COLORS = (COLORS["blue"], COLORS["orange"], COLORS["green"], COLORS["vermillion"])
_FATES = {
    "lost": COLORS["vermillion"],
    "subnormal": COLORS["orange"],
    "normal": COLORS["blue"],
    "overflow": COLORS["black"],
}


def pictures(setting: PrecisionSetting) -> list[str | Table | Matrix | Lines | Bars | Sketch]:
    """All that is shown of a setting."""
    if setting.rounded:
        return [*rounding_pictures(setting.number_format, setting.rounded, setting.step)]
    return [
        describe_precision(setting),
        _facts(setting),
        _bits(setting),
        _spacing(setting),
        _histogram(setting),
        _survival(setting),
    ]


def describe_precision(setting: PrecisionSetting) -> str:
    """The setting in words."""
    kept = setting.fates
    below, above = neighbors(setting.number_format, setting.value)
    return (
        f"These bits are {_number(setting.value)} in {setting.number_format.name}, between {_number(below)} and "
        f"{_number(above)}. Of the gradients times {_power(setting.scale)}, {_share(kept.lost)} are lost, "
        f"{_share(kept.subnormal + kept.normal)} are kept, {_share(kept.overflow)} overflow."
    )


def _facts(setting: PrecisionSetting) -> Table:
    number_format = setting.number_format
    sign, exponent, mantissa = (int(field) for field in number_format.fields(int(setting.bits, 2)))
    kind = "subnormal" if exponent == 0 and mantissa else "zero" if exponent == 0 else "normal"
    below, above = neighbors(number_format, setting.value)
    facts = {
        "value": _number(setting.value),
        "kind": kind if math.isfinite(setting.value) else "no finite number",
        "exponent": f"{exponent} − {number_format.bias}",
        "next below": _number(below),
        "next above": _number(above),
        "largest": _number(number_format.largest),
        "smallest": _number(number_format.smallest_subnormal),
    }
    return Table({"sign": "−" if sign else "+"} | facts, "computed")


def _bits(setting: PrecisionSetting) -> Matrix:
    number_format = setting.number_format
    fields = ["sign"] + ["exponent"] * number_format.exponent_bits + ["mantissa"] * number_format.mantissa_bits
    cells = [Cell(FIELD_COLORS[field], bit) for field, bit in zip(fields, setting.bits, strict=True)]
    cut = 1 + number_format.exponent_bits
    return Matrix(
        title=f"The bits, read as {number_format.name}",
        origin="computed",
        label=f"sign {setting.bits[0]}, exponent {setting.bits[1:cut]}, mantissa {setting.bits[cut:]}",
        cells=[cells],
        row_names=[number_format.name],
        column_names=[str(number_format.bits - 1 - place) for place in range(number_format.bits)],
        across="bit",
        keys=[Key(field, color) for field, color in FIELD_COLORS.items()],
    )


def _spacing(setting: PrecisionSetting) -> Lines:
    value = abs(setting.value)
    shown = math.isfinite(value) and _MAGNITUDES[0] <= value <= _MAGNITUDES[-1]
    here = (value, setting.number_format.spacing(value).item()) if shown else None
    return Lines(
        title="How far apart numbers are, by magnitude",
        origin="computed",
        label=f"spacing at {_number(value)}: {_number(here[1]) if here else 'beyond the picture'}",
        lines=_spacing_lines(),
        x=_powers("magnitude", -30, 19, 8),
        y=_powers("spacing", -36, 16, 8),
        here=here,
    )


@cache
def _spacing_lines() -> dict[str, Line]:
    lines = {}
    for (name, number_format), color in zip(CLICKABLE.items(), _COLORS, strict=True):
        inside = [x for x in _MAGNITUDES if x <= number_format.largest]
        lines[name] = Line(inside, number_format.spacing(inside).tolist(), color)
    return lines


def _histogram(setting: PrecisionSetting) -> Bars:
    """Each column is a power of two; its color says what the format makes of it."""
    shift = round(math.log2(setting.scale))
    shares = setting.gradients.by_exponent(_LOW - shift, _HIGH - shift)
    bars = {
        _power(2.0 ** (exponent + shift)): {_fate(setting.number_format, exponent + shift): share}
        for exponent, share in shares.items()
    }
    most = max(max(share for part in bars.values() for share in part.values()), 0.01)
    kept = setting.fates
    return Bars(
        title=f"Gradients times {_power(setting.scale)}",
        origin="measured",
        label=f"{setting.network}: {_share(kept.zero)} are 0, {_share(kept.lost)} lost, {_share(kept.subnormal)} "
        f"subnormal, {_share(kept.normal)} normal, {_share(kept.overflow)} overflow",
        bars=bars,
        axis=axis("share of those that are not 0", [0], "%", high=1.1 * most),
        upright=True,
        names="magnitude",
        colors=_FATES,
    )


def _survival(setting: PrecisionSetting) -> Lines:
    fates, now = setting.gradients.fates(setting.number_format, SCALES), setting.fates
    return Lines(
        title="What is kept, by loss scale",
        origin="measured",
        label=f"at {_power(setting.scale)}: {_share(now.subnormal + now.normal)} kept",
        lines={
            "kept": Line(SCALES, [min(each.subnormal + each.normal, 1.0) for each in fates], _FATES["normal"]),
            "with all bits": Line(SCALES, [each.normal for each in fates], _FATES["normal"], (4, 3)),
            "lost": Line(SCALES, [each.lost for each in fates], _FATES["lost"]),
            "overflow": Line(SCALES, [each.overflow for each in fates], _FATES["overflow"]),
        },
        x=_powers("loss scale", -8, 32, 8),
        y=axis("share of the gradients", [0], "%", high=1.0),
        here=(setting.scale, now.subnormal + now.normal),
    )


def _share(share: float) -> str:
    """In percent; none and all are said only where they are exact.

    >>> _share(0), _share(1e-6), _share(0.33), _share(1 - 1e-6), _share(1)
    ('0%', 'under 0.1%', '33.0%', 'over 99.9%', '100%')
    """
    if share <= 0 or share > 1 - 1e-7:
        return f"{share:.0%}"
    return "under 0.1%" if share < 0.0005 else "over 99.9%" if share > 0.9995 else f"{share:.1%}"


def _fate(number_format: FloatFormat, exponent: int) -> str:
    """What becomes of numbers between 2^exponent and twice that."""
    if 2.0**exponent < number_format.smallest_subnormal / 2:
        return "lost"
    if 2.0**exponent < number_format.smallest_normal:
        return "subnormal"
    return "normal" if 2.0**exponent <= number_format.largest else "overflow"


def _powers(name: str, low: int, high: int, step: int) -> Axis:
    ticks = {2.0**k: _power(2.0**k) for k in range(-96, 96) if low <= k <= high and k % step == 0}
    return Axis(name, 2.0**low, 2.0**high, ticks, log=True)


def _power(scale: float) -> str:
    return "2" + str(round(math.log2(scale))).translate(_RAISED)


def _number(value: float) -> str:
    """A number so that it can be told from its neighbors."""
    return f"{value:.6g}".replace("inf", "∞").replace("nan", "not a number").replace("-", "−")
