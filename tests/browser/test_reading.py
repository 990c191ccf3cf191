"""Pages as `make lab` shows them: lines of 80 letters, code that is never cut, pictures with words, and dark ones."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import write
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import Browser, expect

from .harness import NotebookPage, comes_to_be, serve

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
# Letters of the longest line of a paragraph: where the place of a letter jumps to the left, a line begins.
LONGEST_LINE = """paragraph => {
  const text = paragraph.firstChild, place = document.createRange(), lines = [0];
  let before = -1;
  for (let i = 0; i < text.length; i++) {
    place.setStart(text, i), place.setEnd(text, i + 1);
    const { left } = place.getBoundingClientRect();
    if (left < before) lines.push(0);
    lines[lines.length - 1]++, before = left;
  }
  return Math.max(...lines);
}"""


@pytest.fixture(scope="module")
def notebook(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookPage]:
    folder, home = tmp_path_factory.mktemp("widths"), tmp_path_factory.mktemp("lab")
    draw = 'from course_lib.draw import draw_bars\ndraw_bars({"ring": 1.0}, "seconds", origin="computed")'
    cells = [
        new_markdown_cell("Who waits for whom, and for how long? " * 20),
        new_code_cell("x = 1" + " + 1" * 40),
        new_code_cell(draw),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}}
    write(new_notebook(cells=cells, metadata=kernel), folder / "wide.ipynb")
    ask = "include Makefile\nshow:\n\t@printf '%s\\n' $(LAB_STYLE)\n"
    asked = subprocess.run(
        ["make", "-s", "-f", "-", "show"], cwd=ROOT, input=ask, capture_output=True, text=True, check=True
    )
    options = [option for option in asked.stdout.splitlines() if "log-level" not in option]
    assert options[0] == "--custom-css"
    with serve(folder, home, *options) as server:
        notebook = NotebookPage(browser, server, "wide.ipynb")
        notebook.run_all()  # a kernel that is still starting would not end in time
        yield notebook
        notebook.close()


def test_a_line_of_prose_has_some_80_letters_on_a_large_screen(notebook: NotebookPage) -> None:
    page = notebook.page
    page.set_viewport_size({"width": 2560, "height": 1440})
    paragraph = page.locator(".jp-RenderedMarkdown p")
    comes_to_be(page, lambda: 60 <= paragraph.evaluate(LONGEST_LINE) <= 90, True)


def test_code_of_any_length_fits_a_laptop(notebook: NotebookPage) -> None:
    page = notebook.page
    page.set_viewport_size({"width": 1366, "height": 768})
    code = page.locator(".jp-CodeCell .cm-scroller").first
    comes_to_be(page, lambda: code.evaluate("code => code.scrollWidth <= code.clientWidth"), True)


def test_a_picture_has_its_words_below_it_and_is_dark_on_a_dark_page(notebook: NotebookPage) -> None:
    expect(notebook.page.locator("details.in-words")).to_contain_text("Bars. ring: 1 s. (computed)")
    picture = notebook.page.locator(".jp-RenderedImage img")
    comes_to_be(notebook.page, lambda: picture.evaluate("i => i.naturalWidth / i.width"), 2)
    expect(picture).to_have_css("filter", "none")
    notebook.use_theme("JupyterLab Dark")
    expect(picture).to_have_css("filter", re.compile(r"^invert\(0\.92\)"))
