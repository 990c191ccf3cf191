"""The picture of remedies says in words what it shows."""

import pytest

from course_lib.compression.experiments import Outcome
from course_lib.draw.compression import draw_remedies
from course_lib.draw.panels.drawing import Marks, Words


def test_it_names_bytes_and_accuracy_of_every_remedy() -> None:
    outcomes = [Outcome("fewer bits", [0.8, 0.9, 0.7], 1500.0), Outcome("fp32", [0.95], 14_000.0)]
    picture = draw_remedies(outcomes, origin="simulated")
    assert "fewer bits sends 1.5 kB and reaches 80%; fp32 sends" not in picture.alt  # the most bytes come first
    assert "fp32 sends 14 kB and reaches 95%; fewer bits sends 1.5 kB and reaches 80%" in picture.alt
    left, right = picture.panels
    assert list(left.bars) == list(right.bars) == ["fewer bits", "fp32"]
    assert right.ranges == {"fewer bits": (0.7, 0.9), "fp32": (0.95, 0.95)}


def test_what_lies_below_the_axis_is_an_arrowhead_with_its_number() -> None:
    outcomes = [Outcome("fails", [0.1, 0.2, 0.3], 10.0), Outcome("learns", [0.905, 0.915, 0.925], 10.0)]
    _, right = draw_remedies(outcomes, origin="simulated", least=0.5).panels
    shapes = right.drawing().shapes
    learns, fails = [shape for shape in shapes if isinstance(shape, Marks)]
    assert (fails.symbol, learns.symbol) == ("<", "o")
    assert fails.points[0][0] == 0
    assert {"20%", "91.5%"} <= {shape.text for shape in shapes if isinstance(shape, Words)}


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="got none"):
        draw_remedies([], origin="simulated")
