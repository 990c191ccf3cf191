"""A student's first evening and the next day, by keyboard alone: start page, chapter, exercises, points, and back."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from course_lib.desk import START, kept_points, lay, outline, write_start_page
from course_lib.desk.start import cells_run
from course_lib.desk.update import WORKSPACE
from course_lib.grading.exercises.sources import answers_of

from .conftest import ARTIFACTS
from .harness import CELLS, serve

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

CHAPTER, TASKS = "notebooks/00_orientation.ipynb", "exercises/01_data_parallelism.ipynb"
MAX = sum(chapter.points for chapter in outline())
# The path of the tab in front once its file has been read; no app while the page loads.
CURRENT = """() => {
  const context = window.jupyterapp?.shell?.currentWidget?.context;
  return context?.isReady ? context.path : '';
}"""
ACTIVE = "() => window.jupyterapp.shell.currentWidget.content.activeCell?.model.id"
READY = "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
SAVED = "() => !window.jupyterapp.shell.currentWidget.context.model.dirty"
# The cell has run, and to its end.
HAS_RUN = """id => {
  const { content } = window.jupyterapp.shell.currentWidget;
  const cell = content.widgets.find(cell => cell.model.id === id);
  return cell.model.executionState === 'idle' && cell.model.executionCount !== null;
}"""
FOCUSED = "() => document.activeElement.textContent"


class Desk:
    """A desk in JupyterLab, with nothing but keys."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.press = page, page.keyboard.press
        page.set_default_timeout(150_000)
        page.goto(url)
        self.wait_for_tab(START)
        page.wait_for_load_state("networkidle")  # the tabs of the last time are there, and the start page is in front
        page.locator(".jp-MarkdownViewer table").wait_for()

    def wait_for_tab(self, path: str) -> None:
        self.page.wait_for_function(f"path => ({CURRENT})() === path", arg=path)

    def follow(self, words: str) -> None:
        """Press Tab until a link with these words has the focus, then Enter."""
        for _ in range(60):
            self.press("Tab")
            if self.page.evaluate(FOCUSED) == words:
                self.press("Enter")
                return
        raise AssertionError(f"no link {words!r} within 60 tabs")

    def follow_to_notebook(self, words: str, path: str) -> None:
        self.follow(words)
        self.wait_for_tab(path)
        self.page.wait_for_function(READY)

    def go_to(self, cell: str, arrow: str = "ArrowDown") -> None:
        """Press the arrow until this cell is the active one."""
        for _ in range(40):
            if self.page.evaluate(ACTIVE) == cell:
                return
            self.press(arrow)
        raise AssertionError(f"no cell {cell!r} within 40 times {arrow}")

    def run(self, cell: str) -> None:
        self.go_to(cell)
        self.press("Shift+Enter")
        self.page.wait_for_function(HAS_RUN, arg=cell)

    def write(self, cell: str, text: str) -> None:
        """Put this text in the place of what the cell holds, and run it."""
        self.go_to(cell)
        self.press("Enter")
        self.press("Control+a")
        self.page.keyboard.insert_text(text)
        self.press("Shift+Enter")
        self.page.wait_for_function(HAS_RUN, arg=cell)

    def back_to_start(self) -> None:
        """Go from tab to tab until the start page is in front."""
        while (path := self.page.evaluate(CURRENT)) != START:
            self.press("Control+Shift+[")
            self.page.wait_for_function(f"path => ({CURRENT})() !== path", arg=path)

    def save(self) -> None:
        self.press("Control+s")
        self.page.wait_for_function(SAVED)

    def command(self, name: str) -> None:
        """Call a command of JupyterLab's palette by its name."""
        self.press("Control+Shift+c")
        self.page.locator(".lm-CommandPalette-input:focus").wait_for()
        self.page.keyboard.type(name)
        self.page.locator(".lm-CommandPalette-item.lm-mod-active", has_text=name).wait_for()
        self.press("Enter")


