"""The Cannon explorer: which blocks of A and B meet at a step, and what has been added to C."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from course_lib.draw.colors import COLORS, ink_on
from course_lib.draw.panels import Bars, Sketch, Table, axis
from course_lib.draw.panels.drawing import FAINT, QUIET, Box, Boxes, Key, Shape, Text, text_width_px
from course_lib.draw.units import format_bytes, format_count
from course_lib.model_parallel import cannon_elements_sent
from course_lib.model_parallel.layouts import part_lengths
from course_lib.widgets.controls import scale, step_slider
from course_lib.widgets.settings import EVERY, SteppedExplorer, control

_RANKS = (1, 2, 3, 4, 6, 8, 9, 16, 32, 64)
_LENGTHS = [2**k for k in range(3, 15)]


@dataclass(frozen=True)
class CannonSetting:
    """C = A B on the largest square of `world_size` ranks: A is [rows, inner], B is [inner, columns]."""

    world_size: int = control(9, scale, "ranks", _RANKS, book=[4, 8, 9, 16, 64])
    rows: int = control(4096, scale, "rows of A", _LENGTHS)
    inner: int = control(4096, scale, "shared side", _LENGTHS)
    columns: int = control(4096, scale, "columns of B", _LENGTHS)
    step: int = control(0, step_slider, "step", book=EVERY)

    @property
    def side(self) -> int:
        """Ranks in a row of the square."""
        return math.isqrt(self.world_size)

    @property
    def held(self) -> dict[str, int]:
        """Numbers of each matrix that the rank with the largest blocks holds."""
        m, k, n = (math.ceil(whole / self.side) for whole in (self.rows, self.inner, self.columns))
        return {"A": m * k, "B": k * n, "C": m * n}

    @property
    def most_sent(self) -> int:
        """Numbers that the busiest rank sends in all."""
        return max(cannon_elements_sent(self.rows, self.inner, self.columns, self.side**2))


class Turn(NamedTuple):
    """Where the blocks are at a step. Step 0 is how they were cut; in step k all multiply for the kth time.

    Attributes:
        a, b: by row and column of the ranks, the block of A and B there, as (row, column) of its matrix.
        added: numbers of the blocks of the shared side whose products are in C there.
        sent: numbers that each rank has sent so far, by row and column.
    """

    step: int
    a: list[list[tuple[int, int]]]
    b: list[list[tuple[int, int]]]
    added: list[list[list[int]]]
    sent: list[list[int]]

    @property
    def side(self) -> int:
        """Ranks in a row."""
        return len(self.a)

    @property
    def meeting(self) -> int:
        """How many ranks have an A and a B that belong together."""
        pairs = ((a, b) for rows in zip(self.a, self.b, strict=True) for a, b in zip(*rows, strict=True))
        return sum(a[1] == b[0] for a, b in pairs)


def turn_of(setting: CannonSetting) -> Turn:
    """The blocks at the setting's step, on the largest square of its ranks."""
    side = setting.side
    step = min(setting.step, side)
    lengths = [part_lengths(whole, side) for whole in (setting.rows, setting.inner, setting.columns)]

    def added(row: int, column: int) -> list[int]:
        return [(row + column + before) % side for before in range(step)]

    def block(row: int, column: int, own: int) -> int:
        return added(row, column)[-1] if step else own

    def sent(row: int, column: int) -> int:
        rows, inner, columns = lengths
        a = [*([column] if row else []), *added(row, column)[:-1]] if step and side > 1 else []
        b = [*([row] if column else []), *added(row, column)[:-1]] if step and side > 1 else []
        return rows[row] * sum(inner[each] for each in a) + columns[column] * sum(inner[each] for each in b)

    places = range(side)
    return Turn(
        step=step,
        a=[[(row, block(row, column, column)) for column in places] for row in places],
        b=[[(block(row, column, row), column) for column in places] for row in places],
        added=[[added(row, column) for column in places] for row in places],
        sent=[[sent(row, column) for column in places] for row in places],
    )


# The pictures of the Cannon explorer: who has which block of A and B at a step, and what has been added to C.

_ELEMENT_BYTES = 4
# A color for each block of the side that A and B share; no square has more than eight.
_COLORS = (*(color for name, color in COLORS.items() if name != "gray"), "#667f1a")
_TOP, _HIGH = 20.0, 156.0
_WIDE = 0.3
_GAP_PX = 3.0


def describe_turn(turn: Turn) -> str:
    """The step in words."""
    side, ranks = turn.side, format_count(turn.side**2, "rank")
    if side == 1:
        return "One rank has nobody to turn with: it multiplies A and B."
    head = f"Step {turn.step} of {side}: "
    if not turn.step:
        return (
            head + f"blocks lie as they were cut, and only on {turn.meeting} of {ranks} an A and a B belong together."
        )
    moved = "all have turned by one" if turn.step > 1 else "row i of A has turned left by i, column j of B up by j"
    last = turn.side - 1, turn.side - 1
    a, b = (block[last[0]][last[1]] for block in (turn.a, turn.b))
    pair = f"rank {side**2 - 1} multiplies A {a[0]},{a[1]} and B {b[0]},{b[1]}"
    whole = "C is whole" if turn.step == side else f"C has {turn.step} of {side} products"
    return head + f"{moved}. On each of {ranks} they belong together ({pair}), and {whole}."


