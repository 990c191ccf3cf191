"""Panels draw values where they are, and nothing where there are none."""

import itertools
import math
import re
from pathlib import Path

import pytest

from course_lib.draw.colors import FILLS, look_of
from course_lib.draw.panels.drawing import FREE_PX, NARROW_PX, Boxes, Marks, Polyline, Ring, Text, text_width_px
from course_lib.draw.panels.panel import COLUMNS, ROWS, band_ranks, cut
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.panels.svg import drawing_svg
from course_lib.widgets import Bars, Cell, Explorer, Lane, Line, Lines, Matrix, Stretch, Timeline, axis, number
from course_lib.widgets.html import page_html

from .every_setting import crowded

ROOT = Path(__file__).parents[2]


def shapes(panel, kind):
    return [shape for shape in panel.drawing().shapes if isinstance(shape, kind)]


def lines_of(y, *, low=0.0, high=1.0, here=None):
    across = axis("x", [0, len(y) - 1])
    return Lines(
        title="T",
        origin="computed",
        lines={"l": Line(range(len(y)), y, "#123456")},
        x=across,
        y=axis("y", y, low=low, high=high),
        here=here,
    )


def pieces(panel):
    return [curve.points for curve in shapes(panel, Polyline) if curve.color == "#123456"]


def heads(panel):
    return [(round(words.x, 3), words.text) for words in shapes(panel, Text) if words.text in "▲▼"]


def test_a_line_inside_its_axes_is_one_piece_without_arrowheads():
    panel = lines_of([0, 1, 0.5])
    assert [[round(x, 3) for x, _ in piece] for piece in pieces(panel)] == [[0, 0.5, 1]]
    assert heads(panel) == []


@pytest.mark.parametrize(
    ("y", "marks", "ends"),
    [
        ([0.5, 1.5, 0.5], [(0.25, "▲")], [(0, 0.25), (0.75, 1)]),
        ([0.5, -0.5, -1], [(0.25, "▼")], [(0, 0.25)]),
        ([-1, 3], [(0, "▼")], [(0.25, 0.5)]),
        ([0.5, math.inf, math.inf], [(0, "▲")], []),
        ([0.5, 0.6, math.nan], [(0.5, "▲")], [(0, 0.5)]),
        ([2, 2, 2], [(0, "▲")], []),
    ],
)
def test_a_line_that_leaves_its_axes_ends_at_the_edge_and_is_marked(y, marks, ends):
    panel = lines_of(y)
    assert heads(panel) == marks
    drawn = [(round(piece[0][0], 3), round(piece[-1][0], 3)) for piece in pieces(panel) if len(piece) > 1]
    assert drawn == ends
    edges = panel.drawing().height_px
    assert all(0 <= y <= edges for piece in pieces(panel) for _, y in piece)


def test_the_ring_stands_on_its_point_or_an_arrowhead_says_where_it_is():
    (ring,) = shapes(lines_of([0, 1], here=(0.5, 0.5)), Ring)
    assert ring.x == 0.5
    assert shapes(lines_of([0, 1], here=(0.5, 7)), Ring) == []
    assert heads(lines_of([0, 1], here=(0.5, 7))) == [(0.5, "▲")]


def test_a_known_name_has_its_look():
    across = axis("x", [0, 1])
    lines = {name: Line((0, 1), (0, 1)) for name in ("asynchronous", "synchronous")}
    panel = Lines(title="T", origin="computed", lines=lines, x=across, y=across)
    keys = {key.text: key.color for key in panel.drawing().legend}
    assert keys == {name: look_of(name).color for name in lines}


def test_a_single_point_is_seen_as_a_dot_and_one_beyond_the_axes_is_not():
    across = axis("x", [0, 10])
    lines = {"measured": Line((5, 6), (5, 99), drawn="dots")}
    drawing = Lines(title="T", origin="computed", lines=lines, x=across, y=across).drawing()
    (marks,) = [shape for shape in drawing.shapes if isinstance(shape, Marks)]
    assert ([x for x, _ in marks.points], marks.color) == ([0.5], drawing.legend[0].color)


