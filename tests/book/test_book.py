"""The book has every page of the course, with words for its pictures, and loads nothing from elsewhere."""

import base64
import html
import io
import json
import re
import sys
import zlib
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from PIL import Image, ImageChops, ImageStat

from course_lib.cli.symptoms import read_rows
from course_lib.widgets import PipelineExplorer
from course_lib.widgets.pages import explorer_cells
from course_lib.widgets.states import states_of

# With those who open it in a browser, so that it is built once.
pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "book"))

from code_cells import formatted  # noqa: E402

SYMPTOMS = ROOT / "notebooks" / "symptoms.md"
NOTEBOOKS = sorted(path for folder in ("notebooks", "exercises") for path in (ROOT / folder).glob("*.ipynb"))
GENERATED = {"genindex.html", "search.html", "index.html"}  # Sphinx's own, and the way to the first page
CODE = {"cell_type": "code", "metadata": {}, "outputs": []}
WIDE: dict = {"cells": [CODE | {"source": [f"long({'a' * 50}, {'b' * 50})"], "execution_count": 1}], "metadata": {}}
WIDE |= {"nbformat": 4, "nbformat_minor": 4}
STALLED = {"output_type": "stream", "name": "stdout", "text": ["rank 0 waits in send to 1, cell [1], line 1"]}
NAMES_IT = CODE | {"source": ["run()"], "execution_count": 2, "outputs": [STALLED]}
LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Page(HTMLParser):
    """The tags of a page with their attributes, its ids, and the text between them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(path.read_text())
        self.ids = Counter(attributes["id"] for _, attributes in self.tags if "id" in attributes)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attributes}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


read = cache(Page)


def pages(book: Path) -> dict[str, Page]:
    return {str(path.relative_to(book)): read(path) for path in (*book.glob("*.html"), *book.glob("[a-z]*/*.html"))}


def pictures(notebook: Path) -> list[str]:
    """What each stored picture shows, in words."""
    outputs = [output for cell in nbformat.read(notebook, 4).cells for output in cell.get("outputs", [])]
    return [o.metadata["image/png"]["alt"] for o in outputs if "image/png" in o.get("data", {})]


def test_each_chapter_each_exercise_the_symptoms_and_the_glossary_are_a_page_that_the_contents_name(book: Path) -> None:
    expected = {str(path.relative_to(ROOT).with_suffix(".html")) for path in NOTEBOOKS}
    expected |= {"notebooks/glossary.html", "notebooks/symptoms.html"}
    assert set(pages(book)) - GENERATED == expected | {"book/index.html"}
    linked = {link["href"].removeprefix("../") for link in pages(book)["book/index.html"].of("a") if "href" in link}
    assert expected <= linked


def test_no_page_loads_anything_from_elsewhere(book: Path) -> None:
    loaded = [
        (name, tag, attributes[LOADS[tag]])
        for name, page in pages(book).items()
        for tag, attributes in page.tags
        if re.match(r"(\w+:)?//", attributes.get(LOADS.get(tag, ""), ""))
    ]
    styles = [(p.name, url) for p in book.rglob("*.css") for url in re.findall(r"""(?:url\(|@import )["']?(\S+)""", p.read_text())]  # fmt: skip  # noqa: E501
    assert loaded == []
    assert [(name, url) for name, url in styles if re.match(r"(https?:)?//", url)] == []


def test_every_picture_of_the_book_has_words_that_a_screen_reader_speaks(book: Path) -> None:
    silent = [(name, i["src"]) for name, page in pages(book).items() for i in page.of("img") if not i.get("alt")]
    assert silent == []
    for notebook in NOTEBOOKS:
        page = pages(book)[str(notebook.relative_to(ROOT).with_suffix(".html"))]
        assert [image["alt"] for image in page.of("img")] == pictures(notebook)


def test_every_link_leads_to_a_page_and_to_one_place_on_it(book: Path) -> None:
    dead = []
    for name, page in pages(book).items():
        for link in page.of("a"):
            to = urlsplit(link.get("href", "#"))
            if to.scheme or not (to.path or to.fragment):
                continue
            path = (book / name).parent / unquote(to.path) if to.path else book / name
            if not path.exists() or (to.fragment and read(path.resolve()).ids[unquote(to.fragment)] != 1):
                dead.append((name, link["href"]))
    assert dead == []


def test_the_exercises_are_there_without_solutions_and_without_outputs(book: Path) -> None:
    exercises = {name: page for name, page in pages(book).items() if name.startswith("exercises/")}
    assert exercises
    for name, page in exercises.items():
        assert "SOLUTION" not in page.text, name
        assert not any("cell_output" in block.get("class", "") for block in page.of("div")), name


def test_formulas_are_drawn_by_the_browser_itself(book: Path) -> None:
    assert sum(len(page.of("math")) for page in pages(book).values()) > 10
    assert [name for name, page in pages(book).items() if re.search(r"\\(frac|text|sum|sqrt)\b|\$\$", page.text)] == []


def test_an_explorer_shows_its_still_and_waits_for_no_widget(book: Path) -> None:
    page = pages(book)["notebooks/02_allreduce.html"]
    assert any(image["alt"].startswith("AllReduceExplorer with ") for image in page.of("img"))
    assert "widget-view" not in (book / "notebooks/02_allreduce.html").read_text()


