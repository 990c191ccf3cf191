"""Pictures of schedules: boxes are where the operations are, with their numbers, in the colors of their passes."""

import pytest

from course_lib.draw import COLORS, alt_text
from course_lib.draw.chapters.pipeline import draw_idle_shares, draw_schedule, draw_schedules, pass_color
from course_lib.draw.colors import LINES
from course_lib.draw.panels.drawing import Text
from course_lib.pipeline import (
    SCHEDULES,
    OperationTimes,
    interleaved,
    one_forward_one_backward,
    pipeline_timeline,
    zero_bubble_h1,
)

TIMES = OperationTimes(1, 1, 1)
ROOM_PX = 640  # across, on a page


def boxes(picture):
    """(row, start, end, color) of every box."""
    (panel,) = picture.panels
    found = [(s.row, s.start_s, s.end_s, lane.color) for lane in panel.lanes.values() for s in lane.stretches]
    return sorted(found)


def keys(picture):
    return [key.text for key in picture.panels[0].drawing().legend]


def numbers(picture):
    """Those in boxes that are seen on a page."""
    (panel,) = picture.panels
    words = [shape for shape in panel.drawing().shapes if isinstance(shape, Text) and shape.from_px]
    return sorted((words.y, words.x, words.text) for words in words if words.from_px < ROOM_PX)


def test_1f1b_has_the_boxes_of_the_papers_figure():
    timeline = pipeline_timeline(one_forward_one_backward(2, 2), TIMES)
    picture = draw_schedule(timeline, in_units=True)
    assert [box[:3] for box in boxes(picture)] == [
        *[(0, 0, 1), (0, 1, 2), (0, 4, 6), (0, 7, 9)],  # F0 F1 B0 B1 of rank 0
        *[(1, 1, 2), (1, 2, 4), (1, 4, 5), (1, 5, 7)],  # F0 B0 F1 B1 of rank 1
    ]
    assert [text for _, _, text in numbers(picture)] == ["0", "1", "0", "1", "0", "0", "1", "1"]
    assert "2 ranks, 2 micro-batches, 9 units, 33% idle; at most 2 micro-batches held" in alt_text(picture)


def test_each_pass_has_its_color_and_second_stages_a_darker_one():
    chunked = draw_schedule(pipeline_timeline(interleaved(2, 2), TIMES), in_units=True)
    assert len({color for *_, color in boxes(chunked)}) == 4
    split = draw_schedule(pipeline_timeline(zero_bubble_h1(2, 2), TIMES), in_units=True)
    assert keys(split) == ["forward", "backward", "weight gradients"]
    assert keys(chunked) == ["forward", "backward", "first stage", "second, lower"]
    assert pass_color("F") != pass_color("F", 1) != pass_color("B", 1)


def test_numbers_are_left_out_where_they_have_no_room():
    assert numbers(draw_schedule(pipeline_timeline(one_forward_one_backward(4, 200), TIMES))) == []


def test_several_schedules_share_one_scale():
    timelines = {str(n): pipeline_timeline(one_forward_one_backward(2, n), TIMES) for n in (2, 4)}
    assert [panel.seconds for panel in draw_schedules(timelines, in_units=True).panels] == [15, 15]
    with pytest.raises(ValueError, match="a schedule to draw, got none"):
        draw_schedules({})


def test_every_schedule_of_the_literature_has_a_look():
    assert set(SCHEDULES) == set(LINES["schedules"])


def test_idle_shares_are_green_at_the_goal_blue_above_it_and_gray_without_room():
    picture = draw_idle_shares({"a": (0.875, 1), "b": (0.1, 24), "c": (1 / 6, 8), "d": (0.17, 7.5)}, title="c does")
    (panel,) = picture.panels
    assert panel.colors == {
        "a (holds 1)": COLORS["blue"],
        "b (holds 24)": "quiet",
        "c (holds 8)": COLORS["green"],
        "d (holds 7.5)": COLORS["blue"],
    }
    assert panel.title == "c does"
    assert panel.limits == {"goal: 16.7%": 1 / 6}
    assert "d (holds 7.5) 17.0%" in picture.alt
    with pytest.raises(ValueError, match="got none"):
        draw_idle_shares({})
