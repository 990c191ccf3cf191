"""The two figures that the chapter on all-reduce adds: they show the data they are given, and say so in words."""

import pytest

from course_lib.draw.collectives.protocols import describe_a100_sweep, draw_a100_sweep
from course_lib.draw.collectives.scales import describe_three_scales, draw_three_scales
from course_lib.draw.curves import Curve
from course_lib.published import A100_SWEEP


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_the_sweep_shows_every_published_time_as_a_cross():
    published = lines(draw_a100_sweep().axes[0])["published"]
    assert published.get_marker() == "x"
    assert list(zip(published.get_xdata(), published.get_ydata(), strict=True)) == list(A100_SWEEP)


def test_the_sweep_says_where_the_protocol_changes():
    assert "changes to LL128 after 1.05 MB and to Simple after 8.39 MB" in describe_a100_sweep()
    words = [text.get_text() for text in draw_a100_sweep().axes[0].texts]
    assert words == ["LL fastest", "LL128 fastest", "Simple fastest"]


def test_points_of_one_name_and_origin_are_joined_in_order_of_ranks():
    points = [Curve("ring", [4], [3.0], "simulated"), Curve("ring", [2], [1.0], "simulated")]
    (axes,) = draw_three_scales({"slow links": points}).axes
    (line,) = axes.get_lines()
    assert list(line.get_xdata()) == [2, 4]
    assert list(line.get_ydata()) == [1.0, 3.0]


@pytest.mark.parametrize(
    ("origin", "style", "face"), [("measured", "None", None), ("emulated", "None", "white"), ("simulated", "-", None)]
)
def test_real_processes_are_markers_and_simulated_ranks_lines(origin, style, face):
    (axes,) = draw_three_scales({"here": [Curve("ring", [2, 4], [1.0, 2.0], origin)]}).axes
    (line,) = axes.get_lines()
    assert line.get_linestyle() == style
    assert face is None or line.get_markerfacecolor() == face


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
