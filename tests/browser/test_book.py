"""The book in a browser that reaches nothing but the book: read a page, follow a link, search a word."""

import functools
import io
import re
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median_low
from urllib.parse import quote

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from .harness import PATIENCE_MS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]


SIZE = "element => getComputedStyle(element).fontSize"
COLUMNS = """code => {
  const ruler = code.appendChild(Object.assign(document.createElement('span'), { textContent: 'm'.repeat(10) }));
  const { paddingLeft, paddingRight } = getComputedStyle(code), wide = ruler.getBoundingClientRect().width / 10;
  ruler.remove();
  return (code.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)) / wide;
}"""
IS_BEFORE = """([first, second]) => {
  const [one, other] = [first, second].map(name => document.querySelector(name));
  return Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
}"""
# What reaches out of the window or is scrolled sideways, the folds opened; a table that says so may be.
CUT = """async () => {
  document.querySelectorAll('article details').forEach(fold => { fold.open = true; });
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const isCut = element => {
    const { left, right, width } = element.getBoundingClientRect();
    const { overflowX, textOverflow } = getComputedStyle(element);
    if (width <= 1 || element.closest('svg svg, .goes-on')) return false;
    const scrolls = overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1;
    return right > innerWidth + 1 || left < -1 || (scrolls && textOverflow !== 'ellipsis');
  };
  return [...document.querySelectorAll('article *')].filter(isCut).map(each => `${each.tagName}.${each.className}`);
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(book: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(book))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(params=[(1366, 768), (390, 844)], ids=["laptop", "phone"])
def page(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Page]:
    """A page at the book's beginning; it asks nobody else for anything, and no script of it fails."""
    width, height = request.param
    elsewhere, errors = [], []
    with browser.new_context(viewport={"width": width, "height": height}) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", lambda asked: asked.url.startswith((address, "data:")) or elsewhere.append(asked.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/index.html")
        page.wait_for_url("**/book/index.html")
        yield page
    assert elsewhere == []
    assert errors == []


def is_narrow_enough(page: Page) -> bool:
    """Whether the page is not to be scrolled sideways."""
    return page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def follow(page: Page, link: Locator, heading: str) -> None:
    """Click on a link; return when the page with this heading is there, with all its pictures."""
    link.click()
    expect(page.locator("article h1")).to_have_text(re.compile(f"^{heading}"))
    page.wait_for_function("() => document.readyState === 'complete'")


def test_a_reader_opens_a_chapter_sees_its_pictures_and_goes_on_to_the_next(page: Page) -> None:
    follow(page, page.locator("article").get_by_role("link", name="02 · AllReduce topologies"), "02 · AllReduce")
    widths = [picture.evaluate("i => i.naturalWidth") for picture in page.locator("article img").all()]
    assert len(widths) > 10
    assert min(widths) > 100
    assert is_narrow_enough(page)
    follow(page, page.get_by_role("link", name="next"), "03 · ")


def test_headings_have_three_sizes_and_code_of_88_columns_has_room_on_a_laptop(page: Page, address: str) -> None:
    page.goto(f"{address}/notebooks/02_allreduce.html")
    assert [page.locator(f"article {tag}").first.evaluate(SIZE) for tag in ("h1", "h2", "h3")] == (
        ["36px", "26px", "19px"] if is_laptop(page) else ["30px", "23px", "18px"]
    )
    code = page.locator("article .cell_input pre:not(details pre)").first
    assert code.evaluate(SIZE) == ("14px" if is_laptop(page) else "12px")
    assert (code.evaluate(COLUMNS) >= 88) == is_laptop(page)


def test_on_a_phone_figures_are_drawn_narrow_and_their_words_keep_their_size(page: Page, address: str) -> None:
    page.goto(f"{address}/notebooks/02_allreduce.html")
    figures = page.locator(".cell_output:not(.explorer-moves) .narrow-figure")
    assert figures.count() >= 10
    for figure in figures.all():
        assert figure.is_hidden() == is_laptop(page)
        picture = figure.locator("xpath=preceding-sibling::*[1]").locator("img")
        assert picture.is_visible() == is_laptop(page)
        assert {svg.evaluate(SIZE) for svg in figure.locator("svg[role=img]").all()} == {"12px"}


def is_laptop(page: Page) -> bool:
    assert page.viewport_size is not None
    return page.viewport_size["width"] > 1000


def test_on_the_first_page_an_explorer_plays_until_a_reader_takes_it(page: Page) -> None:
    words = page.locator(".explorer-words")
    first = words.text_content()
    expect(words).not_to_have_text(first)
    expect(page.get_by_role("status")).to_have_text("")  # nobody asked to hear it
    page.get_by_label("plan", exact=True).focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="play the steps")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("plan: ")
    taken = words.text_content()
    page.wait_for_timeout(1600)
    assert words.text_content() == taken
    assert_is_on_the_first_screen(page, page.locator(".explorer-pictures svg[role=img]").first)
    assert page.locator(".chapter-card").count() == 14


