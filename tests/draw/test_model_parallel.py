"""Figures of model parallelism: who holds what, and which rows cross."""

import pytest

from course_lib.draw import alt_text
from course_lib.draw.bar_charts import goal_color
from course_lib.draw.chapters.model_parallel import draw_halos, draw_linear_splits, draw_sent, sent_bars
from course_lib.draw.line_charts import Axis, draw_lines
from course_lib.draw.panels.drawing import Polyline, Text, text_width_px
from course_lib.model_parallel import RowKernel


def texts(picture):
    return [text.get_text() for axes in picture.axes for text in axes.texts]


def test_a_halo_is_told_in_words():
    picture = draw_halos(8, RowKernel(size=3, stride=2, padding=1), world_size=2)
    assert "rank 0 lends rank 1 1 row" in alt_text(picture)
    assert texts(picture).count("3") == 3  # in the picture, on rank 0, and borrowed by rank 1


def test_each_rank_has_a_part_of_every_matrix_that_is_cut():
    shown = texts(draw_linear_splits(ranks=3))
    assert shown.count("2") == 6  # x, y by examples; W, y by outputs; x, W by inputs
    assert {"summed: gradient of W", "summed: gradient of x", "summed: y"} <= set(shown)


def test_a_plan_is_named_with_what_a_rank_sends_and_green_reaches_the_goal():
    bars = sent_bars({"all by examples": 427e6, "outputs, then inputs": 119e6}, goal_bytes=142e6)
    assert list(bars.bars) == ["all by examples: 427 MB", "outputs, then inputs: 119 MB"]
    assert list(bars.colors.values()) == [goal_color(False), goal_color(True)]
    assert bars.limits == {"goal: 142 MB": 142e6}
    assert bars.axis.high == 450e6  # the same for all pictures of a page
    assert "goal 142 MB. all by examples: 427 MB" in alt_text(draw_sent({"all by examples": 427e6}, goal_bytes=142e6))
    assert sent_bars({"all": 3.3e9}, goal_bytes=142e6).axis.high > 3.3e9


def test_what_has_no_room_is_refused():
    with pytest.raises(ValueError, match="room for 2 to 4 ranks, got 5"):
        draw_linear_splits(5)
    with pytest.raises(ValueError, match="4 ranks and 24 rows, got 2 ranks and 30 rows"):
        draw_halos(30, RowKernel(3), 2)
    with pytest.raises(ValueError, match="a line to draw, got none"):
        draw_lines({}, Axis("x"), Axis("y"))


def flags(places, room_px=600):
    """The words of marks, and where their lines stand, from left to right; each word with its height."""
    panel = draw_lines({"a": ([0, 100], [1, 2])}, Axis("ranks"), Axis("MB"), marks=places).panels[0]
    shapes = panel.drawing(room_px).shapes
    lines = [shape for shape in shapes if isinstance(shape, Polyline) and shape.dash == (2, 3)]
    words = {shape.text: shape for shape in shapes if isinstance(shape, Text) and shape.text in places}
    return {text: (words[text], line) for text, line in zip(sorted(places, key=places.get), lines, strict=True)}


def test_a_mark_stands_at_its_place():
    picture = draw_lines({"a": ([1, 2, 4], [1, 2, 3])}, Axis("ranks"), Axis("MB"), marks={"border": 2})
    (panel,) = picture.panels
    ((words, line),) = flags({"border": 50}).values()
    assert panel.flags == {"border": 2}
    assert {x for x, _ in line.points} == {words.x} == {0.5}
    assert "a from 1 at 1 to 3 at 4. border: 2." in picture.alt


def test_names_of_marks_close_to_each_other_stand_above_each_other_and_no_line_goes_through_one():
    found = flags({"one": 48, "another": 50, "a third": 52})
    assert len({words.y for words, _ in found.values()}) == 3
    for words, _ in found.values():
        begin, end = words.x * 520 - text_width_px(words.text), words.x * 520
        crossing = [line for _, line in found.values() if begin < line.points[0][0] * 520 < end - 6]
        assert all(min(y for _, y in line.points) > words.y for line in crossing)


def test_a_mark_at_the_left_edge_has_its_name_at_its_right():
    ((words, _),) = flags({"a border with a long name": 0}).values()
    assert (words.anchor, words.dx_px) == ("start", 4)
