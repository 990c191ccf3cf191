"""Figures of tensor decompositions: accuracy against numbers."""

import pytest

from course_lib.draw import alt_text
from course_lib.draw.line_charts import draw_forms


def test_each_form_has_its_markers_and_the_goal_its_line():
    picture = draw_forms({"thin": [(496, 0.45), (2976, 0.97)], "train": [(360, 0.96)]}, goal=0.9, title="Forms")
    words = "goal 90%: thin 45% with 496, 97% with 2,976; train 96% with 360. (measured)"
    assert words in alt_text(picture)


def test_no_form_is_refused():
    with pytest.raises(ValueError, match="there must be a form to draw, got none"):
        draw_forms({}, goal=0.96)
