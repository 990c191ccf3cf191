"""Bars of speed-ups say their numbers, and which of them reach the goal."""

import pytest

from course_lib.draw import COLORS, draw_speedups


def test_bars_that_reach_the_goal_are_green_and_the_others_blue() -> None:
    picture = draw_speedups({"fp32": 0.61, "fp16": 1.19, "below": 14.2, "at": 14.4}, title="fp16 helps a little")
    (panel,) = picture.panels
    colors = dict(panel.colors)
    assert [name for name, color in colors.items() if color == COLORS["green"]] == ["at"]
    assert colors["below"] == COLORS["blue"]
    assert panel.limits == {"goal: 14.4": 14.4}
    assert panel.title == "fp16 helps a little"
    assert (
        picture.alt == "Speed-up of 16 GPUs over one, goal 14.4: fp32 0.61, fp16 1.19, below 14.2, at 14.4. (computed)"
    )


def test_the_goal_follows_the_number_of_gpus() -> None:
    (panel,) = draw_speedups({"fp32": 3.0}, gpus=4, goal=0.5).panels
    assert panel.limits == {"goal: 2.0": 2.0}
    assert panel.colors["fp32"] == COLORS["green"]


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="got none"):
        draw_speedups({})
