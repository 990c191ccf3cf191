"""A chapter is a lecture of 90 minutes and a page of sections for those who want more; both keep to their weight.

Chapters that have no second page yet are in the form of before, which test_lecture_pages.py knows.
"""

import re
from itertools import pairwise

import nbformat
import pytest
from pages import LECTURES, PAGES
from weight import GUESS, weigh

MORE = [page for page in PAGES if page.stem.endswith("_more")]
NEW = [page for page in LECTURES if page.with_name(f"{page.name[:2]}_more.ipynb") in MORE]
OPENING = ("After this chapter you can", "**Time.**", "You need")
LABELS = ("**What you see.**", "**Why.**", "**What to do with it.**")


@pytest.fixture(params=NEW, ids=lambda page: page.stem)
def lecture(request):
    return nbformat.read(request.param, as_version=4).cells


@pytest.fixture(params=MORE, ids=lambda page: page.stem)
def more(request):
    return nbformat.read(request.param, as_version=4).cells


def text_of(cells):
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def test_a_lecture_keeps_to_its_weight(lecture):
    weight = weigh(lecture)
    assert (weight.cells <= 70, weight.words <= 4_000, weight.guesses <= 10, weight.lines <= 200) == (True,) * 4, weight
    assert weight.reading_minutes < 96, weight
    assert weight.telling_minutes < 53, weight


def test_a_second_page_keeps_to_its_weight_and_so_does_each_of_its_sections(more):
    weight = weigh(more)
    assert (weight.cells <= 100, weight.words <= 4_000, weight.lines <= 350) == (True,) * 3, weight
    lengths, title = {}, ""
    for cell in more:
        if heading := re.match(r"## (.+)", cell.source if cell.cell_type == "markdown" else ""):
            title = heading[1]
        lengths[title] = lengths.get(title, 0) + 1
    assert {name: count for name, count in lengths.items() if count > 15} == {}


def test_the_opening_says_what_one_can_do_afterwards_how_long_it_takes_and_what_one_needs(lecture):
    opening = text_of(lecture[:4])
    assert [words for words in OPENING if words not in opening] == []


def test_at_most_a_third_of_the_results_have_all_three_labels(lecture):
    results = [cell.source for cell in lecture if LABELS[0] in cell.source]
    full = [source for source in results if all(label in source for label in LABELS)]
    assert len(full) <= max(1, len(results) / 3)


def test_each_cell_says_whether_it_is_on_a_slide(lecture):
    assert [cell.id for cell in lecture if "slide_type" not in cell.metadata.get("slideshow", {})] == []


def test_a_question_and_its_result_are_on_two_slides(lecture):
    """A room guesses before it sees: what follows a question begins a slide, or is on none."""
    shown = [cell for cell in lecture if cell.metadata.slideshow.slide_type not in ("skip", "notes")]
    after = [(one.id, two) for one, two in pairwise(shown) if GUESS in one.source]
    kinds = {name: cell.metadata.slideshow.slide_type for name, cell in after}
    assert {name: kind for name, kind in kinds.items() if kind not in ("slide", "subslide")} == {}


def test_a_code_cell_on_a_slide_fits_its_width(lecture):
    told = [cell for cell in lecture if cell.metadata.slideshow.slide_type not in ("skip", "notes")]
    code = [cell for cell in told if cell.cell_type == "code" and "hide-input" not in cell.metadata.get("tags", [])]
    wide = {cell.id: max(map(len, cell.source.splitlines() or [""])) for cell in code}
    assert {name: width for name, width in wide.items() if width > 100} == {}


def test_nothing_prints_twenty_lines_of_the_library(lecture):
    assert [cell.id for cell in lecture if cell.cell_type == "code" and "show_source(" in cell.source] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_bold_italics_end_before_the_next_begin(page):
    """JupyterLab shows the inner asterisks of `***p*, *n***`; `***p***, ***n***` is the same everywhere."""
    for cell in nbformat.read(page, as_version=4).cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"\*{3}[^*\n]+\*[^*\n]+\*[^*\n]+\*{3}", cell.source), cell.id
