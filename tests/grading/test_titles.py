"""An exercise has one title and one number of points: the page, reports and the check say the same."""

import json
import re
from pathlib import Path

import pytest

from course_lib.grading.exercises import chapters, exercises_of

ROOT = Path(__file__).parents[2]


def of_page(chapter: str) -> tuple[dict[str, str], dict[str, str]]:
    """The headings and the points of the page's table, by letter."""
    (path,) = (ROOT / "exercises").glob(f"{chapter}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    heads = dict(re.findall(r'^## <a id="(\w)"></a>\w\) (.*)$', text, re.MULTILINE))
    return heads, dict(re.findall(r"^\| \[(\w)\]\(#\w\) \|.*\| ([\d.]+) \|", text, re.MULTILINE))


@pytest.mark.parametrize("chapter", sorted(chapters()))
def test_an_exercise_has_one_title_and_one_number_of_points(chapter: str) -> None:
    heads, points = of_page(chapter)
    found = list(exercises_of(chapter))
    assert found
    for exercise in found:
        letter = exercise.id[2:]
        assert heads[letter] == exercise.title
        assert float(points[letter]) == exercise.points
