"""Formats of numbers as rows of bits: sign, exponent, mantissa."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.draw.schematics.blocks import block, empty
from course_lib.draw.style import COLORS, PAGE_IN, Picture, finish, new_picture, styled
from course_lib.precision import FORMATS, FloatFormat

__all__ = ["FIELD_COLORS", "draw_formats"]

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
