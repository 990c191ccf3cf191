"""`course grade`, as a teacher uses it."""

import csv
import io
import json
import re
import stat
import threading
from dataclasses import replace

import nbformat.v4 as nbf
import pytest
from click.testing import CliRunner
from grading_example import PASSING_ROUND, RIGHT, RING
from rich.console import Console

from course_lib.cli.grading import _progress, grade
from course_lib.grading import exercises
from course_lib.grading.judge import launcher, protection
from course_lib.grading.judge.grader import Grade, Grader
from course_lib.grading.judge.launcher import LauncherError
from course_lib.grading.submissions import gradebook, tables
from course_lib.grading.submissions.folder import Graded

isolated = pytest.mark.skipif(protection.best_level() == "unsafe", reason="no isolation on this system")


SMALL = replace(RING, cases=lambda rng: list(RING.cases(rng))[2:3])


@pytest.fixture
def empty_course(monkeypatch, tmp_path):
    """A course whose only exercise is the example with few ranks, in an empty folder: no solutions anywhere near."""
    monkeypatch.setattr(exercises, "chapters", lambda: ["99"])
    monkeypatch.setattr(exercises, "exercises_of", lambda chapter: {"99": (SMALL,)}[chapter])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def course(empty_course, grader, monkeypatch):
    """The same, where the command takes its ranks from the launcher that all tests share."""

    class Shared:
        def __init__(self, walls):
            pass

        def __enter__(self):
            return grader.launcher

        def __exit__(self, *error):
            pass

    monkeypatch.setattr(launcher, "Launcher", Shared)
    monkeypatch.setattr(type(grader.launcher), "insist", lambda self: None)
    return empty_course


def _write(path, *sources):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [nbf.new_markdown_cell("def an_exercise"), *map(nbf.new_code_cell, sources)]
    path.write_text(json.dumps(nbf.new_notebook(cells=cells)))


def _rows(folder):
    return list(csv.DictReader((folder / "grades.csv").read_text().splitlines()))


def _invoke(*arguments):
    """One at a time, since there is one launcher."""
    return CliRunner().invoke(grade, ["--at-once", "1", *map(str, arguments)])


@isolated
def test_one_notebook_gets_a_table_and_both_files(course):
    _write(course / "ann.ipynb", RIGHT)
    result = _invoke("ann.ipynb")
    assert result.exit_code == 0, result.output
    assert f"Protection: {protection.best_level()}" in result.output
    assert "ann: 4 of 4 points" in result.output
    (row,) = _rows(course)
    assert row == {
        "student": "ann",
        "notebook": "ann.ipynb",
        "exercise": "99a",
        "points": "4",
        "max": "4",
        "state": "",
        "tries": "1",
        "counts": "yes",
        "messages": "",
    }
    (one,) = json.loads((course / "grades.json").read_text())["submissions"]
    told = {
        "id": "99a",
        "title": "Sum on a ring",
        "points": 4,
        "max": 4,
        "state": "",
        "counts": True,
        "way": "",
        "messages": [],
    }
    assert one["exercises"] == [told]


@isolated
def test_a_secret_is_made_at_its_first_use_and_named_and_used_the_second_time(course):
    _write(course / "ann.ipynb", RIGHT)
    first = _invoke("ann.ipynb", "--secret", "class.key")
    key = course / "class.key"
    assert first.exit_code == 0, first.output
    assert first.output.startswith("Made the secret class.key: keep it")
    assert (len(key.read_bytes()), stat.S_IMODE(key.stat().st_mode)) == (32, 0o600)
    made = key.read_bytes()
    assert "Made" not in _invoke("ann.ipynb", "--secret", "class.key").output
    assert key.read_bytes() == made


@pytest.mark.parametrize(
    ("name", "words"), [("short.key", "at least 16 bytes, short.key has 3"), ("none/class.key", "No such file")]
)
def test_a_secret_that_cannot_be_used_is_refused_before_anything_is_graded(empty_course, name, words):
    _write(empty_course / "ann.ipynb", RIGHT)
    (empty_course / "short.key").write_bytes(b"abc")
    result = _invoke("ann.ipynb", "--secret", name)
    assert result.exit_code in (1, 2)
    assert words in " ".join(result.output.split())
    assert not (empty_course / "grades.json").exists()


