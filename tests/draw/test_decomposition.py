"""Figures of tensor decompositions: what each format stores."""

import pytest

from course_lib.decomposition import storage_at_rank
from course_lib.draw import alt_text
from course_lib.draw.decomposition import FORMATS, draw_storage


def test_each_format_has_its_line_at_its_numbers():
    stored = {d: storage_at_rank([10] * d, 2) for d in range(2, 13)}
    picture = draw_storage({"a function": stored})
    (panel,) = picture.panels
    assert list(panel.lines) == list(FORMATS)
    for position, line in enumerate(panel.lines.values()):
        assert list(line.x) == list(stored)
        assert list(line.y) == [row[position] for row in stored.values()]
    assert "in 12 modes: whole 1,000,000,000,000, SVD 4,000,000, Tucker 4,336, tensor train 440" in alt_text(picture)


def test_the_svd_of_the_matrix_itself_is_a_line_inside_of_its_panel():
    stored = {d: storage_at_rank([8] * d, 2) for d in (2, 3)}
    picture = draw_storage({"a layer": stored, "a function": stored}, as_matrix={"a layer": 20})
    layer, function = (panel.lines["SVD of the matrix itself"] for panel in picture.panels)
    assert (list(layer.y), list(function.y)) == ([20, 20], [])
    assert picture.panels[0].y.low < 20 < picture.panels[0].y.high
    assert "The SVD of the matrix itself, a layer: 20." in alt_text(picture)


def test_a_figure_of_no_tensor_is_refused():
    with pytest.raises(ValueError, match="a tensor to draw, got none"):
        draw_storage({})
