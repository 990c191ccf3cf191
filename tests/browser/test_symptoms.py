"""On a desk, a click in the page of symptoms opens the chapter, and a second one goes to its section."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from course_lib.desk import lay

from .harness import Server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

OPEN = """path => {
  window.jupyterapp.commands.execute('docmanager:open', { path, factory: 'Markdown Preview' });
}"""
NEAR_THE_TOP = "h => { const top = h.getBoundingClientRect().top; return top >= 0 && top < innerHeight / 2; }"


@pytest.fixture
def page(browser: Browser, lab: Server, course: Path) -> Iterator[Page]:
    lay(course / "desk")
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(60_000)
    page.goto(f"{lab.url}/lab?token={lab.token}&reset")
    page.wait_for_function("() => window.jupyterapp?.shell?.restored")
    page.evaluate(OPEN, "desk/notebooks/symptoms.md")
    yield page
    page.close()


@pytest.mark.parametrize("words", ["00 · One collective fewer", "12 · Saved by many"])
def test_a_link_opens_the_chapter_and_once_more_its_section(page: Page, words: str) -> None:
    link = page.locator(".jp-MarkdownViewer td a", has_text=words).first
    assert "<!--" not in page.locator(".jp-MarkdownViewer").inner_text()
    link.click()
    heading = page.locator(".jp-Notebook :is(h2, h3)", has_text=words.partition(" · ")[2]).first
    heading.wait_for()  # JupyterLab follows the anchor only once the chapter is drawn
    page.evaluate(OPEN, "desk/notebooks/symptoms.md")
    link.click()
    page.wait_for_function(NEAR_THE_TOP, arg=heading.element_handle())
