"""Figures of tensor decompositions: accuracy against numbers."""

import pytest

from course_lib.draw import alt_text
from course_lib.draw.decomposition import draw_forms


def test_each_form_has_its_markers_and_the_goal_its_line():
    picture = draw_forms({"thin": [(496, 0.45), (2976, 0.97)], "train": [(360, 0.96)]}, goal=0.9, title="Forms")
    words = "thin from 45% at 496 to 97% at 2,976; train from 96% at 360 to 96% at 360; goal from 90% at 100"
    assert words in alt_text(picture)


def test_no_form_is_refused():
    with pytest.raises(ValueError, match="there must be a form to draw, got none"):
        draw_forms({}, goal=0.96)