def test_stacked_bars_end_where_their_sum_lies_and_stay_inside():
    memory = axis("memory", [100e9], "B")
    bars = {"a": {"parameters": 25e9, "gradients": 50e9}, "b": {"parameters": 300e9}}
    panel = Bars(title="T", origin="computed", bars=bars, axis=memory, limits={"device": 80e9}, show=str)
    first, second = shapes(panel, Boxes)
    assert (first.color, second.color) == (FILLS["memory"]["parameters"].color, FILLS["memory"]["gradients"].color)
    (a, b), (c,) = ([box[0] + box[2] for box in boxes.where] for boxes in (first, second))
    assert (a / b, c / b) == (pytest.approx(0.25), pytest.approx(0.75))  # the second bar goes on beyond the axis
    assert any("▶" in words.text for words in shapes(panel, Text))


@pytest.mark.parametrize("longest", [0.1, 0.9, 1.0])
def test_a_bars_length_stands_behind_it_and_the_axis_makes_room_for_it(longest):
    panel = Bars(
        title="T", origin="computed", bars={"a": {"time": longest}}, axis=axis("time", [1.0]), show="{} GB".format
    )
    (words,), (bar,) = ([s for s in shapes(panel, Text) if "GB" in s.text], shapes(panel, Boxes)[0].where)
    assert (words.anchor, words.x) == ("start", bar[2])
    room = NARROW_PX - FREE_PX - panel.drawing().left_px
    assert words.x * room + words.dx_px + text_width_px(words.text) <= room + FREE_PX + 1e-6


def test_ticks_that_would_touch_are_left_out():
    long_name = "all-reduce of the gradients"
    panel = Bars(title="T", origin="computed", bars={long_name: {"time": 1500.0}}, axis=axis("ms", [1600.0]))
    named = [words.text for words in shapes(panel, Text) if words.text[0].isdigit()]
    assert named == ["0", "1,000"]


@pytest.mark.parametrize("y", [0.02, 0.5, 1.0])
@pytest.mark.parametrize("x", [0.0, 0.5, 1.0])
def test_a_note_stands_by_its_point_and_on_no_tick(x, y):
    across = axis("x", [0, 10_000.0])
    lines = {"l": Line((0, 1e4), (0, 1))}
    panel = Lines(
        title="T", origin="computed", lines=lines, x=across, y=axis("y", [1.0]), notes={(1e4 * x, y): "exhausted"}
    )
    assert crowded(panel) == []
    (note,) = [words for words in shapes(panel, Text) if words.text == "exhausted"]
    assert note.x == x


@pytest.mark.parametrize(("columns", "room"), [(4, 140), (12, 400)])
def test_numbers_are_in_cells_only_where_each_has_room_for_its_own(columns, room):
    names = [str(column) for column in range(columns)]
    cells = [[Cell("#ffffff", "1535")] * columns]
    panel = Matrix(title="T", origin="computed", cells=cells, row_names=["r"], column_names=names, across="c")
    needed = {words.from_px for words in shapes(panel, Text) if words.text == "1535"}
    assert needed == {columns * (text_width_px("1535") + 2)}
    shown = re.findall(r'class="explorer-drawing-(\d+)"', drawing_svg(panel.drawing(), ""))
    assert shown == [str(room)] * columns
    assert f"(max-width:{room - 1}px){{.explorer-drawing-{room}{{display:none}}}}" in page_html()


def test_numbers_that_no_screen_has_room_for_are_in_no_picture():
    stretches = [Stretch(0, 0.0, 0.5, "7"), Stretch(0, 0.999, 1.0, "8")]
    panel = Timeline(title="T", origin="simulated", rows=("a",), lanes={"w": Lane("#123456", stretches)}, seconds=1.0)
    picture = drawing_svg(panel.drawing(), "")
    assert (">7</text>" in picture, ">8</text>" in picture) == (True, False)


