"""Pictures of mixed precision."""

import pytest

from course_lib.draw import COLORS, alt_text
from course_lib.draw.chapters.precision import draw_roofline, draw_steps_needed
from course_lib.precision import Roofline

ROOF = Roofline(flops_per_s=100e9, bytes_per_s=20e9)


def test_the_roof_bends_at_the_ridge_and_operations_stand_below_it():
    picture = draw_roofline(ROOF, {"add": (0.1, 1e9), "product": (100, 90e9)})
    roof, *points = picture.panels[0].lines.values()
    assert list(roof.x) == [0.05, 5.0, 200]
    assert list(roof.y) == [1.0, 100.0, 100.0]
    assert [(point.x[0], point.y[0]) for point in points] == [(0.1, 1.0), (100, 90.0)]
    assert "add: 1 GFLOP/s at 0.1 flops/byte, 50% of the roof; product: 90 GFLOP/s" in alt_text(picture)


def test_a_roof_over_nothing_is_refused():
    with pytest.raises(ValueError, match="an operation to draw"):
        draw_roofline(ROOF, {})


def test_a_recipe_as_fast_as_fp32_is_green_and_one_that_never_arrives_fills_the_axis():
    (panel,) = draw_steps_needed({"never": None, "late": 347, "as fp32": 156}, goal=156, most=450).panels
    assert dict(panel.colors) == {
        "never": COLORS["vermillion"],
        "late": COLORS["blue"],
        "as fp32": COLORS["green"],
    }
    assert panel.bars["never"] == {"never": 450}
    assert [panel.show(length) for length in (450, 347, 156)] == ["not in 450", "347", "156"]
    assert panel.limits == {"fp32: 156": 156}


def test_no_recipe_is_refused():
    with pytest.raises(ValueError, match="a recipe to draw, got none"):
        draw_steps_needed({}, goal=156, most=450)
