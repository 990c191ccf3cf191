"""The explorers of the chapters, each alone in a notebook: a key on a slider changes the picture, in both themes."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from .harness import NotebookPage

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

EXPLORERS = ("StepExplorer", "ServerExplorer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explorers")
    for name in EXPLORERS:
        notebook = new_notebook(cells=[new_code_cell(f"from course_lib.widgets import {name}\n\n{name}()")])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
        nbformat.write(notebook, folder / f"{name}.ipynb")
    return folder


@pytest.mark.parametrize("name", EXPLORERS)
def test_the_picture_follows_the_slider_in_both_themes(
    open_notebook: Callable[[Path], NotebookPage], folder: Path, tmp_path: Path, name: str
) -> None:
    notebook = open_notebook(folder / f"{name}.ipynb")
    notebook.run_all()
    assert notebook.errors() == []
    notebook.move_slider(notebook.slider())
    notebook.use_theme("JupyterLab Dark")
    notebook.move_slider(notebook.slider())
    notebook.screenshot(tmp_path / f"{name}-dark.png")
    assert notebook.script_errors == []
