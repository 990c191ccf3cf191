"""The ranks of a mesh as a grid: a block for each copy of the model, in it stages across and tensor ranks down.

A copy is a data rank's, or of several context ranks one's: they have the same part of the model, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from course_lib.draw.colors import COLORS, ink_on
from course_lib.draw.panels import Sketch
from course_lib.draw.panels.drawing import FAINT, INK, PAPER, QUIET, Box, Boxes, Key, Shape, Text, text_width_px
from course_lib.draw.units import format_count
from course_lib.mesh import Coordinates, Mesh
from course_lib.mesh.coordinates import At

_GROUPS = {
    "this rank": COLORS["vermillion"],
    "its tensor group": COLORS["blue"],
    "its pipeline group": COLORS["orange"],
    "its data group": COLORS["green"],
    "its context group": COLORS["purple"],
}
_MAX_LINES, _MAX_COLUMNS = 3, 64
_HIGH_PX = 192.0  # of all rows together
_LEAST_PX, _MOST_PX = 5.0, 16.0  # of a row
_READ_PX = 12.0  # of a row that has room for numbers
_MAX_NAMED = 8  # stages: with more there is no room for numbers
_NAME_PX = 18.0
_GAP = 0.012  # between copies, of the width


class _Layout(NamedTuple):
    """Where copies lie: `abreast` in a line, those from `first` to before `stop`; a row is `row_px` high."""

    mesh: Mesh
    abreast: int
    first: int
    stop: int
    row_px: float

    @property
    def lines(self) -> int:
        return -(-(self.stop - self.first) // self.abreast)

    @property
    def line_px(self) -> float:
        """The height of a line of copies with their names."""
        return _NAME_PX + self.mesh.tensor * self.row_px

    @property
    def wide(self) -> float:
        """Of a stage."""
        return (1 / self.abreast - _GAP) / self.mesh.pipeline

    @property
    def copies(self) -> range:
        """Those that are shown."""
        return range(self.first, self.stop)

    def copy(self, at: At) -> int:
        """The number of a rank's copy."""
        return at.data * self.mesh.context + at.context

    def box(self, at: At) -> Box:
        """A rank's."""
        return self.block(self.copy(at), at.pipeline, at.tensor)

    def block(self, copy: int, stage: int, tensor: int = 0) -> Box:
        """The same, by numbers."""
        line, place = divmod(copy - self.first, self.abreast)
        top = line * self.line_px + _NAME_PX + tensor * self.row_px
        return place / self.abreast + stage * self.wide, top, self.wide, self.row_px


def grid_panel(mesh: Mesh, rank: int, label: str) -> Sketch:
    """Every rank, or of many copies those around this rank's; its groups in colors."""
    at, layout = mesh.coordinates(rank), _layout(mesh, rank)
    stages = [layout.block(copy, stage) for copy in layout.copies for stage in range(mesh.pipeline)]
    columns = [(x, y, wide, mesh.tensor * high) for x, y, wide, high in stages]
    apart = PAPER if mesh.pipeline * layout.abreast <= _MAX_COLUMNS else "none"
    between = range(1, mesh.tensor)
    tops = [line * layout.line_px + _NAME_PX for line in range(layout.lines)]
    rules = [(0.0, top + row * layout.row_px - 0.5, 1.0, 1.0) for top in tops for row in between]
    shapes: list[Shape] = [Boxes(columns, QUIET, apart), Boxes(rules, PAPER)]
    colored = _colored(layout, at)
    shapes += [Boxes(where, _GROUPS[name], apart) for name, where in colored.items()]
    x, y, wide, high = layout.block(layout.copy(at), 0)
    shapes.append(Boxes([(x, y, mesh.pipeline * wide, mesh.tensor * high)], "none", INK, 2.0))
    bottom = layout.lines * layout.line_px
    shapes.append(Text(0, bottom + 14, "across: stages; down: tensor ranks", "start", FAINT))
    return Sketch(
        title=_title(layout, rank),
        origin="computed",
        label=label,
        wide=True,
        shapes=[*shapes, *_names(layout), *_numbers(layout, at)],
        height_px=bottom + 24,
        keys=[Key(name, color) for name, color in _GROUPS.items() if name in colored],
    )


