"""The start page and the next step, on a small course and on the real one."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_lib.cli import main
from course_lib.desk import START, keep, kept_points, next_step, outline, write_start_page
from course_lib.desk.contents import MINUTES_PER_POINT, WORDS_PER_MINUTE
from course_lib.desk.start import GUESS, after_save, cells_run, unread_pages
from course_lib.grading.exercises import chapters as graded_chapters
from course_lib.grading.exercises import exercises_of

from .conftest import TABLE, Course, notebook

OUTLINE = outline()


def run_cells(desk: Path, page: str) -> None:
    path = desk / page
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"] = 1
    path.write_text(json.dumps(notebook))


def test_the_outline_is_read_off_the_pages(course: Course) -> None:
    first, second = outline(course.folder)
    assert (first.title, first.needs, first.exercises) == ("Start", (), ())
    assert (second.title, second.needs, second.exercises_page) == ("Rings", ("00",), "exercises/01_rings.ipynb")
    assert [(each.id, each.title, each.points) for each in second.exercises] == [
        ("01a", "a ring", 2),
        ("01b", "a tree", 3),
    ]


def test_the_next_step_goes_through_pages_and_exercises_in_order(course: Course) -> None:
    course.lay()
    chapters, steps = outline(course.folder), []

    def note() -> None:
        steps.append(next_step(course.desk, chapters, kept_points(course.desk)))

    note()
    run_cells(course.desk, chapters[0].page)
    note()
    keep(course.desk, {"01a": 1})
    note()
    keep(course.desk, {"01a": 2})
    note()
    keep(course.desk, {"01b": 3})
    note()
    keep(course.desk, {"01a": 0})
    note()
    assert steps == [
        ("chapter 00, Start", "notebooks/00_start.ipynb"),
        ("chapter 01, Rings", "notebooks/01_rings.ipynb"),
        ("exercise 01a, a ring", "exercises/01_rings.ipynb#a"),
        ("exercise 01b, a tree", "exercises/01_rings.ipynb#b"),
        ("nothing, because you have done all exercises", "notebooks/01_rings.ipynb"),
        ("nothing, because you have done all exercises", "notebooks/01_rings.ipynb"),
    ]


def test_a_page_that_was_begun_is_gone_on_with_at_the_last_cell_that_was_run(course: Course) -> None:
    course.write(
        "notebooks/01_rings.ipynb", ["# 01 · Rings\n\nYou need chapter 00.", *[(f"ring({n})", 3) for n in range(4)]]
    )
    course.lay()
    path = course.desk / "notebooks/01_rings.ipynb"
    page = json.loads(path.read_text())
    page["cells"][2]["execution_count"] = 7
    path.write_text(json.dumps(page))
    write_start_page(course.desk, course.folder)
    text = (course.desk / START).read_text()
    assert "**Next: [go on with chapter 01, Rings](notebooks/01_rings.ipynb#cell-id=2).** It builds on" in text
    assert "what you have not read yet: [00 Start](notebooks/00_start.ipynb)." in text
    run_cells(course.desk, "notebooks/00_start.ipynb")
    run_cells(course.desk, "notebooks/01_rings.ipynb")
    write_start_page(course.desk, course.folder)
    assert "It builds on" not in (course.desk / START).read_text()


def test_a_page_saved_later_or_exercises_checked_later_are_where_one_was(course: Course) -> None:
    course.lay()
    chapters, steps = outline(course.folder), []
    run_cells(course.desk, chapters[1].page)
    for exercise in (None, "01b"):
        if exercise:
            keep(course.desk, {exercise: 1})
        steps.append(next_step(course.desk, chapters, kept_points(course.desk))[0])
    run_cells(course.desk, chapters[0].page)
    keep(course.desk, {"01a": 2})
    keep(course.desk, {"01b": 1})
    assert list(kept_points(course.desk)) == ["01a", "01b"]
    steps.append(next_step(course.desk, chapters, kept_points(course.desk))[0])
    assert steps == ["exercise 01a, a ring", "exercise 01a, a ring", "exercise 01b, a tree"]


def test_saving_a_page_writes_the_start_page_and_saving_elsewhere_or_something_else_writes_none(course: Course) -> None:
    course.lay()
    page = course.desk / "notebooks/00_start.ipynb"
    assert after_save(str(page), {"type": "file"}, contents_manager=None) is None
    assert after_save(str(course.folder / "notebooks/00_start.ipynb"), {"type": "notebook"}) is None
    after_save(str(page), {"type": "notebook"}, contents_manager=None).join()
    assert "**Next: [" in (course.desk / START).read_text()


def test_a_start_page_that_cannot_be_written_costs_no_save(course: Course, caplog: pytest.LogCaptureFixture) -> None:
    course.lay()
    (course.desk / ".desk/points.json").write_text("{")
    after_save(str(course.desk / "notebooks/00_start.ipynb"), {"type": "notebook"}).join()
    assert "the start page could not be written: " in caplog.text


def test_a_chapters_second_page_stands_beside_its_first_and_is_nobodys_next_step(course: Course) -> None:
    course.write("notebooks/01_more.ipynb", ["# 01 · More on rings\n\n[lecture](01_rings.ipynb)", ("tree()", 3)])
    course.write("notebooks/01_rings.ipynb", ["# 01 · Rings", "**You need** chapter 00: ranks.", ("ring()", 3)])
    course.lay()
    chapters = outline(course.folder)
    assert [(each.page, each.needs, each.more) for each in chapters[1:]] == [
        ("notebooks/01_rings.ipynb", ("00",), "notebooks/01_more.ipynb")
    ]
    write_start_page(course.desk, course.folder)
    start = (course.desk / START).read_text()
    assert "[01 Rings](notebooks/01_rings.ipynb) ([more](notebooks/01_more.ipynb))" in start
    assert "notebooks/01_more.ipynb" in course.on_desk()
    run_cells(course.desk, chapters[0].page)
    run_cells(course.desk, chapters[1].page)
    assert next_step(course.desk, chapters, {})[0] == "exercise 01a, a ring"


def test_after_the_last_chapter_the_next_step_is_what_was_skipped(course: Course) -> None:
    course.write("notebooks/02_last.ipynb", ["# 02 · Last\n\nYou need chapter 01."])
    course.lay()
    run_cells(course.desk, "notebooks/00_start.ipynb")
    keep(course.desk, {"01a": 2})
    course.write("exercises/02_last.ipynb", [TABLE])
    chapters = outline(course.folder)
    keep(course.desk, {"02a": 2, "02b": 3})
    assert next_step(course.desk, chapters, kept_points(course.desk)) == (
        "skipped: exercise 01b, a tree",
        "exercises/01_rings.ipynb#b",
    )


def test_the_next_step_is_where_one_was_and_at_the_end_what_was_skipped(course: Course) -> None:
    course.write(
        "notebooks/02_aside.ipynb",
        ["# 02 · Aside\n\nNow and then you cut. You need to.\n\nYou need chapter 00.", ("2", 2)],
    )
    course.write("notebooks/03_last.ipynb", ["# 03 · Last\n\nYou need chapter 01.", ("3", 3)])
    course.lay()
    steps = []
    for page in ("03_last", "00_start", "01_rings"):  # Run All in the last chapter, then what it needs
        run_cells(course.desk, f"notebooks/{page}.ipynb")
        steps.append(next_step(course.desk, outline(course.folder), {})[0])
    assert steps == ["skipped: chapter 00, Start", "chapter 01, Rings", "exercise 01a, a ring"]


def test_a_page_of_text_alone_is_in_nobody_s_way(course: Course) -> None:
    course.write("notebooks/00_start.ipynb", ["# 00 · Start\n\nHello."])
    course.lay()
    run_cells(course.desk, "notebooks/01_rings.ipynb")
    assert next_step(course.desk, outline(course.folder), {})[0] == "exercise 01a, a ring"


def test_the_empty_cell_below_the_last_does_not_count(course: Course) -> None:
    course.lay()
    path = course.desk / "notebooks/00_start.ipynb"
    page = json.loads(path.read_text())
    empty = [{"cell_type": "code", "source": source, "outputs": [], "execution_count": None} for source in ("", ["\n"])]
    path.write_text(json.dumps(page | {"cells": page["cells"] + empty}))
    run_cells(course.desk, "notebooks/00_start.ipynb")
    assert cells_run(course.desk, outline(course.folder)[0]) == (1, 1)


def test_the_start_page_says_at_its_head_of_when_it_is(course: Course) -> None:
    course.lay()
    write_start_page(course.desk, course.folder)
    head = (course.desk / START).read_text().partition("| chapter")[0]
    assert re.search(r"0 of 5 points so far, as of \d{4}-\d\d-\d\d, \d\d:\d\d\.", head)
    assert "*Reload Markdown File from Disk*" in head


def test_a_later_check_that_gave_less_is_named(course: Course) -> None:
    course.lay()
    for points in (2, 0):
        keep(course.desk, {"01a": points})
    write_start_page(course.desk, course.folder)
    assert "#a)\N{NO-BREAK SPACE}✓\N{NO-BREAK SPACE}(now\N{NO-BREAK SPACE}0) [b]" in (course.desk / START).read_text()


def test_the_start_page_is_written_anew_and_what_a_student_wrote_into_it_is_kept(course: Course) -> None:
    course.lay()
    page = course.desk / START
    assert write_start_page(course.desk, course.folder) == ""
    keep(course.desk, {"01a": 1})
    assert write_start_page(course.desk, course.folder) == ""
    text = page.read_text()
    assert "You have 1 of 5 points so far" in text
    for name in ("START.yours.md", "START.yours-2.md"):
        page.write_text(text + "mine")
        assert write_start_page(course.desk, course.folder) == f"what you wrote into START.md is in {name}"
        assert (course.desk / name).read_text() == text + "mine"
        assert page.read_text() == text


def test_newer_versions_that_lie_beside_changed_pages_are_named_until_they_are_gone(course: Course) -> None:
    course.lay()
    (course.desk / "exercises/01_rings.ipynb").write_text(notebook([("mine", None)]))
    course.write("exercises/01_rings.ipynb", ["# Better"])
    course.lay()
    write_start_page(course.desk, course.folder)
    newer = "exercises/01_rings.newer.ipynb"
    assert f"pages that you have changed: [{newer}]({newer})." in (course.desk / START).read_text()
    (course.desk / newer).unlink()
    write_start_page(course.desk, course.folder)
    assert "newer.ipynb" not in (course.desk / START).read_text()


def test_points_of_an_exercise_that_gives_fewer_now_are_cut(course: Course) -> None:
    course.lay()
    keep(course.desk, {"01a": 9})
    write_start_page(course.desk, course.folder)
    assert "You have 2 of 5 points so far" in (course.desk / START).read_text()


@pytest.mark.parametrize("text", ["{", "", "[]", '{"cells": []}', '{"cells": 3}', "\xff", None])
def test_a_page_that_cannot_be_read_is_not_done(course: Course, text: str | None) -> None:
    course.lay()
    page = course.desk / "notebooks/00_start.ipynb"
    page.unlink()
    if text is not None:
        page.write_text(text, encoding="latin-1")
    write_start_page(course.desk, course.folder)
    assert "| 0 of 1 |" in (course.desk / START).read_text()
    keep(course.desk, {"01a": 2, "01b": 3})
    chapters = outline(course.folder)
    words = "skipped: chapter 00, Start"
    assert next_step(course.desk, chapters, kept_points(course.desk)) == (words, chapters[0].page)
    assert [words.partition(" cannot")[0] for words in unread_pages(course.desk, chapters)] == (
        [] if text in (None, '{"cells": []}') else [chapters[0].page]
    )


ODD = {
    "no count": {"cell_type": "code", "source": "x", "outputs": []},
    "no metadata": {"cell_type": "code", "source": "x", "outputs": [], "execution_count": None},
    "metadata is null": {"cell_type": "code", "source": "x", "metadata": None},
    "tags are null": {"cell_type": "code", "source": "x", "metadata": {"tags": None}},
    "no source": {"cell_type": "markdown"},
    "no kind": {"source": "x"},
    "a guess without source": {"cell_type": "markdown", "id": "0-guess"},
    "a number": 3,
}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("name", ODD)
def test_one_odd_cell_hides_no_run_of_the_others_and_stops_no_desk(course: Course, name: str, mark: str) -> None:
    run = {"cell_type": "code", "metadata": {}, "source": ["y"], "outputs": [], "execution_count": 1}
    is_code = "outputs" in ODD[name] or ODD[name].get("cell_type") == "code" if isinstance(ODD[name], dict) else False
    course.lay()
    page = course.desk / "notebooks/00_start.ipynb"
    page.write_text(mark + json.dumps({"cells": [run, ODD[name], run]}))
    assert cells_run(course.desk, outline(course.folder)[0]) == (2, 2 + is_code)
    course.write("notebooks/00_start.ipynb", ["# 00 · Start\n\nBetter.", ("1 + 1", 2)])
    assert [said for said in course.lay() if "is yours and stays" in said]
    assert page.read_text() == mark + json.dumps({"cells": [run, ODD[name], run]})


@pytest.mark.parametrize("chapter", OUTLINE, ids=lambda chapter: chapter.number)
def test_every_page_says_what_it_needs(chapter) -> None:
    numbers = [each.number for each in OUTLINE]
    assert all(need in numbers and need < chapter.number for need in chapter.needs)
    assert chapter.needs or chapter.number == "00"
    assert chapter.minutes > 0


@pytest.mark.parametrize("number", graded_chapters())
def test_the_exercises_of_the_outline_are_those_that_are_graded(number: str) -> None:
    chapter = next((each for each in OUTLINE if each.number == number), None)
    if chapter is None:
        pytest.skip(f"chapter {number} has no page yet")
    assert {each.id: each.points for each in chapter.exercises} == {e.id: e.points for e in exercises_of(number)}


def test_the_page_says_how_its_times_are_guessed() -> None:
    words = f"{WORDS_PER_MINUTE} words a minute, a minute for each cell of code and each prediction"
    assert (f"{words}, five for each point", 5) == (GUESS, MINUTES_PER_POINT)


def test_progress_prints_the_same_in_the_terminal(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    course.lay()
    (course.desk / OUTLINE[0].page).write_text(notebook([("1", 1)]))
    keep(course.desk, {"01a": 2, "02b": 1.5})
    (course.desk / OUTLINE[1].page).write_text("{")
    (course.desk / "exercises/deeper").mkdir()
    monkeypatch.chdir(course.desk / "exercises/deeper")
    result = CliRunner().invoke(main, ["progress"], terminal_width=120)
    assert result.exit_code == 0
    assert "3.5 of " in result.output
    assert "Next: exercise 02a" in result.output
    assert "01 Data" in result.output
    assert f"{OUTLINE[1].page} cannot be read: not a notebook" in result.output


def test_progress_without_a_desk_says_how_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["progress"])
    assert result.exit_code == 1
    assert "`course desk` makes one" in result.output
