"""The tables of contents of the exercises: a click leads to the exercise."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from course_lib.grading.exercises import chapters, exercises_of

from .harness import NotebookPage

pytestmark = [pytest.mark.browser, pytest.mark.timeout(200)]

EXERCISES = Path(__file__).parents[2] / "exercises"


@pytest.fixture(scope="module")
def copy_of_the_exercises(course: Path) -> Path:
    return shutil.copytree(EXERCISES, course / "exercises")


@pytest.mark.parametrize("chapter", chapters()[::4])  # tests/notebooks/test_links.py finds the anchors of all
def test_every_link_of_the_table_leads_to_its_exercise(
    chapter: str, open_notebook: Callable[[Path], NotebookPage], copy_of_the_exercises: Path
) -> None:
    page = open_notebook(next(copy_of_the_exercises.glob(f"{chapter}_*.ipynb"))).page
    for letter in [exercise.id[2:] for exercise in exercises_of(chapter)]:
        page.locator(".jp-RenderedMarkdown h1").first.scroll_into_view_if_needed()
        heading = page.locator(".jp-RenderedMarkdown h2", has_text=f"{letter}) ").first
        page.locator(f'.jp-RenderedMarkdown td a[href="#{letter}"]').click()
        page.wait_for_function(
            "h => { const top = h.getBoundingClientRect().top; return top >= 0 && top < innerHeight / 2; }",
            arg=heading.element_handle(),
        )
