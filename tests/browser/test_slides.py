"""The lectures as slides: what is told and no more, without a network, each slide within its room."""

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from .harness import PATIENCE_MS

ROOT = Path(__file__).parents[2]
WIDTH_PX, HEIGHT_PX = 1280, 720
pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

sys.path.append(str(ROOT / "book"))
import slides  # noqa: E402

PAGES = slides.lectures()
# Of each slide with all its fragments: where its lowest and its rightmost part end.
ENDS = """async () => {
  const ends = [];
  for (let more = true; more;) {
    const slide = Reveal.getCurrentSlide();
    slide.querySelectorAll('.fragment').forEach(part => part.classList.add('visible'));
    const boxes = [...slide.querySelectorAll('*')].map(part => part.getBoundingClientRect());
    const {h, v} = Reveal.getIndices();
    ends.push([`${h}.${v}`, Math.max(...boxes.map(box => box.bottom)), Math.max(...boxes.map(box => box.right))]);
    while (Reveal.availableFragments().next) Reveal.nextFragment();
    more = !Reveal.isLastSlide();
    Reveal.next();
  }
  return ends;
}"""


@pytest.fixture(scope="module")
def decks(tmp_path_factory: pytest.TempPathFactory, values_in_book: int) -> Path:
    """All decks; the explorers of the first move, those of the others are tested in the book."""
    folder = tmp_path_factory.mktemp("slides")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(slides, "kept", lambda cell, max_values: "")
        slides.write_decks(PAGES[1:], folder)
    slides.write_decks(PAGES[:1], folder, values_in_book)
    return folder


def test_folds_links_and_formulas_become_what_a_room_can_use() -> None:
    text = "[before](06.ipynb) · [more](07_more.ipynb)\n\nSee [the page](07.ipynb#kept).\n\n<details>aside</details>"
    assert slides.told(text).split() == ["See", "the", "page."]
    assert "<math" in slides.told(r"It takes $2(p-1)\alpha$.")
    assert slides.told("`$x$` costs 5$ or 6$ a day") == "`$x$` costs 5$ or 6$ a day"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_deck_has_what_is_told_and_nothing_from_elsewhere(decks: Path, page: Path) -> None:
    text = (decks / f"{page.stem}.html").read_text(encoding="utf-8")
    body = text.partition("<main>")[2]
    assert "<details>" not in body
    assert re.findall(r'(?:src|href)="(?:https?:)?//[^"]*\.(?:js|css)"', text) == []
    told = [cell for cell in nbformat.read(page, as_version=4).cells if "**Prediction.**" in cell.source]
    assert body.count("<strong>Prediction.</strong>") == len(told)


@pytest.mark.parametrize("page", PAGES[:1], ids=lambda page: page.stem)
def test_an_explorer_on_a_slide_moves(decks: Path, page: Path, browser: Any) -> None:
    tab = browser.new_page(viewport={"width": WIDTH_PX, "height": HEIGHT_PX})
    tab.goto((decks / f"{page.stem}.html").as_uri())
    tab.wait_for_function("window.Reveal && Reveal.isReady()")
    tab.evaluate("""() => {
      const slide = document.querySelector('.moving-explorer').closest('section');
      const {h, v} = Reveal.getIndices(slide);
      Reveal.slide(h, v);
    }""")
    control = tab.locator(".moving-explorer :is(input, select):enabled").first
    control.wait_for(timeout=PATIENCE_MS)
    words = tab.locator(".moving-explorer .explorer-words")
    before = words.inner_text()
    control.press("ArrowRight" if control.get_attribute("type") == "range" else "ArrowDown")
    tab.wait_for_function("before => document.querySelector('.explorer-words').innerText !== before", arg=before)
    tab.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_slide_fits_its_room_and_asks_no_network(decks: Path, page: Path, browser: Any) -> None:
    tab = browser.new_page(viewport={"width": WIDTH_PX, "height": HEIGHT_PX})
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((decks / f"{page.stem}.html").as_uri())
    tab.wait_for_function("window.Reveal && Reveal.isReady()")
    ends = tab.evaluate(ENDS)
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len(ends) > 20
    assert [end for end in ends if end[1] > HEIGHT_PX or end[2] > WIDTH_PX] == []
    tab.close()