@isolated
def test_a_folder_is_graded_whatever_is_in_it(course):
    folder = course / "handed-in"
    _write(folder / "ann.ipynb", RIGHT)
    _write(folder / "bea.ipynb", "def ring_sum(comm, tensor):\n    import os; os._exit(1)")
    (folder / "cem.ipynb").write_text("this is no notebook")
    (folder / "dee.ipynb").write_text("[" * 100_000)
    _write(folder / "eve" / "my answer.ipynb", PASSING_ROUND)
    (folder / "fay.ipynb").mkdir()
    (folder / "hal.ipynb").touch()
    _write(folder / "gus.ipynb", "print('nothing')")
    (folder / "notes.txt").write_text("not a notebook's name")
    _write(folder / "ida" / "unpacked" / "answer.ipynb", RIGHT)
    result = _invoke(folder, "--out", "out", "--json")
    assert result.exit_code == 0, result.output
    rows = {row["student"]: row for row in _rows(course / "out")}
    points = {student: row["points"] for student, row in rows.items()}
    assert points == {"ann": "4", "bea": "0", "cem": "", "dee": "", "eve": "3", "fay": "", "gus": "0", "hal": ""} | {
        "ida": "",
        "notes": "",
    }
    assert "exit code 1" in rows["bea"]["messages"]
    assert rows["cem"]["messages"] == "not a notebook: line 1 is no JSON; was the file cut short?"
    assert rows["dee"]["messages"] == "not a notebook: lists within lists, deeper than any notebook has"
    assert rows["fay"]["messages"] == "no notebook lies in this folder or in its exercises/"
    assert rows["hal"]["messages"] == "an empty file"
    assert [rows[each]["state"] for each in rows if not rows[each]["points"]] == ["not read"] * 6
    assert rows["gus"]["messages"] == "no cell defines ring_sum"
    assert json.loads(result.stdout)["submissions"][0]["student"] == "ann"
    assert (
        "Nothing to grade in ida: no notebook lies in this folder or in its exercises/, but unpacked/\n"
        in result.stderr
    )
    assert "Nothing to grade in notes.txt: its name does not end in .ipynb" in result.stderr


def _counted(monkeypatch):
    """The students whose submissions the grader is asked about, in order."""
    asked = []
    plain = Grader.grade

    def counting(self, exercise, cells, student, account):
        asked.append(student)
        return plain(self, exercise, cells, student, account)

    monkeypatch.setattr(Grader, "grade", counting)
    return asked


@isolated
def test_an_interrupted_run_goes_on_where_it_stopped(course, monkeypatch):
    folder = course / "handed-in"
    for student, source in {"ann": RIGHT, "bea": PASSING_ROUND, "cem": "x = 1"}.items():
        _write(folder / f"{student}.ipynb", source)
    plain, started = Grader.grade, []

    def interrupted(self, exercise, cells, student, account):
        started.append(student)
        if student == "cem":
            raise KeyboardInterrupt
        return plain(self, exercise, cells, student, account)

    with monkeypatch.context() as once:
        once.setattr(Grader, "grade", interrupted)
        assert _invoke(folder, "--out", "out").exit_code == 1
    assert [row["student"] for row in _rows(course / "out")] == ["ann", "bea"]
    with monkeypatch.context() as once:  # a second interrupt, before anything new is graded, costs none of these
        once.setattr(Grader, "grade", interrupted)
        assert _invoke(folder, "--out", "out", "--resume").exit_code == 1
    assert [row["student"] for row in _rows(course / "out")] == ["ann", "bea"]
    asked = _counted(monkeypatch)
    result = _invoke(folder, "--out", "out", "--resume")
    assert "2 of 3 were graded before and have not changed" in result.output
    assert asked == ["cem"]
    assert [(row["student"], row["points"]) for row in _rows(course / "out")] == [
        ("ann", "4"),
        ("bea", "3"),
        ("cem", "0"),
    ]


@isolated
def test_a_file_that_has_changed_or_that_the_judge_failed_on_is_graded_anew(course, monkeypatch):
    for student in ("ann", "bea", "cem"):
        _write(course / f"{student}.ipynb", RIGHT)
    _invoke(".")
    _write(course / "bea.ipynb", PASSING_ROUND)
    grades = json.loads((course / "grades.json").read_text())
    grades["submissions"][2]["exercises"][0]["state"] = "judge's error"
    (course / "grades.json").write_text(json.dumps(grades))
    asked = _counted(monkeypatch)
    assert _invoke(".", "--resume").exit_code == 0
    assert asked == ["bea", "cem"]
    assert [(row["points"], row["tries"]) for row in _rows(course)] == [("4", "1"), ("3", "2"), ("4", "1")]


