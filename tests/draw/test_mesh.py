"""The figure of ranks on a mesh."""

import pytest
from matplotlib.colors import to_rgba, to_rgba_array

from course_lib.draw import alt_text
from course_lib.draw.chapters.mesh import STEP_COLORS, draw_mesh, draw_plans_by_parts
from course_lib.mesh import A100_CLUSTER, DIMENSIONS, NARAYANAN_2021, STEP_PARTS, Mesh, step_time


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


def test_plans_are_drawn_by_parts_and_those_of_a_step_in_the_explorers_colors():
    times = {"one": {"matrix products": 50.0, "bubble": 5.0}, "other": {"matrix products": 40.0, "gradients": 1.0}}
    picture = draw_plans_by_parts(times, "days", title="Days")
    assert alt_text(picture) == "Days. In days: one; other. (computed)"
    filled = [each for axes in picture.axes for each in (*axes.collections, *axes.patches)]
    drawn = {tuple(color) for each in filled for color in to_rgba_array(each.get_facecolor())}
    assert {to_rgba(STEP_COLORS[part]) for part in ("matrix products", "bubble", "gradients")} <= drawn


def test_a_limit_of_memory_is_a_dashed_line():
    bars = {"one": {"parameters": 30.0, "activations": 50.0}}
    plain, limited = (draw_plans_by_parts(bars, "GB", title="", limits=limits) for limits in (None, {"72 GB": 72.0}))
    lines = [sum(len(axes.lines) for axes in picture.axes) for picture in (plain, limited)]
    assert lines[1] > lines[0]


def test_every_part_of_a_step_has_a_color_of_its_own_and_parts_are_the_whole_step():
    assert len(set(STEP_COLORS.values())) == len(STEP_COLORS) == len(STEP_PARTS)
    row = NARAYANAN_2021[-1]
    time = step_time(row.shape, row.plan, A100_CLUSTER, row.batch)
    assert sum(time.parts().values()) == pytest.approx(time.seconds)
    assert set(STEP_PARTS) - set(time.parts()) == {"context messages", "expert messages"}
