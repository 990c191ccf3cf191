"""The files with the grades: complete at any time, and inert in a spreadsheet."""

import csv
import json
import os
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from course_lib import files
from course_lib.grading.judge.grader import Grade
from course_lib.grading.submissions import gradebook
from course_lib.grading.submissions.folder import JUDGE_ERROR, NOT_READ, Graded, Submission
from course_lib.grading.submissions.gradebook import Gradebook, GradebookError, best_of
from course_lib.grading.submissions.tables import one_table


def graded(student, *grades, digest="1", name="work.ipynb"):
    return Graded(student, f"in/{name}", list(grades), digest)


def grade(exercise="99a", points=1.0, state="", message=""):
    return Grade(exercise, "", points, 4.0, [message] if message else [], state=state)


def rows(folder):
    return list(csv.DictReader((folder / "grades.csv").read_text(encoding="utf-8").splitlines()))


def test_a_later_run_leaves_what_it_does_not_grade(tmp_path):
    first = Gradebook(tmp_path)
    for one in [graded("ann", grade()), graded("bea", grade(points=2.0)), graded("ann", grade("98a"))]:
        first.add(one)
    first.write("")
    later = Gradebook(tmp_path)
    later.add(graded("bea", grade(points=3.0), digest="2"))
    later.write("")
    told = [(row["student"], row["exercise"], row["points"], row["tries"]) for row in rows(tmp_path)]
    assert told == [("ann", "98a", "1", "1"), ("ann", "99a", "1", "1"), ("bea", "99a", "3", "2")]


def test_one_exercise_graded_again_leaves_the_others_of_the_same_version(tmp_path):
    book = Gradebook(tmp_path)
    book.add(graded("ann", grade("99a"), grade("99b")))
    book.add(graded("ann", grade("99b", 4.0)))
    book.write("")
    assert [(row["exercise"], row["points"]) for row in rows(tmp_path)] == [("99a", "1"), ("99b", "4")]
    book.add(graded("ann", grade("99b", 4.0), digest="2"))
    book.write("")
    assert [(row["exercise"], row["points"], row["tries"]) for row in rows(tmp_path)] == [("99b", "4", "2")]


def test_two_runs_that_write_into_one_folder_lose_nothing(tmp_path):
    first, second = Gradebook(tmp_path), Gradebook(tmp_path)
    first.add(graded("ann", grade("99a")))
    second.add(graded("ann", grade("99b", 2.0)))  # of the same notebook, the next exercise
    second.add(graded("bea", grade("99a", 3.0)))
    for _ in range(2):
        first.write("")
        second.write("")
    first.add(graded("cem", grade("98a"), digest="2"))
    second.add(graded("ann", grade("99b", 4.0)))
    second.write("")
    first.write("")
    told = [(row["student"], row["exercise"], row["points"], row["tries"]) for row in rows(tmp_path)]
    assert told == [
        ("ann", "99a", "1", "1"),
        ("ann", "99b", "4", "1"),
        ("bea", "99a", "3", "1"),
        ("cem", "98a", "1", "1"),
    ]


def test_what_one_run_forgets_another_may_find_again(tmp_path):
    unread = Graded("bea", "in/bea.zip", [grade("99a", 0.0, NOT_READ)])
    book = Gradebook(tmp_path)
    book.add(unread)
    book.write("")
    first, second = Gradebook(tmp_path), Gradebook(tmp_path)
    first.forget_unread(Path("in"))
    second.add(graded("ann", grade()))
    first.write("")
    second.write("")
    assert list(second.by_student()) == ["ann"]
    second.add(unread)
    second.write("")
    first.write("")
    assert list(first.by_student()) == ["ann", "bea"]


def test_grades_whose_files_are_taken_away_meanwhile_are_written_again(tmp_path):
    book = Gradebook(tmp_path)
    book.add(graded("ann", grade()))
    book.write("")
    (tmp_path / "grades.json").unlink()
    book.add(graded("bea", grade()))
    book.write("")
    assert [row["student"] for row in rows(tmp_path)] == ["ann", "bea"]


@pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="other systems lock no folders")
def test_writers_wait_for_each_other_and_name_one_that_does_not_end(tmp_path, monkeypatch):
    monkeypatch.setattr(gradebook, "WAIT_S", 0.05)
    book = Gradebook(tmp_path)
    descriptor = os.open(tmp_path, os.O_DIRECTORY)
    assert files.lock(descriptor, 0)
    with pytest.raises(GradebookError, match=r"another program has been writing into .* for 0.05 s"):
        book.write("")
    os.close(descriptor)
    book.write("")
    assert sorted(os.listdir(tmp_path)) == ["grades.csv", "grades.json"]


def test_how_an_answer_was_judged_is_kept_and_told(tmp_path):
    one = replace(grade(), way="the whole notebook")
    first = Gradebook(tmp_path)
    first.add(graded("ann", one))
    first.write("")
    (kept,) = Gradebook(tmp_path).by_student()["ann"]
    assert kept.grades[0].way == "the whole notebook"
    screen = Console(width=200, record=True, file=StringIO())
    screen.print(one_table(kept))
    assert "(judged on the whole notebook)" in screen.export_text()


def test_what_the_judge_could_not_grade_is_no_zero_and_not_known(tmp_path):
    book = Gradebook(tmp_path)
    book.add(graded("ann", grade("99a"), grade("99b", 0.0, JUDGE_ERROR)))
    book.write("")
    assert [(row["points"], row["state"]) for row in rows(tmp_path)] == [("1", ""), ("", JUDGE_ERROR)]
    (told,) = json.loads((tmp_path / "grades.json").read_text())["submissions"]
    assert [each["points"] for each in told["exercises"]] == [1.0, None]
    known = Gradebook(tmp_path).known(Submission("ann", Path("in/work.ipynb"), [], "1"))
    assert list(known) == ["99a"]
    assert Gradebook(tmp_path).known(Submission("ann", Path("in/work.ipynb"), [], "2")) == {}


