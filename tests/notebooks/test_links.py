"""Every link of the chapters and exercises leads somewhere: in the clone, on a desk, in JupyterLab and on GitHub."""

import json
import re
from pathlib import Path

import pytest

from course_lib.desk.versions import course_files

ROOT = Path(__file__).parents[2]
PAGES = [inner for inner in course_files(ROOT) if inner.suffix in (".ipynb", ".md")]
LINK = re.compile(r'\]\(([^)\s]+)\)|(?:href|src)="([^"]+)"')


def texts(inner: Path) -> list[str]:
    """What each cell of prose says; of a Markdown file, all of it. Code between fences or backticks is left out."""
    text = (ROOT / inner).read_text(encoding="utf-8")
    cells = [text]
    if inner.suffix == ".ipynb":
        cells = ["".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "markdown"]
    return [re.sub(r"```.*?```|`[^`\n]*`", "", cell, flags=re.DOTALL) for cell in cells]


def is_chapter(inner: Path) -> bool:
    """Whether this is a chapter's lecture and no draft."""
    if not re.match(r"notebooks/\d\d_.*(?<!_more)\.ipynb", inner.as_posix()):
        return False
    return "draft" not in json.loads((ROOT / inner).read_text())["cells"][0]["metadata"].get("tags", [])


CHAPTERS = [inner for inner in PAGES if is_chapter(inner)]


def links(inner: Path, cells: list[str]) -> list[str]:
    found = [one or other for cell in cells for one, other in LINK.findall(cell)]
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(inner: Path) -> list[str]:
    """The ids that a page sets itself: JupyterLab and GitHub make others from headings, each by a rule of its own."""
    return [name for cell in texts(inner) for name in re.findall(r'<a id="([^"]+)"></a>', cell)]


@pytest.mark.parametrize("inner", PAGES, ids=str)
def test_every_link_leads_to_a_file_that_lies_on_a_desk_too(inner: Path) -> None:
    files = {link.partition("#")[0] for link in links(inner, texts(inner))} - {""}
    places = {link: (ROOT / inner).parent.joinpath(link).resolve() for link in files}
    on_a_desk = {(ROOT / each).resolve() for each in PAGES}
    assert [link for link, place in places.items() if place not in on_a_desk] == []


@pytest.mark.parametrize("inner", PAGES, ids=str)
def test_every_anchor_is_set_by_its_page_and_no_name_twice(inner: Path) -> None:
    own = anchors(inner)
    assert len(own) == len(set(own))
    for link in links(inner, texts(inner)):
        file, sign, name = link.partition("#")
        target = Path((ROOT / inner).parent, file).resolve().relative_to(ROOT.resolve()) if file else inner
        assert not sign or name in anchors(target), link


@pytest.mark.parametrize("inner", CHAPTERS, ids=str)
def test_a_chapter_leads_to_the_one_before_and_after_and_to_its_exercises(inner: Path) -> None:
    place = CHAPTERS.index(inner)
    neighbors = [each.name for each in (CHAPTERS[:place][-1:], CHAPTERS[place + 1 :][:1]) for each in each]
    exercises = [f"../exercises/{inner.name}"] * (ROOT / "exercises" / inner.name).exists()
    cells = texts(inner)
    assert [link for link in [*neighbors, *exercises] if link not in links(inner, cells[:1])] == []
    more = [f"{inner.name[:2]}_more.ipynb"] * (ROOT / "notebooks" / f"{inner.name[:2]}_more.ipynb").exists()
    assert [link for link in more if link not in links(inner, cells[:1])] == []
    assert [link for link in neighbors[-1:] if link not in links(inner, cells[-1:])] == []


@pytest.mark.parametrize("inner", [each for each in PAGES if each.stem.endswith("_more")], ids=str)
def test_a_second_page_leads_back_to_its_lecture(inner: Path) -> None:
    [lecture] = [each for each in CHAPTERS if each.name[:2] == inner.name[:2]]
    assert lecture.name in [link.partition("#")[0] for link in links(inner, texts(inner)[:1])]


@pytest.mark.parametrize("inner", [each for each in PAGES if each.parts[0] == "exercises"], ids=str)
def test_exercises_lead_back_to_their_chapter(inner: Path) -> None:
    assert f"../notebooks/{inner.name}" in links(inner, texts(inner)[:1])