@contextmanager
def opened(browser: Browser, folder: Path, home: Path) -> Iterator[Desk]:
    """What `make lab` opens."""
    home.mkdir()
    lay(folder)
    write_start_page(folder)
    with serve(folder, home, workspaces=(folder / WORKSPACE).parent) as server:
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        try:
            yield Desk(page, f"{server.url}/lab/tree/{START}?token={server.token}")
        except BaseException:
            ARTIFACTS.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=ARTIFACTS / "test_desk.png")
            raise
        finally:
            page.close()


def answer(exercise: str) -> str:
    return answers_of(exercise)["right"][0][1]


def shot(desk: Desk, name: str) -> None:
    """A picture of the desk for who looks at it: COURSE_SCREENSHOTS names a folder."""
    if folder := os.environ.get("COURSE_SCREENSHOTS"):
        desk.page.screenshot(path=Path(folder) / f"desk-{name}.png")


def test_an_evening_and_the_next_day(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with opened(browser, folder, tmp_path / "evening") as desk:
        spend_an_evening(desk)
    with opened(browser, folder, tmp_path / "next-day") as desk:
        title = outline()[1].exercises[2].title
        desk.page.get_by_text(f"Next: exercise 01c, {title}. You have 5 of {MAX:g} points").wait_for()
        ran, of = cells_run(folder, outline()[0])
        expect(desk.page.get_by_role("row", name="00 Orientation").locator("td").nth(3)).to_have_text(f"2 of {of}")
        expect(desk.page.get_by_role("row", name="00 Orientation").locator("td").nth(4)).to_have_text("0 of 1")
        assert ran == 2
        shot(desk, "next-day")
        desk.follow("c")
        desk.wait_for_tab(TASKS)
        cells = desk.page.evaluate(CELLS)
        assert [cell["source"] for cell in cells if cell["id"] in ("a-answer", "b-answer")] == [
            answer("01a"),
            answer("01b"),
        ]
    assert {name: each.most for name, each in kept_points(folder).items()} == {"01a": 2, "01b": 3}


def guess_and_unfold(desk: Desk) -> None:
    """Choose, see the result folded, open and close it, and see it open with the guess when its cell has run."""
    fold = desk.page.locator(".jp-Cell:has(+ .jp-Cell details.result) + .jp-Cell details.result").first
    expect(fold).not_to_have_attribute("open", "")
    desk.go_to("alone-question-guess")
    for key in ("Enter", "Space", "ArrowDown"):  # Enter comes to the choices, as Tab does, and opens no text
        desk.press(key)
    desk.press("Shift+Enter")
    desk.write("alone-run", "print(1)")
    expect(fold).to_have_attribute("open", "")
    expect(fold).to_contain_text("You guessed: as many as there are ranks")
    desk.go_to("ring-see")
    later = desk.page.locator(".jp-Cell.jp-mod-active details.result")
    desk.press("Tab")
    for wanted in (True, False):
        desk.press("Enter")
        assert later.evaluate("fold => fold.open") == wanted
    desk.press("Escape")


def spend_an_evening(desk: Desk) -> None:
    """A cell of chapter 00, and two exercises of chapter 01."""
    shot(desk, "start")
    expect(desk.page.locator(".jp-TableOfContents")).to_be_visible()
    desk.page.get_by_text(f"Next: chapter 00, Orientation. You have 0 of {MAX:g} points so far, as of ").wait_for()
    desk.follow_to_notebook("chapter 00, Orientation", CHAPTER)
    desk.run("parameters")
    guess_and_unfold(desk)
    desk.save()
    shot(desk, "chapter")
    desk.back_to_start()
    desk.follow_to_notebook("a", TASKS)
    desk.press("Control+Home")
    desk.run("a-check")
    desk.page.get_by_text("check is not there: the set-up cell of this notebook makes it, code cell ").wait_for()
    desk.go_to("setup", "ArrowUp")
    desk.run("setup")
    desk.run("given")
    for letter, points in (("a", 2), ("b", 5)):
        desk.write(f"{letter}-answer", answer(f"01{letter}"))
        desk.run(f"{letter}-check")
        kept = desk.page.get_by_text(f"Kept on your desk: {points} points in chapter 01 so far.")
        kept.wait_for()
    shot(desk, "points")
    desk.save()
    desk.back_to_start()
    desk.page.get_by_text(f"You have 5 of {MAX:g} points so far, as of ").wait_for()
    shot(desk, "evening")
