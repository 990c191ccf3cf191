"""The class's page has the questions that most guessed wrong, of those who handed in desks."""

import json
import os
from pathlib import Path

import pytest

from course_lib.desk.guesses import LABEL
from course_lib.grading.judge.grader import Grade
from course_lib.grading.reports.classroom import class_page
from course_lib.grading.submissions.folder import Graded

PAGE = "notebooks/00_orientation.ipynb"
GUESSES = {
    "ann": {"alone-question": "one", "ring-question": "nothing", "best-question": "30", "helps": "2"},
    "bob": {"alone-question": "one", "ring-question": "its own number", "best-question": "8", "helps": "10"},
    "cyd": {"ping-question": "only a few times", "best-question": "3", "helps": "2", "fewer-question": "rank 1"},
}


def hand_in(folder: Path, student: str, guesses: dict[str, str], page: str = PAGE) -> Graded:
    """A desk with a page of guesses, whose code has run, and an answer to an exercise."""
    desk = folder / student
    (desk / "exercises").mkdir(parents=True)
    (desk / "notebooks").mkdir()
    cells: list[dict] = []
    for name, words in guesses.items():
        place = {"cell_type": "markdown", "id": f"{name}-guess", "metadata": {}, "source": f"{LABEL} {words}"}
        cells += [place, {"cell_type": "code", "metadata": {}, "source": "1", "outputs": [], "execution_count": 1}]
    (desk / page).write_text(json.dumps({"cells": cells}))
    return Graded(student, str(desk / "exercises/02_allreduce.ipynb"), [Grade("02a", "Each", 2, 2, [])], student)


@pytest.fixture
def by_student(tmp_path: Path) -> dict[str, list[Graded]]:
    return {student: [hand_in(tmp_path, student, guesses)] for student, guesses in GUESSES.items()}


def shown(by_student: dict[str, list[Graded]]) -> str:
    return class_page(by_student, dict.fromkeys(by_student, "x.html"))


def test_the_three_that_most_got_wrong_stand_with_their_answer_on_the_class_page(by_student) -> None:
    page = shown(by_student)
    rows = [row for row in page.split("<tr>") if "guessed wrong" not in row and " of " in row and "machines" in row]
    assert "Chapter 00, Orientation: 3 with guesses" in page
    assert "Which of these is fastest: 3, 8, or 30 machines?</td><td>3</td><td class=number>2 of 3" in rows[0]
    assert page.index("Which of these is fastest") < page.index("or 10 seconds?") < page.index("Who is it: rank 1")
    assert "What does rank 0 get" not in page  # one of two was wrong: a fourth
    assert "different losses come back" not in page


def test_the_last_chapter_stands_open_and_earlier_ones_are_folded(by_student, tmp_path: Path) -> None:
    by_student["dan"] = [hand_in(tmp_path, "dan", {"wires": "60"}, "notebooks/02_allreduce.ipynb")]
    page = shown(by_student)
    assert "<details open><summary>Chapter 02, AllReduce topologies: 1 with guesses" in page
    assert page.index("Chapter 02") < page.index("<details><summary>Chapter 00")


def test_without_desks_or_with_pages_that_are_none_nothing_is_said(by_student, tmp_path: Path) -> None:
    for number, student in enumerate(GUESSES):
        page = tmp_path / student / PAGE
        page.unlink()
        (page.write_text, os.symlink, lambda *_: None)[number](*(("{",), ("/dev/zero", page), ())[number])
    assert "guessed wrong" not in shown(by_student)
    assert "guessed wrong" not in shown({"eve": [Graded("eve", "eve/02_allreduce.ipynb", [], "d")]})
