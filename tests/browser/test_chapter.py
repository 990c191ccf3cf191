"""A short chapter, as a reader meets it: opened, run from top to bottom, and its slider moved."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .harness import NotebookPage

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CHAPTER = "04_model_parallelism.ipynb"


@pytest.fixture(scope="module")
def copy_of_the_notebooks(course: Path) -> Path:
    """JupyterLab saves what it has run, so it gets a copy."""
    return shutil.copytree(NOTEBOOKS, course / "notebooks")


def test_the_chapter_runs_and_its_picture_follows_the_slider(
    open_notebook: Callable[[Path], NotebookPage], copy_of_the_notebooks: Path, tmp_path: Path
) -> None:
    chapter = open_notebook(copy_of_the_notebooks / CHAPTER)
    chapter.run_all()
    assert chapter.errors() == []
    chapter.move_slider(chapter.slider())
    chapter.use_theme("JupyterLab Dark")
    chapter.move_slider(chapter.slider())
    chapter.screenshot(tmp_path / "dark.png")
    assert chapter.script_errors == []
