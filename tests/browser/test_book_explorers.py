"""The book's explorers, opened from the folder without a server: every control moves by keys and by the mouse, and
shows what the explorer of a kernel shows after the same moves, in Chromium and, where it is installed, in Firefox."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from course_lib.widgets import Explorer
from course_lib.widgets.controls import offered
from course_lib.widgets.pages import explorer_cells, explorer_of

from .firefox import Firefox, firefox_path, headless_firefox
from .harness import PATIENCE_MS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CELLS = {
    f"{path.stem}-{number}": cell
    for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
    for number, cell in explorer_cells(json.loads(path.read_text(encoding="utf-8"))).items()
}
# What a page shows of an explorer, as a reader sees it and as a screen reader says it.
SHOWN = """name => {
  const box = document.querySelector(`[data-states="${name}"]`);
  const value = input => input.selectedOptions?.[0].text ?? input.getAttribute('aria-valuetext');
  const said = picture => picture.getAttribute('aria-label');
  return {
    caption: box.querySelector('.explorer-words').textContent,
    pictures: [...box.querySelectorAll('.explorer-pictures svg[role=img]')].map(said),
    controls: [...box.querySelectorAll('.explorer-row :is(select, input)')].map(input => ({
      label: input.labels[0].textContent, value: value(input), rests: input.disabled, menu: input.tagName === 'SELECT',
    })),
    still: document.querySelector(`:has(> [data-states="${name}"]) img`)?.offsetHeight ?? 0,
  };
}"""
COMES = """async name => {
  const box = document.querySelector(`[data-states="${name}"]`);
  box.scrollIntoView();
  while (!box.querySelector('.explorer-controls')) await new Promise(done => setTimeout(done, 20));
}"""
# What is shown at once when somebody presses play.
PLAYED = """box => {
  box.querySelector('[aria-label="play the steps"]').click();
  return box.querySelector('.explorer-words').textContent;
}"""
FOCUS = """([name, number]) => {
  document.querySelectorAll(`[data-states="${name}"] .explorer-row :is(select, input)`)[number].focus();
}"""
# Where the left end of a slider, or the button that puts every control back, is in the window.
PLACE = """([name, number]) => {
  const box = document.querySelector(`[data-states="${name}"]`);
  const inputs = box.querySelectorAll('.explorer-row :is(select, input)');
  const part = number < 0 ? box.querySelector('[aria-label^="every control back"]') : inputs[number];
  part.scrollIntoView({ block: 'center', behavior: 'instant' });
  const { x, y } = part.getBoundingClientRect();
  return [x + 6, y + 8];
}"""


class Chromium:
    """A page of Chromium, with the few calls that Firefox has, too."""

    def __init__(self, page: Page) -> None:
        self.open, self.evaluate, self.errors = page.goto, page.evaluate, list[str]()
        self.press, self.click = page.keyboard.press, page.mouse.click
        page.on("pageerror", lambda error: self.errors.append(str(error)))


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


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with headless_firefox(tmp_path_factory.mktemp("firefox")) as firefox:
        firefox.resize(1280, 900)
        yield firefox


@pytest.fixture(params=["chromium", "firefox"])
def reader(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "firefox" and firefox_path() is None:
        pytest.skip("no Firefox found; install it: sudo apt-get update && sudo apt-get install firefox-esr")
    reader = (
        Chromium(request.getfixturevalue("page")) if request.param == "chromium" else request.getfixturevalue("firefox")
    )
    yield reader
    assert reader.errors == []


def address_of(book: Path, name: str) -> str:
    return (book / "notebooks" / f"{name.rsplit('-', 1)[0]}.html").as_uri()


def follow(live: Explorer, label: str, shown: str) -> None:
    """Move the kernel's explorer to where a control of the page stands."""
    name = next(name for name, each in live.controls.items() if each.description == label)
    values = {text: value for value, text in offered(live.controls[name]).items()}
    live.controls[name].value = values.get(shown, shown)


def agree(shown: dict[str, Any], live: Explorer) -> None:
    """The page says what the kernel says, and shows as many pictures with the same words for who does not see them."""
    assert shown["caption"] == live.caption
    assert shown["pictures"] == [part.words for part in live.parts if hasattr(part, "drawing")]


@pytest.mark.parametrize("name", CELLS)
def test_every_control_moves_by_keys_and_by_the_mouse_as_in_jupyterlab(reader: Any, book: Path, name: str) -> None:
    live = explorer_of(*CELLS[name])
    reader.open(address_of(book, name))
    reader.evaluate(COMES, name)
    shown = reader.evaluate(SHOWN, name)
    agree(shown, live)
    assert shown["still"] == 0
    assert len(shown["controls"]) >= 2
    for number, control in enumerate(shown["controls"]):
        keys = ("End", "ArrowUp") if control["menu"] else ("End", "ArrowLeft", "click")
        for key in keys:
            if shown["controls"][number]["rests"]:
                break
            if key == "click":
                reader.click(*reader.evaluate(PLACE, [name, number]))
            else:
                reader.evaluate(FOCUS, [name, number])
                reader.press(key)
            shown = reader.evaluate(SHOWN, name)
            follow(live, control["label"], shown["controls"][number]["value"])
            agree(shown, live)
    reader.click(*reader.evaluate(PLACE, [name, -1]))
    live.reset.click()
    agree(reader.evaluate(SHOWN, name), live)


def opened(page: Page, book: Path, name: str) -> Locator:
    """The explorer of this name, in view and moving."""
    page.goto(address_of(book, name))
    page.evaluate(COMES, name)
    return page.locator(f"[data-states='{name}']")


def test_the_steps_play_pause_and_go_back_and_the_last_sentence_is_announced(page: Page, book: Path) -> None:
    box = opened(page, book, next(name for name in CELLS if name.startswith("02")))
    steps, words = box.locator("input[type=range]").last, box.locator(".explorer-words")
    steps.press("Home")
    first = words.text_content()
    box.get_by_role("button", name="play the steps").click()
    expect(box.get_by_role("button", name="pause")).to_be_visible()
    expect(words).to_contain_text("step 14 of 14")
    expect(box.get_by_role("button", name="play the steps")).to_be_visible()  # it ends by itself
    box.get_by_role("button", name="one step back").click()
    expect(words).not_to_contain_text("step 14 of 14")
    said = box.get_by_role("status")
    expect(said).to_have_text(re.compile(rf"^step: \d+\. {re.escape(words.text_content())}$"))
    steps.press("End")
    assert box.evaluate(PLAYED) == first  # behind the last step it begins again


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
