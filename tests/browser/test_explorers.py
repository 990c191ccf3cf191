"""The explorers, all in one notebook: pictures follow, keys stay inside, names are said, stills stay."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Locator, expect

import course_lib.widgets

from .conftest import PAGES
from .harness import PICTURE_CHANGED, PICTURE_IS, NotebookPage, Server, comes_to_be

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

EXPLORERS = tuple(course_lib.widgets.EXPLORERS)
NO_MENU = "this explorer has sliders and buttons only"
SIZES = {"a laptop": (1366, 768), "a laptop at 150 %": (911, 512), "a narrow window": (900, 900)}
# All that JupyterLab would take for a command on a cell, and what moves from cell to cell.
KEYS = [
    *"jkddabxvczmyrii01",
    "ArrowDown",
    "ArrowUp",
    "Delete",
    "Backspace",
    "Enter",
    "Shift+M",
    "Shift+ArrowDown",
    "Escape",
]
# The pairs of a picture and a control that are not seen together when each is scrolled into view on its own side.
APART = """explorer => {
  const [controls, pictures] = explorer.querySelectorAll('.explorer-controls, .explorer-pictures');
  const seen = (part, side) => {
    const a = part.getBoundingClientRect(), b = side.getBoundingClientRect();
    return (Math.min(a.bottom, b.bottom, innerHeight) - Math.max(a.top, b.top, 0)) / a.height > 0.95;
  };
  const apart = [];
  explorer.scrollIntoView({ block: 'start' });
  for (const picture of pictures.querySelectorAll('figure svg[role=img]')) {
    picture.scrollIntoView({ block: 'nearest' });
    for (const control of controls.querySelectorAll('select, .noUi-handle')) {
      control.scrollIntoView({ block: 'nearest' });
      if (!seen(picture, pictures) || !seen(control, controls)) {
        apart.push([picture.getAttribute('aria-label').slice(0, 40), control.getAttribute('aria-label')]);
      }
    }
  }
  return apart;
}"""
SAYS_ITS_VALUE = """([handle, row]) =>
  handle.getAttribute('aria-valuetext') === row.querySelector('.widget-readout').textContent.trim()"""
# What is announced where a caption changes twenty times and comes to rest.
ANNOUNCED = """async explorer => {
  const [words, region] = ['.explorer-words', '[role=status]'].map(name => explorer.querySelector(name)), heard = [];
  new MutationObserver(() => heard.push(region.textContent)).observe(region, { childList: true });
  words.dataset.moved = 'ranks: 9.';
  for (let step = 1; step <= 20; step++) await (words.textContent = `Caption ${step}.`);
  while (!heard.length) await new Promise(done => setTimeout(done, 20));
  return heard;
}"""
ENDS_WITH_THE_WORDS = """explorer => {
  const [words, region] = ['.explorer-words', '[role=status]'].map(name => explorer.querySelector(name).textContent);
  return words.trim() !== '' && region.endsWith(words.trim());
}"""
HIDDEN_STILL = "area => [...area.querySelectorAll('.jp-RenderedImage')].every(image => !image.offsetHeight)"


@pytest.fixture(scope="module")
def path(course: Path) -> Path:
    cells = [f"from course_lib.widgets import {name}\n\n{name}()" for name in EXPLORERS]
    notebook = new_notebook(cells=[new_code_cell(source) for source in (*cells, "after = 1")])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(notebook, course / "explorers.ipynb")
    return course / "explorers.ipynb"


@pytest.fixture(scope="module")
def opened(browser: Browser, lab: Server, path: Path) -> Iterator[NotebookPage]:
    notebook = NotebookPage(browser, lab, path.name)
    notebook.run_all()
    assert notebook.errors() == []
    notebook.settle()
    for index in range(len(EXPLORERS)):
        expect(notebook.page.locator(".explorer").nth(index).locator("figure svg[role=img]").first).to_be_attached()
    yield notebook
    assert notebook.script_errors == []
    notebook.close()


@pytest.fixture
def notebook(opened: NotebookPage, request: pytest.FixtureRequest) -> NotebookPage:
    """The notebook with its explorers, in a bright and roomy window."""
    request.node.stash[PAGES] = [opened]
    opened.page.set_viewport_size({"width": 1280, "height": 1000})
    opened.settle()  # the test before may have left a reset on its way
    return opened


@pytest.fixture(params=EXPLORERS)
def explorer(notebook: NotebookPage, request: pytest.FixtureRequest) -> Iterator[Locator]:
    explorer = notebook.page.locator(".explorer").nth(EXPLORERS.index(request.param))
    explorer.scroll_into_view_if_needed()
    first = notebook.picture_of(explorer)
    yield explorer
    notebook.settle()
    explorer.get_by_role("button", name="reset").click()
    notebook.settle()
    notebook.page.wait_for_function(PICTURE_IS, arg=[notebook.output_of(explorer).element_handle(), first])


def first_slider(explorer: Locator) -> Locator:
    return explorer.locator(".noUi-handle").first


@pytest.fixture(scope="class")
def dark(opened: NotebookPage) -> Iterator[None]:
    """All pages dark, for all explorers at a time: to change the theme lays out every picture anew."""
    opened.use_theme("JupyterLab Dark")
    yield
    opened.use_theme("JupyterLab Light")


@pytest.mark.usefixtures("dark")
class TestInTheDarkTheme:
    def test_the_picture_follows_the_slider(self, notebook: NotebookPage, explorer: Locator) -> None:
        notebook.move_slider(first_slider(explorer))


def test_the_keyboard_leads_to_every_control_and_back_to_the_first_setting(
    notebook: NotebookPage, explorer: Locator
) -> None:
    page, slider = notebook.page, first_slider(explorer)
    first = notebook.picture_of(slider)
    notebook.move_slider(slider)
    outline = "handle => getComputedStyle(handle).outlineStyle"
    assert slider.evaluate(outline) == "solid"  # the control that has the focus can be seen
    reset = explorer.get_by_role("button", name="reset")
    for _ in range(60):
        if reset.evaluate("button => button === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.wait_for_function(PICTURE_IS, arg=[notebook.output_of(slider).element_handle(), first])


@pytest.mark.parametrize("kind", ["select", ".noUi-handle", "[role=textbox]", "button"])
def test_no_key_in_a_control_touches_a_cell(notebook: NotebookPage, explorer: Locator, kind: str) -> None:
    before, active = notebook.cells(), None
    control = explorer.locator(f"{kind}:visible").first
    if not control.count():
        pytest.skip(f"this explorer has no {kind}")
    for key in KEYS:
        control.focus()
        active = notebook.active_cell() if active is None else active
        notebook.page.keyboard.press(key)
    assert notebook.cells() == before
    assert notebook.active_cell() == active


def test_saving_by_key_works_from_within_a_control(notebook: NotebookPage, explorer: Locator) -> None:
    explorer.locator("select, .noUi-handle").first.focus()
    saved = "() => !window.jupyterapp.shell.currentWidget.context.model.dirty"
    notebook.page.evaluate("() => { window.jupyterapp.shell.currentWidget.context.model.dirty = true; }")
    notebook.page.keyboard.press("Control+s")
    notebook.page.wait_for_function(saved)


def test_menus_change_by_arrow_keys_and_by_letters(notebook: NotebookPage, explorer: Locator) -> None:
    if not explorer.locator("select").count():
        pytest.skip(NO_MENU)
    menu = explorer.locator("select").first
    area, before = notebook.output_of(menu).element_handle(), menu.input_value()
    picture = notebook.picture_of(menu)
    menu.focus()
    notebook.page.keyboard.press("ArrowDown")
    if menu.input_value() == before:  # it stood at the last entry
        notebook.page.keyboard.press("ArrowUp")
    assert menu.input_value() != before
    notebook.page.wait_for_function(f"([area, text]) => !({PICTURE_IS})([area, text])", arg=[area, picture])
    notebook.settle()  # or the kernel's echo of the entry before comes after the letter
    notebook.page.keyboard.type(before[0])
    expect(menu).to_have_value(re.compile(f"^{re.escape(before[0])}"))


def test_sliders_and_buttons_have_names_and_say_values_with_units(notebook: NotebookPage, explorer: Locator) -> None:
    for handle in explorer.locator(".noUi-handle").all():
        row = handle.locator("xpath=ancestor::div[contains(@class, 'widget-inline-hbox')][1]")
        expect(handle).to_have_attribute("aria-label", row.locator(".widget-label").inner_text())
        # The kernel may have set the value between one reading and the next.
        notebook.page.wait_for_function(SAYS_ITS_VALUE, arg=[handle.element_handle(), row.element_handle()])
    expect(explorer.locator(".widget-play button:not([aria-label])")).to_have_count(0)


def test_a_moved_slider_says_its_new_value_with_its_unit(notebook: NotebookPage, explorer: Locator) -> None:
    units = [h for h in explorer.locator(".noUi-handle").all() if h.get_attribute("tabindex") == "0"]
    for handle in units[1:4]:
        before = handle.get_attribute("aria-valuetext")
        handle.focus()
        notebook.page.keyboard.press("ArrowRight")
        notebook.page.wait_for_function(
            "([handle, text]) => handle.getAttribute('aria-valuetext') !== text", arg=[handle.element_handle(), before]
        )
        notebook.settle()  # what this control offers to the next one may make that one's handle anew
        words = [re.sub(r"[\d.,]+", "", text).strip() for text in (before, handle.get_attribute("aria-valuetext"))]
        assert bool(words[0]) == bool(words[1])
    assert explorer.locator(".explorer-choices [contenteditable=true]").count() == 0  # nobody would heed a text


def test_a_moved_control_and_the_new_sentence_are_announced_in_a_region_that_stays(
    notebook: NotebookPage, explorer: Locator
) -> None:
    region, slider = explorer.locator("[role=status][aria-live=polite]"), first_slider(explorer)
    assert region.count() == 1
    stays = region.element_handle()
    notebook.move_slider(slider)
    name = slider.get_attribute("aria-label")
    expect(region).to_have_text(re.compile(f"^{re.escape(name)}: "))
    notebook.settle()
    comes_to_be(notebook.page, lambda: explorer.evaluate(ENDS_WITH_THE_WORDS), True)
    assert region.evaluate("(region, before) => region === before", stays)


def test_a_slider_that_is_dragged_announces_only_where_it_stops(notebook: NotebookPage) -> None:
    explorer = notebook.page.locator(".explorer").first
    assert explorer.evaluate(ANNOUNCED) == ["ranks: 9. Caption 20."]
    explorer.get_by_role("button", name="reset").click()


def test_a_number_that_was_typed_counts_when_the_reader_goes_on(notebook: NotebookPage) -> None:
    row = notebook.page.locator(".explorer .widget-inline-hbox:has([role=textbox])").first
    number, handle = row.locator("[role=textbox]"), row.locator(".noUi-handle").element_handle()
    for typed, shown in (("7", "7"), ("many", "7")):
        number.focus()
        notebook.page.keyboard.press("Control+a")
        notebook.page.keyboard.type(typed)
        notebook.page.keyboard.press("Tab")
        is_shown = (
            "([handle, shown]) => handle.getAttribute('aria-valuetext') === shown && +handle.ariaValueNow == shown"
        )
        notebook.page.wait_for_function(is_shown, arg=[handle, shown])
    notebook.page.locator(".explorer").first.get_by_role("button", name="reset").click()


def test_reset_ends_playing(notebook: NotebookPage) -> None:
    explorer = notebook.page.locator(".explorer:has(.widget-play)").first
    first = notebook.picture_of(explorer)
    explorer.get_by_role("button", name="play the steps").click()
    notebook.page.wait_for_function(PICTURE_CHANGED, arg=[notebook.output_of(explorer).element_handle(), first])
    explorer.get_by_role("button", name="reset").click()
    explorer.get_by_role("button", name="play the steps").wait_for()
    notebook.settle()
    notebook.page.wait_for_function(PICTURE_IS, arg=[notebook.output_of(explorer).element_handle(), first])
    notebook.page.wait_for_timeout(1500)  # two more steps of one that plays
    assert notebook.picture_of(explorer) == first


@pytest.mark.parametrize("explorer", ["DecompositionExplorer"], indirect=True)
def test_play_opens_what_moves_and_moves_no_other_slider(notebook: NotebookPage, explorer: Locator) -> None:
    sliders = explorer.locator(".widget-inline-hbox:has(.noUi-handle):not(:has-text('step'))")
    stood = sliders.all_text_contents()
    explorer.get_by_role("button", name="play the steps").click()
    expect(explorer.locator(".explorer-words")).to_contain_text("Step 2 of ")
    explorer.get_by_role("button", name="pause").click()
    notebook.settle()
    assert sliders.all_text_contents() == stood


def test_disabled_controls_are_left_out_of_the_tab_order(notebook: NotebookPage, explorer: Locator) -> None:
    for handle in explorer.locator(".noUi-target[disabled] .noUi-handle").all():
        expect(handle).to_have_attribute("tabindex", "-1")
        expect(handle).to_have_attribute("aria-disabled", "true")


@pytest.mark.parametrize("size", SIZES)
def test_every_control_is_seen_together_with_every_picture(
    notebook: NotebookPage, explorer: Locator, size: str
) -> None:
    width, height = SIZES[size]
    notebook.page.set_viewport_size({"width": width, "height": height})
    assert explorer.locator("figure svg[role=img]").count() >= 3
    comes_to_be(notebook.page, lambda: explorer.evaluate(APART), [])


def test_names_and_values_of_controls_are_read_in_full(notebook: NotebookPage, explorer: Locator) -> None:
    notebook.page.set_viewport_size({"width": 1366, "height": 768})
    cut = """explorer => [...explorer.querySelectorAll('.widget-label, .widget-readout')]
      .filter(text => text.offsetWidth && text.scrollWidth > text.clientWidth + 1).map(text => text.textContent)"""
    comes_to_be(notebook.page, lambda: explorer.evaluate(cut), [])


def test_the_controls_keep_their_place_while_a_slider_is_dragged(notebook: NotebookPage) -> None:
    explorer = notebook.page.locator(".explorer").first
    slider, last = first_slider(explorer), explorer.locator(".explorer-player")
    notebook.page.set_viewport_size({"width": 1000, "height": 1000})
    slider.scroll_into_view_if_needed()
    where, places = slider.bounding_box(), set()
    mouse = notebook.page.mouse
    mouse.move(where["x"] + 8, where["y"] + 8)
    mouse.down()
    for pixels in range(0, 60, 5):
        mouse.move(where["x"] + 8 + pixels, where["y"] + 8)
        notebook.page.wait_for_timeout(50)
        places.add(last.bounding_box()["y"])
    mouse.up()
    comes_to_be(notebook.page, lambda: slider.evaluate("handle => +handle.getAttribute('aria-valuenow') > 4"), True)
    assert len(places) == 1
    explorer.get_by_role("button", name="reset").click()


def test_the_still_hides_while_the_explorer_lives_and_stays_when_the_kernel_has_gone(notebook: NotebookPage) -> None:
    page = notebook.page
    areas = page.locator(".jp-OutputArea:has(.explorer)")
    everywhere = [True] * len(EXPLORERS)
    comes_to_be(page, lambda: [area.evaluate(HIDDEN_STILL) for area in areas.all()], everywhere)
    comes_to_be(page, lambda: any(words.is_visible() for words in page.locator("details.in-words").all()), False)
    notebook.save_and_shut_down()
    notebook.open()
    stills = page.locator(".jp-RenderedImage img")
    stills.first.wait_for()
    page.wait_for_timeout(1500)  # so long a message about models that are not found may take to come
    for shown in (stills, page.locator("details.in-words")):
        comes_to_be(page, lambda shown=shown: [part.is_visible() for part in shown.all()], everywhere)
    assert page.get_by_text("Error displaying widget").filter(visible=True).count() == 0
    notebook.run_all()
    page.locator(".explorer-sides").nth(len(EXPLORERS) - 1).wait_for()