@isolated
def test_one_notebook_graded_into_the_same_files_leaves_the_others_there(course):
    for student in ("ann", "bea"):
        _write(course / "handed-in" / f"{student}.ipynb", RIGHT)
    _invoke("handed-in")
    _write(course / "handed-in" / "bea.ipynb", PASSING_ROUND)
    result = _invoke("handed-in/bea.ipynb")
    assert "bea: 3 of 4 points" in result.output
    known = [(row["student"], row["points"], row["tries"]) for row in _rows(course)]
    assert known == [("ann", "4", "1"), ("bea", "3", "2")]


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_a_file_that_holds_no_grades_is_not_overwritten(course, resume):
    _write(course / "ann.ipynb", RIGHT)
    (course / "grades.json").write_text("{}")
    result = _invoke("ann.ipynb", *resume)
    assert result.exit_code == 1
    assert "grades.json is no file of grades" in result.output
    assert (course / "grades.json").read_text() == "{}"


@isolated
def test_grades_that_cannot_be_written_are_shown_and_the_reason_is_a_sentence(course, monkeypatch):
    _write(course / "ann.ipynb", RIGHT)
    _write(course / "bea.ipynb", RIGHT)
    (course / "out").write_text("no folder")
    assert _invoke("ann.ipynb", "--out", "out").exit_code == 2
    written, plain = [], gradebook.write_whole

    def full(path, text):
        written.append(path)
        if len(written) > 2:
            raise OSError(28, "No space left on device")
        return plain(path, text)

    monkeypatch.setattr(gradebook, "write_whole", full)
    result = _invoke(".", "--out", "full")
    assert result.exit_code == 1
    assert "Error: the grades cannot be written into full: No space left on device" in result.output
    assert "Traceback" not in result.output
    assert re.search("1 submission|2 submissions", result.output)  # those graded by then: they are graded side by side


@isolated
def test_several_submissions_are_graded_at_a_time_each_by_a_grader_of_its_own(empty_course, monkeypatch):
    for student in ("ann", "bea", "cem"):
        _write(empty_course / "in" / f"{student}.ipynb", PASSING_ROUND if student == "bea" else RIGHT)
    together, graders, plain = threading.Barrier(2), set(), Grader.grade

    def meeting(self, exercise, cells, student, account):
        graders.add(self)
        if student != "cem":
            together.wait(60)  # breaks unless two are at work
        return plain(self, exercise, cells, student, account)

    monkeypatch.setattr(Grader, "grade", meeting)
    result = CliRunner().invoke(grade, ["--level", "filter", "--at-once", "2", "in"])
    assert result.exit_code == 0, result.output
    assert "Protection: filter" in result.output
    assert [row["points"] for row in _rows(empty_course)] == ["4", "3", "4"]
    assert len(graders) == 2


def test_the_bar_shows_the_time_left():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    now = iter(range(10_000))
    with _progress(console) as progress:
        progress._tasks.clear()
        progress.get_time = lambda: next(now) * 10.0
        task = progress.add_task("Grading", total=80, submissions="3 of 8")
        for _ in range(20):
            progress.advance(task)
        (row,) = [str(cell) for cell in progress.make_tasks_table(progress.tasks).columns[2].cells]
    assert row == "0:10:00"


def test_a_student_with_two_notebooks_has_one_row_with_the_best_of_both():
    graded = [
        Graded("ann", f"ann/{name}.ipynb", [Grade("01a", "", points, 2.0, [])])
        for name, points in [("01", 2.0), ("01.newer", 0.0)]
    ]
    console = Console(width=200, record=True, file=io.StringIO())
    (table,) = tables.class_tables(graded)
    console.print(table)
    text = console.export_text()
    assert table.row_count == 1
    assert "2 submissions" in text
    assert "ann (best of 2 notebooks)" in text


