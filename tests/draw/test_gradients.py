"""Pictures of formats and of gradients: boxes and zones are where the numbers say."""

import pytest
import torch

from course_lib.draw import alt_text
from course_lib.draw.chapters.precision import FIELD_COLORS, draw_formats, draw_gradients, zones_of
from course_lib.precision import BF16, FORMATS, FP16, exponent_counts, fates


def test_every_bit_is_a_box_in_its_fields_color():
    axes = draw_formats([FP16]).axes[0]
    boxes = [patch for patch in axes.patches if patch.get_y() < 0.4]
    assert len(boxes) == 16
    assert [box.get_facecolor() for box in boxes] == [
        draw_color(field) for field in ["sign"] + 5 * ["exponent"] + 10 * ["mantissa"]
    ]


def draw_color(field):
    from matplotlib.colors import to_rgba

    return to_rgba(FIELD_COLORS[field])


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_zones_end_where_the_format_does(number_format):
    zones = zones_of(number_format)
    assert number_format.round(2.0 ** zones["lost"][1]) == 0
    assert number_format.round(1.01 * 2.0 ** zones["lost"][1]) == number_format.smallest_subnormal
    assert 2.0 ** zones["normal"][0] == number_format.smallest_normal
    assert number_format.largest < 2.0 ** zones["normal"][1] <= 2 * number_format.largest


def test_the_picture_says_which_share_lies_in_which_zone():
    values = torch.randn(1000, generator=torch.Generator().manual_seed(0)) * 2.0**-24
    shares = fates(values, FP16)
    said = alt_text(draw_gradients({"small": exponent_counts(values)}))
    assert f"small: {shares.lost:.0%} lost, {shares.subnormal:.0%} subnormal" in said
    assert "100% normal" in alt_text(draw_gradients({"small": exponent_counts(values)}, BF16))