def _layout(mesh: Mesh, rank: int) -> _Layout:
    """At most three lines of copies, with the rank's own among them."""
    copies = mesh.data * mesh.context
    abreast = max(min(-(-copies // _MAX_LINES), _MAX_COLUMNS // mesh.pipeline), 1)
    shown = min(copies, abreast * _MAX_LINES)
    at = mesh.coordinates(rank)
    first = min(max(at.data * mesh.context + at.context - shown // 2, 0), copies - shown)
    rows = -(-shown // abreast) * mesh.tensor
    return _Layout(mesh, abreast, first, first + shown, min(max(_HIGH_PX / rows, _LEAST_PX), _MOST_PX))


def _title(layout: _Layout, rank: int) -> str:
    copies = layout.mesh.data * layout.mesh.context
    whole = f"{format_count(copies, 'copy', 'copies')} of the model"
    if layout.stop - layout.first < copies:
        whole = f"Copies {layout.first:,} to {layout.stop - 1:,} of the model's {copies:,}"
    return f"{whole}, and the groups of rank {rank:,}"


def _colored(layout: _Layout, at: At) -> dict[str, list[Box]]:
    """The ranks of each group by its name; this one comes last, on top of all."""
    mesh = layout.mesh
    groups = {
        "its tensor group": [at._replace(tensor=place) for place in range(mesh.tensor)],
        "its pipeline group": [at._replace(pipeline=place) for place in range(mesh.pipeline)],
        "its data group": [at._replace(data=place) for place in range(mesh.data)],
    }
    if not isinstance(at, Coordinates):
        groups["its context group"] = [at._replace(context=place) for place in range(mesh.context)]
    groups["this rank"] = [at]
    shown = {name: [each for each in places if layout.copy(each) in layout.copies] for name, places in groups.items()}
    return {name: [layout.box(place) for place in places] for name, places in shown.items()}


def _names(layout: _Layout) -> Iterator[Text]:
    """The names of copies, where all have room."""
    room = (text_width_px(_name(layout.mesh, layout.stop - 1)) + 4) * layout.abreast
    for copy in layout.copies:
        x, y, wide, _ = layout.block(copy, 0)
        yield Text(x + layout.mesh.pipeline * wide / 2, y - 9, _name(layout.mesh, copy), color=FAINT, from_px=room)


def _name(mesh: Mesh, copy: int) -> str:
    data, context = divmod(copy, mesh.context)
    return f"data {data:,}" + (f", context {context}" if mesh.context > 1 else "")


def _numbers(layout: _Layout, at: At) -> Iterator[Text]:
    """The ranks of this rank's copy, where all have room for their numbers."""
    mesh = layout.mesh
    if layout.row_px < _READ_PX or mesh.pipeline > _MAX_NAMED:
        return
    last = at._replace(pipeline=mesh.pipeline - 1, tensor=mesh.tensor - 1)
    room = (text_width_px(str(mesh.rank_at(last))) + 2) / layout.wide
    for stage, tensor in product(range(mesh.pipeline), range(mesh.tensor)):
        place = at._replace(pipeline=stage, tensor=tensor)
        x, y, wide, high = layout.box(place)
        ink = ink_on(_GROUPS[_group(place, at)]) if _group(place, at) else INK
        yield Text(x + wide / 2, y + high / 2, str(mesh.rank_at(place)), color=ink, from_px=room)


def _group(place: At, at: At) -> str:
    """The group in whose color a rank of one's own copy stands; "" where it is in none."""
    if place == at:
        return "this rank"
    if place.pipeline == at.pipeline:
        return "its tensor group"
    return "its pipeline group" if place.tensor == at.tensor else ""
