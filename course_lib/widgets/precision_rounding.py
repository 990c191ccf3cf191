"""A number that is rounded, played: its bits, what is kept and cut, the nearer neighbor, or of two the even one."""

from __future__ import annotations

from typing import NamedTuple

from course_lib.draw.chapters.precision import FIELD_COLORS
from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Cell, Matrix, Sketch, Table
from course_lib.draw.panels.drawing import FAINT, INK, Boxes, Key, Polyline, Ring, Shape, Text, text_at
from course_lib.precision import FloatFormat

STEPS = 4
VALUES = {"0.1": 0.1, "1/3": 1 / 3, "1 + 1/16": 1 + 1 / 16, "1 + 2⁻¹¹": 1 + 2**-11, "1 + 3 · 2⁻¹¹": 1 + 3 * 2**-11}
VALUES |= {"257": 257.0, "2⁻¹⁰": 2**-10}
_CUT_BITS = 12
_CUT = COLORS["purple"]


class Rounding(NamedTuple):
    """A positive number between its neighbors in a format.

    Attributes:
        below, above: the neighbors; their codes are `code` and the next one.
        rest: how far the number lies from the one below to the one above, from 0 to less than 1.
        result: the code of the number that it becomes.
    """

    value: float
    below: float
    above: float
    code: int
    rest: float
    result: int

    @property
    def why(self) -> str:
        """Which neighbor, and why."""
        if self.rest == 0:
            return "nothing is cut: it is a number of the format"
        if self.rest == 0.5:
            return f"half a spacing is cut, a tie: the even one, whose last bit is 0, is {self._side}"
        return f"{'more' if self.rest > 0.5 else 'less'} than half a spacing is cut: nearer is the one {self._side}"

    @property
    def _side(self) -> str:
        return "below" if self.result == self.code else "above"

    def cut_bits(self) -> str:
        """The first bits that are cut."""
        return f"{int(self.rest * 2**_CUT_BITS):0{_CUT_BITS}b}"


def rounding_of(number_format: FloatFormat, value: float) -> Rounding:
    """A positive number that is no larger than the format's largest, and what it becomes."""
    spacing = number_format.spacing(value).item()
    below = value // spacing * spacing
    code = int(number_format.encode(below))
    above = number_format.decode(code + 1).item()
    return Rounding(value, below, above, code, (value - below) / spacing, int(number_format.encode(value)))


def rounding_pictures(number_format: FloatFormat, name: str, step: int) -> list[str | Table | Matrix | Sketch]:
    """All that is shown of a number that is rounded."""
    rounding = rounding_of(number_format, VALUES[name])
    words = describe_rounding(number_format, name, step)
    return [words, _facts(number_format, rounding), _bits(number_format, name, step), _line(rounding, words, step)]


def describe_rounding(number_format: FloatFormat, name: str, step: int) -> str:
    """The step in words."""
    r = rounding_of(number_format, VALUES[name])
    said = (
        f"{name} in binary, to be rounded to {number_format.name}",
        f"{number_format.name} keeps {number_format.mantissa_bits} bits of the mantissa: {r.below:.10g} is below",
        f"what is cut is {r.rest:.4g} of the spacing, {r.above - r.below:.4g}; {r.above:.10g} is above",
        r.why,
        f"{name} becomes {number_format.decode(r.result).item():.10g}",
    )
    return f"Step {step} of {STEPS}: {said[step]}."


def _facts(number_format: FloatFormat, rounding: Rounding) -> Table:
    result = number_format.decode(rounding.result).item()
    facts = {
        "exact": f"{rounding.value:.12g}",
        "below": f"{rounding.below:.10g}",
        "above": f"{rounding.above:.10g}",
        "rounded": f"{result:.10g}",
        "relative error": f"{abs(result - rounding.value) / rounding.value:.2g}",
    }
    return Table(facts, "computed")


def _bits(number_format: FloatFormat, name: str, step: int) -> Matrix:
    """The number's bits, those of its neighbors and of the result, as far as they are known at the step."""
    rounding = rounding_of(number_format, VALUES[name])
    fields = ["sign"] + ["exponent"] * number_format.exponent_bits + ["mantissa"] * number_format.mantissa_bits
    rows = {"exact": (rounding.code, 0), "below": (rounding.code, 1), "above": (rounding.code + 1, 2)}
    rows["rounded"] = (rounding.result, STEPS)
    cells = []
    for row, (code, known_from) in rows.items():
        bits = f"{code:0{number_format.bits}b}" if step >= known_from else ""
        kept = [Cell(FIELD_COLORS[field], bit) for field, bit in zip(fields, bits, strict=False)]
        cut = [Cell(_CUT if step >= 1 else FIELD_COLORS["mantissa"], bit) for bit in rounding.cut_bits()]
        kept += [Cell("paper")] * (len(fields) - len(kept))
        last = kept[-1]._replace(now=bool(bits) and step >= 3 and rounding.rest == 0.5 and row in ("below", "above"))
        cells.append([*kept[:-1], last, *(cut if row == "exact" else [Cell("paper")] * _CUT_BITS)])
    return Matrix(
        title=f"{name}, rounded to {number_format.name}",
        origin="computed",
        label=f"kept {rounding.code:0{number_format.bits}b}, cut {rounding.cut_bits()}…",
        wide=True,
        cells=cells,
        row_names=list(rows),
        column_names=[str(bit + 1) for bit in range(len(fields) + _CUT_BITS)],
        across="bit",
        outline=INK,
        keys=[*(Key(field, color) for field, color in FIELD_COLORS.items()), Key("cut", _CUT)],
    )


def _line(rounding: Rounding, words: str, step: int) -> Sketch:
    """The number between its neighbors, and the middle, where a tie lies."""
    shapes: list[Shape] = [Polyline([(0, 40), (1, 40)], FAINT, width_px=1)]
    shapes += [Polyline([(place, 32), (place, 48)], INK) for place in (0.0, 1.0)]
    shapes.append(Text(0, 62, f"{rounding.below:.7g}", "start"))
    shapes.append(Text(1, 62, f"{rounding.above:.7g}", "end"))
    if step >= 2:
        shapes.append(Boxes([(0.0, 37.0, rounding.rest, 6.0)], _CUT))
        shapes += [Polyline([(0.5, 28), (0.5, 52)], FAINT, (4, 3)), Text(0.5, 62, "half", color=FAINT)]
    shapes.append(Ring(rounding.rest, 40))
    if step >= 3:
        place = float(rounding.result != rounding.code)
        shapes.append(text_at(place, 14, "▼ rounded", 4.0, free_px=4.0))
    return Sketch(
        title="Between its neighbors", origin="computed", label=words, wide=True, shapes=shapes, height_px=74.0
    )