def test_an_interrupt_while_writing_leaves_the_old_grades(tmp_path, monkeypatch):
    book = Gradebook(tmp_path)
    book.add(graded("ann", grade()))
    book.write("")
    before = (tmp_path / "grades.json").read_text()
    book.add(graded("bea", grade()))

    def killed(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        book.write("")
    assert (tmp_path / "grades.json").read_text() == before
    assert sorted(os.listdir(tmp_path)) == ["grades.csv", "grades.json"]


@pytest.mark.skipif(os.name != "posix", reason="links need rights on other systems")
def test_a_link_in_the_folder_is_not_written_through(tmp_path):
    (tmp_path / "precious").write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    for name in ("grades.csv", "grades.csv.new", "grades.json.new"):
        (out / name).symlink_to(tmp_path / "precious")
    Gradebook(out).write("")
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (out / "grades.csv").is_symlink()


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(gradebook, "write_whole", refused)
    with pytest.raises(GradebookError, match=r"cannot be written into .*: Read-only file system"):
        Gradebook(tmp_path).write("")


@pytest.mark.parametrize(
    "text", ["=1+1", " =1", "\u3000＝1", "+1", "-1+1", "@a", "\t=1", "＝1", "\xa0=1", "x;=1", "x; ＋1", "x\n=1"]
)
def test_no_cell_is_a_formula_whatever_separates_cells(tmp_path, text):
    book = Gradebook(tmp_path)
    book.add(graded(text, grade(message=text), name=f"{text}.ipynb"))
    book.write("")
    content = (tmp_path / "grades.csv").read_text(encoding="utf-8")
    for separator in ",;\t":
        cells = [cell for row in csv.reader(content.splitlines(), delimiter=separator) for cell in row]
        assert [cell for cell in cells if cell.strip()[:1] and cell.strip()[0] in "=+-@＝＋－＠"] == []


def test_writing_takes_a_tenth_of_the_time_however_many_submissions_there_are(tmp_path, monkeypatch):
    book, now_s, written_at_s = Gradebook(tmp_path), [0.0], []

    def slowly(path, text):
        now_s[0] += 1.0
        written_at_s.append(now_s[0])
        return path

    monkeypatch.setattr(gradebook.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(gradebook, "write_whole", slowly)
    for number in range(100):
        now_s[0] += 1.0
        book.add(graded(f"student {number}", grade()))
        book.write_if_cheap("")
    assert len(written_at_s) / now_s[0] <= 0.11
    assert now_s[0] - written_at_s[-1] <= 20


def test_of_two_notebooks_each_exercise_counts_once_by_its_best_grade(tmp_path):
    book = Gradebook(tmp_path)
    book.add(graded("ann", grade("99a", 4.0), grade("99b", 0.0), name="02_allreduce.ipynb"))
    book.add(graded("ann", grade("99a", 0.0), grade("99b", 2.0), name="02_allreduce (2).ipynb"))
    book.write("")
    (best,) = book.by_student()["ann"]
    assert (best.points, best.of) == (6.0, 2)
    assert best.sources == {"99a": "in/02_allreduce.ipynb", "99b": "in/02_allreduce (2).ipynb"}
    assert sum(float(row["points"]) for row in rows(tmp_path) if row["counts"]) == 6.0
    (again,) = Gradebook(tmp_path).by_student()["ann"]  # as `course report` reads it
    assert again.sources == best.sources


def test_of_equal_grades_the_notebook_with_the_most_points_counts():
    whole = graded("ann", grade("99a", 4.0), grade("99b", 4.0), name="z.ipynb")
    half = graded("ann", grade("99a", 4.0), grade("99b", 0.0), name="a.ipynb")
    (best,) = best_of([half, whole])
    assert set(best.sources.values()) == {"in/z.ipynb"}
    assert best.notebook == "in/z.ipynb"


def test_all_points_stand_but_what_the_judge_owes_comes_before_a_part():
    owed = graded("ann", grade("99a", 0.0, JUDGE_ERROR), name="a.ipynb")
    for points, settled in ((4.0, True), (3.0, False)):
        (best,) = best_of([owed, graded("ann", grade("99a", points), name="b.ipynb")])
        assert best.settled is settled


def test_chapters_and_students_are_kept_apart_and_an_unreadable_file_takes_nothing_away():
    unread = graded("ann", grade("-", 0.0, NOT_READ), name="c.ipynb")
    those = [graded("ann", grade("98a")), graded("ann", grade("99a")), graded("bea", grade("99a")), unread]
    assert sorted(one.key for one in best_of(those)) == sorted(one.key for one in those)
    torn = graded("ann", grade("99a", 0.0, NOT_READ), name="torn.ipynb")
    (best,) = best_of([torn, graded("ann", grade("99a", 2.0))])
    assert best.settled
    assert best.points == 2.0


def test_a_file_beside_a_folder_of_its_name_is_another_file(tmp_path):
    book = Gradebook(tmp_path)
    for points, name in enumerate(["ann.ipynb", "ann/ann.ipynb"], start=1):
        book.add(graded("ann", grade("99a", float(points)), name=name, digest=name))
    book.write("")
    assert [(row["notebook"], row["points"]) for row in rows(tmp_path)] == [
        ("in/ann.ipynb", "1"),
        ("in/ann/ann.ipynb", "2"),
    ]
    book.add(graded("ann", grade("99a", 3.0), name="ann.ipynb", digest="later"))
    (best,) = book.by_student()["ann"]
    assert (best.points, best.of) == (3.0, 2)
