"""The symptoms: each row has its causes, two checks and a place in the course, and is found from every entrance."""

import re
from pathlib import Path

import pytest

from course_lib.desk import outline
from course_lib.desk.start import start_page

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "notebooks" / "symptoms.md").read_text(encoding="utf-8")
LINES = re.sub(r" <!--.*?-->", "", PAGE).splitlines()  # without what else people say
HEADER = "| I see | it may be | two checks | where |"
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in LINES if line.startswith("| ")]
ROWS = [row for row in ROWS if row[0] not in ("I see", "---")]
GROUPS = ["It hangs", "It dies", "It is wrong", "It is slow", "Memory", "Data"]
GROUPS += ["Saving and resuming", "Set-up", "Cluster"]
PROGRAMS = re.findall(r"def (test_\w+)", "".join(each.read_text("utf-8") for each in ROOT.glob("tests/symptoms/*.py")))
LINK = r"\[(\d\d) · ([^\]]+)\]\((\d\d_\w+\.ipynb)#([\w-]+)\)"


def test_the_groups_are_these_and_each_begins_a_table() -> None:
    assert [line.removeprefix("## ") for line in LINES if line.startswith("## ")] == GROUPS
    assert LINES.count(HEADER) == len(GROUPS)


def test_what_else_people_say_is_a_comment_to_every_renderer() -> None:
    for comment in re.findall(r"<!--(.*?)-->", PAGE):
        assert "--" not in comment
        assert "|" not in comment
        assert not comment.startswith((">", "->"))


def test_the_page_has_no_more_than_67_words_a_row() -> None:
    words = sum(bool(re.search(r"[^\W_]", word)) for line in LINES for word in line.split())
    assert words <= 67 * len(ROWS)


def test_no_symptom_comes_twice() -> None:
    seen = [row[0] for row in ROWS]
    assert len(seen) == len(set(seen)) >= 30


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_each_row_has_a_cause_two_checks_and_a_section_of_the_course(row: list[str]) -> None:
    sees, cause, checks, where = row
    assert all(cell.endswith((".", "?", "!")) for cell in (sees, cause, checks))
    assert re.findall(r"\*\*(\d)\.\*\*", checks) == ["1", "2"]
    assert re.fullmatch(LINK + r" (`\w+`|shown there|needs \w+( \w+)*)", where)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_the_word_behind_a_link_is_that_of_a_program(row: list[str]) -> None:
    for word in re.findall(r" `(\w+)`$", row[3]):
        assert any(word in program for program in PROGRAMS)


def test_of_three_rows_two_have_a_program() -> None:
    assert sum(row[3].endswith("`") for row in ROWS) >= len(ROWS) * 2 / 3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_the_words_of_a_link_are_the_number_and_the_heading_that_it_leads_to(row: list[str]) -> None:
    [(number, words, page, name)] = re.findall(LINK, row[3])
    text = (ROOT / "notebooks" / page).read_text(encoding="utf-8")
    [heading] = re.findall(rf'"#+ <a id=\\"{name}\\"></a>(?:\d+ · )?(.+?)\\n"', text)
    assert page.startswith(number)
    assert heading.casefold().startswith(words.casefold()) or words.casefold() in heading.casefold()


def test_readme_start_page_and_book_lead_to_the_symptoms(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(notebooks/symptoms.md)" in readme.partition("```")[0]
    assert "(notebooks/symptoms.md)" in start_page(tmp_path, outline(), {}, "today")
    assert "/notebooks/symptoms" in (ROOT / "book/index.md").read_text(encoding="utf-8").splitlines()