def test_every_explorer_of_a_page_has_a_place_and_a_script_with_all_that_it_can_show(
    book: Path, values_in_book: int
) -> None:
    for notebook in (path for path in NOTEBOOKS if path.parent.name == "notebooks"):
        cells = explorer_cells(nbformat.read(notebook, 4))
        places = pages(book)[str(notebook.relative_to(ROOT).with_suffix(".html"))].of("div")
        named = [place["data-states"] for place in places if "data-states" in place]
        assert named == [f"{notebook.stem}-{number}" for number in cells]
        assert all((book / f"_static/explorers/{name}.js").exists() for name in named)
    script = next(book.glob("_static/explorers/06_*.js")).read_text()
    states = json.loads(zlib.decompress(base64.b64decode(script.split('"')[3])))
    pieces = states.pop("pieces")
    states["texts"] = ["".join(pieces[number] for number in numbers) for numbers in states["texts"]]
    assert states == json.loads(json.dumps(states_of(PipelineExplorer(), max_values=values_in_book)))


def test_the_first_page_has_words_for_who_shares_it_and_a_picture_of_each_chapter(book: Path) -> None:
    first = pages(book)["book/index.html"]
    described = {meta.get("name", meta.get("property", "")): meta.get("content", "") for meta in first.of("meta")}
    assert "fourteen chapters" in described["description"] == described["og:description"]
    assert described["og:title"]
    cards = [link["href"] for link in first.of("a") if link.get("class") == "chapter-card"]
    chapters = sorted(path for path in (ROOT / "notebooks").glob("[0-9]*.ipynb") if not path.stem.endswith("_more"))
    assert cards == [f"../notebooks/{path.stem}.html" for path in chapters]
    assert all((book / f"_static/thumbnails/{path.stem}.png").stat().st_size < 60_000 for path in chapters)
    assert "{{" not in first.text


def test_the_first_page_has_a_picture_that_moves_without_scripts_and_readme_has_the_same(book: Path) -> None:
    files = [book / f"_static/thumbnails/first{kind}.gif" for kind in ("", "-narrow")] + [ROOT / "docs/explorer.gif"]
    wide, narrow, readme = (Image.open(io.BytesIO(file.read_bytes())) for file in files)
    assert all(file.stat().st_size < 100_000 for file in files)
    assert [picture.n_frames for picture in (wide, narrow, readme)] == [7, 7, 7]
    assert readme.size == wide.size, "python book/animation.py draws README's again"
    for step in range(7):
        for picture in (wide, readme):
            picture.seek(step)
        differ = ImageChops.difference(wide.convert("L"), readme.convert("L"))
        assert ImageStat.Stat(differ).mean[0] < 1, "python book/animation.py draws README's again"


def test_code_that_only_draws_or_sets_up_is_folded_and_nothing_else_is(book: Path) -> None:
    for notebook in NOTEBOOKS:
        cells = [cell for cell in nbformat.read(notebook, 4).cells if cell.cell_type == "code"]
        drawing = [cell for cell in cells if "hide-input" in cell.metadata.get("tags", [])]
        parameters = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
        page = pages(book)[str(notebook.relative_to(ROOT).with_suffix(".html"))]
        hidden = [fold for fold in page.of("details") if "hide" in fold.get("class", "").split()]
        imports = page.text.count("Set-up: imports") // 2  # a fold's two captions
        assert imports == 1
        assert (len(hidden), [fold for fold in hidden if "open" in fold]) == (len(drawing + parameters) + 1, [])


def test_code_has_88_columns_but_for_long_strings_and_what_an_output_names_by_line(book: Path) -> None:
    assert formatted(WIDE)["cells"][0]["source"] == ["long(\n", f"    {'a' * 50},\n", f"    {'b' * 50},\n", ")"]
    assert formatted(WIDE | {"cells": [WIDE["cells"][0], NAMES_IT]})["cells"][0] == WIDE["cells"][0]
    lines = re.findall(r'<span class="line"[^>]*>(.*?)\n</span>', (book / "notebooks/02_allreduce.html").read_text())
    assert len(lines) > 100
    assert max(len(html.unescape(re.sub("<.*?>", "", line))) for line in lines) <= 88


def test_each_term_of_the_glossary_has_its_meaning_and_three_translations_below(book: Path) -> None:
    page = pages(book)["notebooks/glossary.html"]
    terms = [line for line in (ROOT / "notebooks/glossary.md").read_text().splitlines() if line.startswith("| **")]
    assert len(page.of("dt")) == len(page.of("dd")) == len(terms)
    assert [span["lang"] for span in page.of("span") if "lang" in span] == ["ru", "uk", "zh"] * len(terms)
    assert page.of("table") == []


def test_the_search_knows_each_row_of_the_symptoms_and_where_it_stands(book: Path) -> None:
    script = (book / "_static/symptom-rows.js").read_text().removeprefix("window.symptomRows = ")
    rows = json.loads(script.rstrip(";\n"))
    named = [row["id"] for row in pages(book)["notebooks/symptoms.html"].of("tr") if "id" in row]
    assert named == [f"row-{number}" for number in range(len(rows))]
    assert [row["sees"] for row in rows] == [row.sees for row in read_rows(SYMPTOMS.read_text())]


def test_a_figure_that_is_stored_for_narrow_pages_stands_beside_its_picture(book: Path) -> None:
    for notebook in NOTEBOOKS:
        outputs = [output for cell in nbformat.read(notebook, 4).cells for output in cell.get("outputs", [])]
        stored = [o for o in outputs if "narrow" in o.get("metadata", {}).get("image/png", {})]
        page = pages(book)[str(notebook.relative_to(ROOT).with_suffix(".html"))]
        assert len([div for div in page.of("div") if div.get("class") == "narrow-figure"]) == len(stored)