def _facts(setting: CannonSetting, turn: Turn) -> Table:
    so_far = _ELEMENT_BYTES * max(map(max, turn.sent))
    facts = {
        "grid": f"{turn.side} × {turn.side} ranks",
        "busiest has sent": f"{format_bytes(so_far)} of {format_bytes(_ELEMENT_BYTES * setting.most_sent)}",
        "a rank holds": format_bytes(_ELEMENT_BYTES * sum(setting.held.values())),
        "colors": "blocks of the side that A and B share",
    }
    return Table(facts, "computed")


def _grids(turn: Turn) -> Sketch:
    """A, B and C by rank; what belongs together has one color, and C has a stripe for each product that is in it."""
    high = _HIGH / turn.side
    shapes: list[Shape] = [Text(x, _TOP + _HIGH / 2, sign, color=FAINT) for x, sign in ((1 / 3, "×"), (2 / 3, "="))]
    for number, (name, blocks) in enumerate({"A": turn.a, "B": turn.b, "C": None}.items()):
        left = (2 * number + 1) / 6 - _WIDE / 2
        shapes.append(Text(left + _WIDE / 2, 8, name, bold=True))
        for row in range(turn.side):
            for column in range(turn.side):
                box = left + column * _WIDE / turn.side, _TOP + row * high, _WIDE / turn.side - 0.006, high - _GAP_PX
                shapes += _block(box, blocks[row][column], number) if blocks else _sum(box, turn, row, column)
    keys = [Key(f"block {number}", color) for number, color in enumerate(_COLORS[: turn.side])]
    return Sketch(
        title=f"Who has which block, step {turn.step} of {turn.side}",
        origin="computed",
        label=describe_turn(turn),
        wide=True,
        shapes=_together(shapes),
        height_px=_TOP + _HIGH + 4,
        keys=[*keys, Key("not yet added", QUIET)],
    )


def _block(box: Box, block: tuple[int, int], number: int) -> list[Shape]:
    """A block in the color of its place on the shared side: A's column, B's row."""
    color, text = _COLORS[block[1 - number]], f"{block[0]},{block[1]}"
    words = Text(
        box[0] + box[2] / 2, box[1] + box[3] / 2, text, color=ink_on(color), from_px=(text_width_px(text) + 4) / box[2]
    )
    return [Boxes([box], color), words]


def _sum(box: Box, turn: Turn, row: int, column: int) -> list[Shape]:
    """A sum that grows from the left."""
    wide = box[2] / turn.side
    stripes = [_COLORS[each] for each in turn.added[row][column]] + [QUIET] * (turn.side - turn.step)
    return [Boxes([(box[0] + number * wide, box[1], wide, box[3])], color) for number, color in enumerate(stripes)]


def _together(shapes: list[Shape]) -> list[Shape]:
    """The boxes of each color as one shape, under the words."""
    boxes = [shape for shape in shapes if isinstance(shape, Boxes)]
    fills = {
        color: [box for each in boxes if each.color == color for box in each.where]
        for color in dict.fromkeys(each.color for each in boxes)
    }
    return [*(Boxes(where, color) for color, where in fills.items()), *(s for s in shapes if isinstance(s, Text))]


def _sent(setting: CannonSetting, turn: Turn) -> Bars:
    sent = {"so far": max(map(max, turn.sent)), "in all": setting.most_sent}
    bars = {name: {"sent": float(_ELEMENT_BYTES * count)} for name, count in sent.items()}
    return _bars("The busiest rank sends", bars)


def _held(setting: CannonSetting) -> Bars:
    a, b, c = setting.held.values()
    held = {"Cannon": (a, b, c), "its whole row and column": (setting.side * a, setting.side * b, c)}
    bars = {
        name: {part: float(_ELEMENT_BYTES * count) for part, count in zip("ABC", each, strict=True)}
        for name, each in held.items()
    }
    return _bars("A rank holds", bars)


def _bars(title: str, bars: dict[str, dict[str, float]]) -> Bars:
    sizes = {name: sum(parts.values()) for name, parts in bars.items()}
    return Bars(
        title=title,
        origin="computed",
        label="; ".join(f"{name}: {format_bytes(size)}" for name, size in sizes.items()),
        bars=bars,
        axis=axis("bytes", sizes.values(), "B"),
        show=format_bytes,
    )


class CannonExplorer(SteppedExplorer):
    """C = A B on a square of ranks by Cannon's algorithm, step by step: which blocks meet, and what has been added."""

    Setting = CannonSetting

    @staticmethod
    def pictures(setting: CannonSetting) -> list[str | Table | Sketch | Bars]:
        """All that is shown of a setting."""
        turn, ranks = turn_of(setting), setting.world_size
        square = [] if turn.side**2 == ranks else [f"{turn.side**2} of {ranks} ranks stand in a square."]
        return [*square, describe_turn(turn), _facts(setting, turn), _grids(turn), _sent(setting, turn), _held(setting)]

    def steps(self, setting: CannonSetting) -> int:
        """A product for each rank of a row of the square."""
        return setting.side
