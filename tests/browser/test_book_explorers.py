"""The book's explorers, opened from the folder without a server: every control moves by keys and by the mouse, and
shows what the explorer of a kernel shows after the same moves."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from course_lib.widgets import Explorer
from course_lib.widgets.controls import offered
from course_lib.widgets.pages import explorer_cells, explorer_of

from .harness import PATIENCE_MS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CELLS = {
    f"{path.stem}-{number}": cell
    for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
    for number, cell in explorer_cells(json.loads(path.read_text(encoding="utf-8"))).items()
}
VALUE = "input => input.tagName === 'SELECT' ? input.selectedOptions[0].text : input.getAttribute('aria-valuetext')"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without a network; no script of it fails."""
    errors: list[str] = []
    with browser.new_context(offline=True, viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
    assert errors == []


def opened(page: Page, book: Path, name: str) -> Locator:
    """The explorer of this name, in view and moving."""
    page.goto((book / "notebooks" / f"{name.rsplit('-', 1)[0]}.html").as_uri())
    box = page.locator(f"[data-states='{name}']")
    box.evaluate("box => box.scrollIntoView()")
    box.locator(".explorer-controls").wait_for()
    return box


def follow(live: Explorer, control: Locator) -> None:
    """Move the kernel's explorer to where this control of the page stands."""
    label = control.evaluate("input => input.labels[0].textContent")
    name = next(name for name, each in live.controls.items() if each.description == label)
    shown = control.evaluate(VALUE)
    values = {text: value for value, text in offered(live.controls[name]).items()}
    live.controls[name].value = values.get(shown, shown)


def agree(box: Locator, live: Explorer) -> None:
    """The page says what the kernel says, and shows as many pictures with the same words for who does not see them."""
    assert box.locator(".explorer-words").text_content() == live.caption
    said = "pictures => [...pictures.querySelectorAll('svg[role=img]')].map(each => each.getAttribute('aria-label'))"
    words = [part.words for part in live.parts if hasattr(part, "drawing")]
    assert box.locator(".explorer-pictures").evaluate(said) == words


@pytest.mark.parametrize("name", CELLS)
def test_every_control_moves_by_keys_and_by_the_mouse_as_in_jupyterlab(page: Page, book: Path, name: str) -> None:
    live, box = explorer_of(*CELLS[name]), opened(page, book, name)
    agree(box, live)
    expect(box.locator("xpath=..").locator("img").first).to_be_hidden()
    controls = box.locator(".explorer-row :is(select, input)")
    assert controls.count() >= 2
    for control in controls.all():
        for act in ("End", "ArrowLeft", "click"):
            if control.is_disabled():
                break
            if act != "click":
                control.press(act.replace("Right", "Down").replace("Left", "Up") if is_menu(control) else act)
            elif not is_menu(control):
                control.click(position={"x": 6, "y": 8})
            follow(live, control)
            agree(box, live)
    box.get_by_role("button", name="every control back").click()
    live.reset.click()
    agree(box, live)


def is_menu(control: Locator) -> bool:
    return bool(control.evaluate("input => input.tagName === 'SELECT'"))


def test_the_steps_play_pause_and_go_back_and_the_last_sentence_is_announced(page: Page, book: Path) -> None:
    box = opened(page, book, next(name for name in CELLS if name.startswith("02")))
    steps, words = box.locator("input[type=range]").last, box.locator(".explorer-words")
    steps.press("Home")
    box.get_by_role("button", name="play the steps").click()
    expect(box.get_by_role("button", name="pause")).to_be_visible()
    expect(words).to_contain_text("step 6 of 6")
    expect(box.get_by_role("button", name="play the steps")).to_be_visible()  # it ends by itself
    box.get_by_role("button", name="one step back").click()
    expect(words).not_to_contain_text("step 6 of 6")
    said = box.get_by_role("status")
    expect(said).to_have_text(re.compile(rf"^step: \d\. {re.escape(words.text_content())}$"))


def test_without_scripts_and_without_the_file_the_still_picture_remains(browser: Browser, book: Path) -> None:
    where = (book / "notebooks/06_pipeline_parallelism.html").as_uri()
    for scripts in (True, False):
        with browser.new_context(java_script_enabled=scripts) as context:
            page = context.new_page()
            page.route("**/explorers/*.js", lambda route: route.abort())
            page.goto(where)
            still = page.locator(".cell_output img[alt^='PipelineExplorer with']")
            still.scroll_into_view_if_needed()
            expect(still).to_be_visible()