def test_upright_bars_have_the_height_of_their_values():
    bars = {str(age): {"share": share} for age, share in enumerate((0.25, 0.5))}
    panel = Bars(title="T", origin="computed", bars=bars, axis=axis("share", [0.5], "%"), upright=True)
    low, high = (box[3] for box in shapes(panel, Boxes)[0].where)
    assert high == 2 * low


def test_a_timeline_leaves_out_what_is_beyond_its_end_and_cuts_what_crosses_it():
    stretches = [Stretch(0, 0.0, 0.5), Stretch(0, 0.9, 1.4), Stretch(0, 2.0, 3.0)]
    panel = Timeline(title="T", origin="simulated", rows=("a",), lanes={"w": Lane("#123456", stretches)}, seconds=1.0)
    boxes = [box for shape in shapes(panel, Boxes) for box in shape.where]
    assert [(box[0], round(box[0] + box[2], 6)) for box in boxes] == [(0, 0.5), (0.9, 1.0)]


def test_a_matrix_puts_each_cell_in_its_row_and_column():
    cells = [[Cell("#000000"), Cell("#ffffff", "x", now=True)]]
    panel = Matrix(title="T", origin="computed", cells=cells, row_names=["r"], column_names=["a", "b"], across="c")
    white = next(shape for shape in shapes(panel, Boxes) if shape.color == "#ffffff")
    assert white.where[0][0] == 0.5
    assert any(shape.edge == panel.outline for shape in shapes(panel, Boxes))


@pytest.mark.parametrize("way", [ROWS, COLUMNS])
@pytest.mark.parametrize("ranks", [1, 2, 5, 16, 17, 40, 64])
def test_a_cut_box_is_covered_once_by_bands_of_as_many_ranks_each(ranks, way):
    bands = sorted(box for shape in cut((0.2, 10.0, 0.5, 40.0), way, ranks) for box in shape.where)
    assert len(bands) == -(-ranks // band_ranks(ranks)) <= 16
    assert sum(wide * high for _, _, wide, high in bands) == pytest.approx(0.5 * 40)
    for one, other in itertools.pairwise(bands):
        assert (other[0], other[1]) == pytest.approx(
            (one[0] + one[2], one[1]) if way == COLUMNS else (one[0], one[1] + one[3])
        )
    sizes = [band[2] / 0.5 if way == COLUMNS else band[3] / 40 for band in bands]
    assert sizes[:-1] == pytest.approx([band_ranks(ranks) / ranks] * (len(bands) - 1))


def test_live_and_still_show_the_same_words():
    panel = lines_of([0, 1, 0.5])
    live = {words.text for words in shapes(panel, Text) if words.text}
    axes = picture_of([panel], alt="a").axes[0]
    assert {text.get_text() for text in axes.texts} == live | {"T", "l"}  # and its title and legend


@pytest.mark.parametrize(("unit", "last"), [("s", "10"), ("B", "10"), ("×", "10×"), ("%", "1000%")])
def test_axes_name_round_values_in_their_unit(unit, last):
    assert list(axis("n", [0, 10], unit).ticks.values())[-1] == last


def test_logarithmic_axes_name_three_values_at_least():
    for high in (1.3, 3, 40, 1e6):
        assert len(axis("loss", [1, high], log=True).ticks) >= 3


def test_the_recipe_for_an_explorer_runs():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = re.search(r"```python\n(.*?Explorer\(.*?)```", text, re.DOTALL)[1].rstrip()
    code, last = recipe.rsplit("\n", 1)
    space = {}
    exec(code, space)
    explorer = eval(last, space)
    assert isinstance(explorer, Explorer)
    assert explorer.problem is None
    before = explorer.views[1].value
    explorer.set(ranks=32)
    assert explorer.views[1].value != before
    assert explorer.caption == "32 ranks take 62 steps."


def test_an_empty_line_is_drawn_as_nothing():
    across = axis("x", [])
    panel = Lines(title="T", origin="computed", lines={"l": Line((), ())}, x=across, y=across)
    assert Explorer(lambda n: panel, n=number("n", 1, 2, 1)).problem is None
