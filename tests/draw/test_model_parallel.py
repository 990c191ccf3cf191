"""Figures of model parallelism: who holds what, and which rows cross."""

import pytest

from course_lib.draw import alt_text
from course_lib.draw.lines import Axis, draw_lines
from course_lib.draw.model_parallel import draw_halos, draw_linear_splits
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


def test_a_mark_stands_at_its_place():
    picture = draw_lines({"a": ([1, 4], [2, 8])}, Axis("ranks"), Axis("MB"), marks={"border": 3})
    assert picture.axes[0].lines[-1].get_xdata()[0] == 3
    assert "border: 3." in alt_text(picture)


def test_what_has_no_room_is_refused():
    with pytest.raises(ValueError, match="room for 2 to 4 ranks, got 5"):
        draw_linear_splits(5)
    with pytest.raises(ValueError, match="4 ranks and 24 rows, got 2 ranks and 30 rows"):
        draw_halos(30, RowKernel(3), 2)
    with pytest.raises(ValueError, match="a line to draw, got none"):
        draw_lines({}, Axis("x"), Axis("y"))


@pytest.mark.parametrize(("heights", "end"), [([9, 1, 9], "top"), ([1, 9, 1], "bottom")])
def test_a_marks_name_stands_where_the_curves_leave_room(heights, end):
    picture = draw_lines({"a": ([1, 2, 3], heights)}, Axis("ranks"), Axis("MB"), marks={"border": 2})
    assert [text.get_va() for text in picture.axes[0].texts] == [end]
