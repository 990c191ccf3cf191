"""The explorers of the chapters, each alone in a notebook: a key on a slider changes the picture, in both themes."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from .harness import PICTURE_IS, NotebookPage

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

EXPLORERS = ("AllReduceExplorer", "StepExplorer", "ServerExplorer")


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


@pytest.mark.parametrize("name", EXPLORERS)
def test_the_keyboard_leads_to_every_control_and_back_to_the_first_setting(
    open_notebook: Callable[[Path], NotebookPage], folder: Path, name: str
) -> None:
    notebook = open_notebook(folder / f"{name}.ipynb")
    notebook.run_all()
    page, slider = notebook.page, notebook.slider()
    first = notebook.picture_of(slider)
    notebook.move_slider(slider)
    outline = "handle => getComputedStyle(handle).outlineStyle"
    assert slider.evaluate(outline) == "solid"  # the control that has the focus can be seen
    reset = page.get_by_role("button", name="reset")
    for _ in range(60):
        if reset.evaluate("button => button === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.wait_for_function(PICTURE_IS, arg=[notebook.output_of(slider).element_handle(), first])


def test_the_controls_keep_their_place_while_a_slider_is_dragged(
    open_notebook: Callable[[Path], NotebookPage], folder: Path
) -> None:
    notebook = open_notebook(folder / "AllReduceExplorer.ipynb")
    notebook.run_all()
    slider, last = notebook.slider(), notebook.page.locator(".explorer-player")
    notebook.page.set_viewport_size({"width": 1000, "height": 1000})
    slider.scroll_into_view_if_needed()
    where, places = slider.bounding_box(), set()
    mouse = notebook.page.mouse
    mouse.move(where["x"] + 8, where["y"] + 8)
    mouse.down()
    for pixels in range(0, 60, 5):
        mouse.move(where["x"] + 8 + pixels, where["y"] + 8)
        notebook.page.wait_for_timeout(100)
        places.add(last.bounding_box()["y"])
    mouse.up()
    assert slider.evaluate("handle => +handle.getAttribute('aria-valuenow')") > 4
    assert len(places) == 1