def assert_is_on_the_first_screen(page: Page, part: Locator) -> None:
    page.evaluate("() => scrollTo({ top: 0, behavior: 'instant' })")
    box, size = part.bounding_box(), page.viewport_size
    assert box is not None
    assert size is not None
    assert box["y"] + box["height"] <= size["height"]


def test_without_scripts_a_picture_moves_on_the_first_page(browser: Browser, address: str) -> None:
    with browser.new_context(java_script_enabled=False, viewport={"width": 375, "height": 667}) as context:
        page = context.new_page()
        page.goto(f"{address}/book/index.html")
        picture = page.locator(".first-explorer img")
        first = picture.screenshot()
        for _ in range(50):
            if picture.screenshot() != first:
                return
            page.wait_for_timeout(200)
    pytest.fail("nothing moved in ten seconds")


def test_code_is_copied_by_a_button(page: Page) -> None:
    block = page.locator("div.highlight", has_text="git clone")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    block.hover()
    block.get_by_role("button", name="copy this code").click()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith("git clone ")
    assert copied.count("\n") == 1


def test_an_exercise_of_the_table_is_one_click_away(page: Page) -> None:
    follow(page, page.locator("article").get_by_role("link", name="Exercises: AllReduce"), "Exercises: AllReduce")
    page.locator('td a[href="#e"]').click()
    page.wait_for_function("() => Math.abs(document.getElementById('e').getBoundingClientRect().top) < innerHeight / 2")
    assert is_narrow_enough(page)


def test_a_word_is_found(page: Page) -> None:
    page.goto(page.url.replace("book/index.html", "search.html?q=straggler"))
    expect(page.locator("#search-results li a", has_text="03 · ").first).to_be_visible()


@pytest.mark.parametrize(
    ("asked", "cause"),
    [
        ("nccl timeout", "A collective that not all ranks call"),
        ("NCCL time-outs", "One rank died, and the others noticed"),
        ("nccl timed out", "One slow rank"),
        ("port already in use", "Another run has the port"),
    ],
)
def test_a_search_names_rows_of_the_symptoms_before_pages(browser: Browser, book: Path, asked: str, cause: str) -> None:
    page = browser.new_page()
    page.goto(f"{(book / 'search.html').as_uri()}?q={quote(asked)}")
    rows = page.locator(".found-symptoms li")
    expect(rows.filter(has_text=cause)).to_have_count(1)
    assert rows.count() <= 5
    assert page.evaluate(IS_BEFORE, [".found-symptoms", "#search-results"])
    rows.filter(has_text=cause).locator("a").click()
    expect(page.locator("tr:target")).to_contain_text(cause)
    page.close()


def test_the_glossary_shows_the_terms_that_have_the_words_best_first(page: Page, address: str) -> None:
    page.goto(f"{address}/notebooks/glossary.html")
    page.get_by_label("Show only the terms with").fill("all reduce")
    terms = page.locator(".glossary-terms dt")
    assert terms.first.text_content() == "all-reduce"
    assert 1 < terms.count() < 60
    page.get_by_label("Show only the terms with").fill("全收集")
    assert terms.all_text_contents() == ["all-gather"]
    expect(page.get_by_role("status")).to_have_text("1 of 350")
    meaning, column = (page.locator(f".glossary-terms {part}").first.bounding_box() for part in ("dd", "dt"))
    assert meaning is not None
    assert column is not None
    assert meaning["width"] > (0.6 if is_laptop(page) else 0.9) * (meaning["x"] + meaning["width"] - column["x"])


def test_on_a_dark_page_pictures_and_tables_are_dark_too(browser: Browser, address: str) -> None:
    with browser.new_context(color_scheme="dark") as context:
        page = context.new_page()
        page.goto(f"{address}/notebooks/07_gradient_checkpointing.html")
        still = ".cell_output:not(:has(.moving-explorer))"
        parts = page.locator(f"{still} img, {still} table").all()
        box = page.locator(".moving-explorer").first
        box.evaluate("box => box.scrollIntoView()")
        parts.append(box.locator(".explorer-controls"))
        pictures = [Image.open(io.BytesIO(part.screenshot())).convert("L") for part in parts]
    assert len(pictures) > 10
    assert max(median_low(picture.get_flattened_data()) for picture in pictures) < 64


def test_nothing_is_cut_or_scrolled_sideways_but_a_table_that_says_so(page: Page, book: Path, address: str) -> None:
    wide, cut = [], {}
    for path in sorted(book.glob("[a-z]*/*.html")):
        page.goto(f"{address}/{path.relative_to(book)}")
        if not is_narrow_enough(page):
            wide.append(path.name)
        if found := page.evaluate(CUT):
            cut[path.name] = found[:3]
    assert wide == []
    assert cut == {}