def test_each_chapter_has_a_table_of_its_own():
    graded = [
        Graded(student, f"{student}.ipynb", [Grade(name, "", 1.0, 2.0, [])])
        for student, name in [("ann", "01a"), ("bea", "03a"), ("cem", "01a")]
    ]
    assert [table.row_count for table in tables.class_tables(graded)] == [2, 1]


@isolated
@pytest.mark.parametrize(
    ("sources", "points", "words"),
    [
        ([RIGHT, "def other(:"], "4", ""),
        ([RIGHT, "1 / 0"], "4", ""),
        ([RIGHT, "while True: pass"], "4", ""),
        ([RIGHT.replace("def ring_sum", "def ring_sum_2")], "0", "ring_sum_2 is there"),
        (["def ring_sum(comm, tensor): pass", RIGHT], "4", ""),
        ([RIGHT, "def ring_sum(comm, tensor): pass"], "0", "code cells 1 and 2 define it: the last one counts"),
        (["def ring_sum(comm, tensor):\n    x = (1"], "0", "code cell 1 is not Python: '(' was never closed (line 2"),
        (["def helper(:", "def ring_sum(comm, tensor): helper()"], "0", "code cell 1: it is not Python"),
        (
            ["helper = 1 / 0", "y = 2 / 0", "def ring_sum(comm, tensor): helper()"],
            "0",
            "not defined; code cell 1, line 1: ZeroDivisionError: division by zero (code",
        ),
        (["%%time\n" + RIGHT], "4", ""),
        (["%%timeit\n" + RIGHT], "0", "no cell defines ring_sum; code cell 1 defines it under %%timeit"),
        (["\n".join("    " + line for line in RIGHT.split("\n"))], "4", ""),
        (["async def ring_sum(comm, tensor): pass"], "0", "the function is an async def"),
        (["def ring_sum(comm, tensor): yield"], "0", "the function has a yield in it"),
        (["import sys", RIGHT, "sys.exit(0)"], "4", ""),
    ],
)
def test_a_notebook_that_is_partly_broken(course, sources, points, words):
    _write(course / "ann.ipynb", *sources)
    assert _invoke("ann.ipynb", "--chapter", "99").exit_code == 0
    (row,) = _rows(course)
    assert (row["points"], words in row["messages"]) == (points, True), row


@isolated
def test_words_of_a_student_are_no_markup_and_no_formula(course):
    _write(course / "=cmd.ipynb", "def ring_sum(comm, tensor):\n    raise KeyError('[bold]4 of 4[/bold]\\x1b[2J')")
    result = _invoke("=cmd.ipynb")
    assert "[bold]4 of" in result.output
    assert "\x1b[2J" not in result.output
    (row,) = _rows(course)
    assert row["student"] == "'=cmd"


@isolated
def test_a_mistake_of_the_judge_is_not_blamed_on_the_student(course, monkeypatch):
    def broken(self, exercise, cells, student, account):
        raise LauncherError("no more processes")

    monkeypatch.setattr(Grader, "grade", broken)
    _write(course / "ann.ipynb", RIGHT)
    result = _invoke("ann.ipynb")
    assert "judge's error: LauncherError" in result.output
    (row,) = _rows(course)
    assert (row["points"], row["state"]) == ("", "judge's error")
    assert row["messages"].startswith("LauncherError: no more processes (the answer may be right; grade again")


def test_without_isolation_nothing_is_graded_unless_told_so(empty_course, monkeypatch):
    monkeypatch.setattr(protection, "best_level", lambda: "unsafe")
    _write(empty_course / "ann.ipynb", RIGHT)
    result = _invoke("ann.ipynb")
    assert result.exit_code == 1
    assert "Grade in a Linux container" in result.output
    assert not (empty_course / "grades.csv").exists()


@isolated
def test_unsafe_says_so_and_grades(empty_course):
    _write(empty_course / "ann.ipynb", RIGHT)
    result = _invoke("ann.ipynb", "--unsafe")
    assert "Protection: UNSAFE" in result.output
    assert "4 of 4" in result.output


def test_a_chapter_or_an_exercise_that_is_not_there_is_named(course):
    _write(course / "ann.ipynb", RIGHT)
    with pytest.raises(KeyError):
        exercises.exercises_of("77")
    assert exercises.find("99a") is SMALL
    with pytest.raises(KeyError, match="no exercise '99z'; this chapter has 99a"):
        exercises.find("99z")
