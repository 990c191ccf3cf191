"""The figure of ranks on a mesh."""

import pytest

from course_lib.draw import alt_text
from course_lib.draw.mesh import draw_mesh
from course_lib.mesh import DIMENSIONS, Mesh


def test_every_rank_is_drawn_once_and_the_words_say_who_leaves_a_node():
    picture = draw_mesh(Mesh(2, 3, 2), ranks_per_node=4)
    shown = [text.get_text() for axes in picture.axes for text in axes.texts]
    assert [shown.count(f"rank {rank}") for rank in range(12)] == [1] * 12
    assert {"stage 2", "data 1"} <= set(shown)
    assert "Groups that leave a node: data, pipeline." in alt_text(picture)


def test_an_arrow_for_each_pair_of_stages_and_a_line_for_each_other_pair():
    axes = draw_mesh(Mesh(2, 3, 2), ranks_per_node=4).axes[0]
    tensor, pipeline, data = 2 * 3 * 1, 2 * 2 * 2, 1 * 3 * 2
    assert len(axes.lines) == tensor
    assert len(axes.patches) == 12 + pipeline + data  # boxes, arrows down, arcs between copies


def test_an_order_with_data_inside_is_drawn_too():
    picture = draw_mesh(Mesh(2, 2, 2, order=DIMENSIONS[::-1]), ranks_per_node=4)
    assert "Groups that leave a node: tensor." in alt_text(picture)


def test_what_has_no_room_is_refused():
    with pytest.raises(ValueError, match="room for three dimensions of 4 ranks"):
        draw_mesh(Mesh(1, 5, 1), ranks_per_node=4)
    with pytest.raises(ValueError, match="on 8 nodes"):
        draw_mesh(Mesh(2, 2, 2), ranks_per_node=1)
