"""The figures that the chapter on all-reduce adds: they show the data they are given, and say so in words."""

import pytest

from course_lib.draw import COLORS, Curve
from course_lib.draw.chapters.collectives.times import (
    describe_a100_sweep,
    describe_three_scales,
    draw_a100_sweep,
    draw_plan_times,
    draw_three_scales,
)
from course_lib.published import A100_SWEEP


def test_the_sweep_shows_every_published_time_as_a_cross():
    published = draw_a100_sweep().panels[0].lines["published"]
    assert published.drawn == "crosses"
    assert list(zip(published.x, published.y, strict=True)) == list(A100_SWEEP)


def test_the_sweep_says_where_the_protocol_changes():
    assert "changes to LL128 after 1.05 MB and to Simple after 8.39 MB" in describe_a100_sweep()
    zones = draw_a100_sweep().panels[0].zones
    assert list(zones) == ["LL fastest", "LL128 fastest", "Simple fastest"]
    assert [zone[0] for zone in zones.values()][1:] == [zone[1] for zone in zones.values()][:-1]


def test_points_of_one_name_and_origin_are_joined_in_order_of_ranks():
    points = [Curve("ring", [4], [3.0], "simulated"), Curve("ring", [2], [1.0], "simulated")]
    (panel,) = draw_three_scales({"slow links": points}).panels
    (line,) = panel.lines["ring"]
    assert (list(line.x), list(line.y)) == ([2, 4], [1.0, 3.0])


@pytest.mark.parametrize(("origin", "drawn"), [("measured", "dots"), ("emulated", "open dots"), ("simulated", "line")])
def test_real_processes_are_markers_and_simulated_ranks_lines(origin, drawn):
    (panel,) = draw_three_scales({"here": [Curve("ring", [2, 4], [1.0, 2.0], origin)]}).panels
    (line,) = panel.lines["ring"]
    assert line.drawn == drawn


def test_three_scales_name_their_origins_and_both_ends_in_words():
    panels = {
        "here": [Curve("ring", [2, 4], [1.0, 2.0], "measured")],
        "slow": [Curve("tree", [2, 8], [3.0, 4.0], "emulated")],
    }
    picture = draw_three_scales(panels, title="All-reduce")
    assert picture.origin == "measured, emulated"
    words = describe_three_scales(panels)
    assert "here: ring (measured) 1 s on 2 to 2 s on 4 ranks." in words
    assert "slow: tree (emulated) 3 s on 2 to 4 s on 8 ranks." in words


def test_each_plan_has_a_bar_with_its_milliseconds_and_those_within_the_goal_are_green():
    picture = draw_plan_times({"a": 0.9926, "b": 0.0316, "c": 0.125, "d": 0.1308}, title="b and c")
    (panel,) = picture.panels
    assert panel.title == "b and c"
    assert panel.limits == {"goal: 125 ms": 0.125}
    assert list(panel.bars) == ["a, 993 ms", "b, 32 ms", "c, 125 ms", "d, 131 ms"]
    assert [name for name, color in panel.colors.items() if color == COLORS["green"]] == ["b, 32 ms", "c, 125 ms"]
    assert panel.axis.high == draw_plan_times({"b": 0.0316}).panels[0].axis.high == 1.0
    assert picture.alt == "Time of the all-reduce, goal 125 ms: a, 993 ms; b, 32 ms; c, 125 ms; d, 131 ms. (computed)"


def test_no_plan_is_refused():
    with pytest.raises(ValueError, match="a plan's time"):
        draw_plan_times({})
