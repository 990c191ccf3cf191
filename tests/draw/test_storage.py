"""The bars of busy GPUs: each with its number, the goal as a line, green where it is reached."""

import pytest

from course_lib.draw import COLORS, draw_busy_gpus


def test_each_bar_has_its_number_and_those_at_the_goal_are_green():
    picture = draw_busy_gpus({"loop": 0.238, "hangs": 0.0, "below": 7.1, "at": 7.2, "all": 8.0}, title="All are busy")
    (panel,) = picture.panels
    assert panel.title == "All are busy"
    assert panel.limits == {"goal: 7.2": 7.2}
    assert [name for name, color in panel.colors.items() if color == COLORS["green"]] == ["at", "all"]
    assert picture.alt == "Busy GPUs, of 8, goal 7.2: loop 0.24, hangs 0, below 7.1, at 7.2, all 8.0. (computed)"


@pytest.mark.parametrize("busy", [{}, {"more than all": 8.1}])
def test_no_bars_and_more_than_all_are_refused(busy):
    with pytest.raises(ValueError, match="bars of at most 8 GPUs"):
        draw_busy_gpus(busy)
