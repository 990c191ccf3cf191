"""Prose is at most some 80 letters wide on a large screen, and code is never cut, as `make lab` sets JupyterLab up."""

from pathlib import Path

import pytest
from nbformat import write
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import Browser

from .harness import NotebookPage, serve

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
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory):
    folder, home = tmp_path_factory.mktemp("widths"), tmp_path_factory.mktemp("lab")
    cells = [new_markdown_cell("Who waits for whom, and for how long? " * 20), new_code_cell("x = 1" + " + 1" * 40)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}}
    write(new_notebook(cells=cells, metadata=kernel), folder / "wide.ipynb")
    style = f"--ServerApp.tornado_settings={{'static_custom_path': ['{ROOT / '.jupyterlab'}']}}"
    assert style.replace(str(ROOT), "$(CURDIR)") in (ROOT / "Makefile").read_text()
    with serve(folder, home, "--custom-css", style) as server:
        notebook = NotebookPage(browser, server, "wide.ipynb")
        notebook.run_all()  # a kernel that is still starting would not end in time
        yield notebook.page
        notebook.close()


def test_a_line_of_prose_has_some_80_letters_on_a_large_screen(page) -> None:
    page.set_viewport_size({"width": 2560, "height": 1440})
    paragraph = page.locator(".jp-RenderedMarkdown p")
    assert 60 <= paragraph.evaluate(LONGEST_LINE) <= 90


def test_code_of_any_length_fits_a_laptop(page) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    code = page.locator(".jp-CodeCell .cm-scroller")
    assert code.evaluate("code => code.scrollWidth <= code.clientWidth")
