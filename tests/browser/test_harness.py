"""The browser harness itself, tried on a notebook with one slider."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from .harness import NotebookPage

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

SLIDER = """
import ipywidgets
slider = ipywidgets.IntSlider(value=2, min=1, max=9, description="ranks")
picture = ipywidgets.HTML()
def draw(change=None):
    picture.value = PICTURE
slider.observe(draw, "value")
draw()
ipywidgets.VBox([slider, picture])
"""
FOLLOWS = """f"<img alt='bar' src='data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22 width=%22{40 * slider.value}%22 height=%2240%22><rect width=%22100%25%22 height=%22100%25%22 fill=%22teal%22/></svg>'>\""""  # noqa: E501
STANDS_STILL = "\"<img alt='dot' src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>\""


@pytest.fixture(scope="module")
def folder(course: Path) -> Path:
    folder = course / "harness"
    folder.mkdir()
    cells = {
        "follows": [SLIDER.replace("PICTURE", FOLLOWS)],
        "stands-still": [SLIDER.replace("PICTURE", STANDS_STILL)],
        "fails": ["1 / 0", "print('never')"],
    }
    for name, sources in cells.items():
        notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
        nbformat.write(notebook, folder / f"{name}.ipynb")
    return folder


def test_a_key_on_the_slider_changes_the_picture_in_both_themes(
    open_notebook: Callable[[Path], NotebookPage], folder: Path, tmp_path: Path
) -> None:
    notebook = open_notebook(folder / "follows.ipynb")
    notebook.run_all()
    assert notebook.errors() == []
    notebook.move_slider(notebook.slider())
    light = notebook.screenshot(tmp_path / "light.png").read_bytes()
    notebook.use_theme("JupyterLab Dark")
    notebook.move_slider(notebook.slider())
    assert notebook.screenshot(tmp_path / "dark.png").read_bytes() != light
    assert notebook.script_errors == []


def test_a_picture_that_ignores_the_slider_is_noticed(
    open_notebook: Callable[[Path], NotebookPage], folder: Path
) -> None:
    notebook = open_notebook(folder / "stands-still.ipynb")
    notebook.run_all()
    notebook.page.set_default_timeout(2_000)
    with pytest.raises(PlaywrightTimeoutError):
        notebook.move_slider(notebook.slider())


def test_the_error_of_a_cell_is_collected(open_notebook: Callable[[Path], NotebookPage], folder: Path) -> None:
    notebook = open_notebook(folder / "fails.ipynb")
    notebook.run_all()
    assert notebook.errors() == ["ZeroDivisionError: division by zero"]
