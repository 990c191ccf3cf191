"""`course grade` and `course build`, as a teacher uses them."""

import csv
import json
from pathlib import Path

import nbformat.v4 as nbf
import pytest
from click.testing import CliRunner
from grading_example import PASSING_ROUND, RIGHT, RING

from course_lib.cli.build import MarkerError, build, derive
from course_lib.cli.grade import grade
from course_lib.grading import exercises
from course_lib.grading.judge import protection
from course_lib.grading.judge.grader import Grade, Grader
from course_lib.grading.judge.launcher import LauncherError
from course_lib.grading.submissions import notebook, report
from course_lib.grading.submissions.folder import Graded

isolated = pytest.mark.skipif(protection.best_level() == "unsafe", reason="no isolation on this system")


@pytest.fixture
def course(monkeypatch, tmp_path):
    """A course whose only exercise is the example, in an empty folder: no solutions anywhere near."""
    monkeypatch.setattr(exercises, "chapters", lambda: ["99"])
    monkeypatch.setattr(exercises, "exercises_of", lambda chapter: {"99": (RING,)}[chapter])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(path, *sources):
    path.parent.mkdir(exist_ok=True)
    cells = [nbf.new_markdown_cell("An exercise"), *map(nbf.new_code_cell, sources)]
    path.write_text(json.dumps(nbf.new_notebook(cells=cells)))


def _rows(folder):
    return list(csv.DictReader((folder / "grades.csv").read_text().splitlines()))


def _invoke(*arguments):
    return CliRunner().invoke(grade, ["--level", "filter", *map(str, arguments)])


@isolated
def test_one_notebook_gets_a_table_and_both_files(course):
    _write(course / "ann.ipynb", RIGHT)
    result = _invoke("ann.ipynb")
    assert result.exit_code == 0, result.output
    assert "Protection: filter" in result.output
    assert "ann: 4 of 4 points" in result.output
    (row,) = _rows(course)
    assert row == {
        "student": "ann",
        "notebook": "ann.ipynb",
        "exercise": "99a",
        "points": "4",
        "max": "4",
        "messages": "",
    }
    (one,) = json.loads((course / "grades.json").read_text())["submissions"]
    assert one["exercises"] == [{"id": "99a", "title": "Sum on a ring", "points": 4, "max": 4, "messages": []}]


@isolated
def test_a_folder_is_graded_whatever_is_in_it(course):
    folder = course / "handed-in"
    _write(folder / "ann.ipynb", RIGHT)
    _write(folder / "bea.ipynb", "def ring_sum(comm, tensor):\n    import os; os._exit(1)")
    (folder / "cem.ipynb").write_text("this is no notebook")
    (folder / "dee.ipynb").write_text("[" * 100_000)
    _write(folder / "eve" / "my answer.ipynb", PASSING_ROUND)
    (folder / "fay.ipynb").mkdir()
    _write(folder / "gus.ipynb", "print('nothing')")
    (folder / "notes.txt").write_text("not looked at")
    result = _invoke(folder, "--out", "out", "--json")
    assert result.exit_code == 0, result.output
    rows = {row["student"]: row for row in _rows(course / "out")}
    points = {student: row["points"] for student, row in rows.items()}
    assert points == {"ann": "4", "bea": "0", "cem": "0", "dee": "0", "eve": "3", "fay": "0", "gus": "0"}
    assert "exit code 1" in rows["bea"]["messages"]
    assert rows["cem"]["messages"] == "not a notebook: line 1 is no JSON; was the file cut short?"
    assert rows["dee"]["messages"] == "not a notebook (RecursionError)"
    assert rows["fay"]["messages"] == "not a file"
    assert rows["gus"]["messages"] == "no cell defines ring_sum"
    assert json.loads(result.stdout)["submissions"][0]["student"] == "ann"


def _counted(monkeypatch):
    """The students whose submissions the grader is asked about, in order."""
    asked = []
    plain = Grader.grade

    def counting(self, exercise, cells, student):
        asked.append(student)
        return plain(self, exercise, cells, student)

    monkeypatch.setattr(Grader, "grade", counting)
    return asked


@isolated
def test_an_interrupted_run_goes_on_where_it_stopped(course, monkeypatch):
    folder = course / "handed-in"
    for student, source in {"ann": RIGHT, "bea": PASSING_ROUND, "cem": "x = 1"}.items():
        _write(folder / f"{student}.ipynb", source)
    plain, started = Grader.grade, []

    def interrupted(self, exercise, cells, student):
        started.append(student)
        if student == "cem":
            raise KeyboardInterrupt
        return plain(self, exercise, cells, student)

    with monkeypatch.context() as once:
        once.setattr(Grader, "grade", interrupted)
        assert _invoke(folder, "--out", "out").exit_code == 1
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
    grades["submissions"][2]["exercises"][0]["messages"] = ["JUDGE ERROR, please grade by hand"]
    (course / "grades.json").write_text(json.dumps(grades))
    asked = _counted(monkeypatch)
    assert _invoke(".", "--resume").exit_code == 0
    assert asked == ["bea", "cem"]
    assert [row["points"] for row in _rows(course)] == ["4", "3", "4"]


def test_a_file_that_holds_no_grades_is_not_overwritten_by_going_on(course):
    _write(course / "ann.ipynb", RIGHT)
    (course / "grades.json").write_text("{}")
    result = _invoke("ann.ipynb", "--resume")
    assert result.exit_code == 1
    assert "grades.json is no file of grades" in result.output or protection.best_level() == "unsafe"


def test_each_chapter_has_a_table_of_its_own():
    graded = [
        Graded(student, Path(f"{student}.ipynb"), [Grade(name, "", 1.0, 2.0, [])])
        for student, name in [("ann", "01a"), ("bea", "03a"), ("cem", "01a")]
    ]
    assert [table.row_count for table in report.class_tables(graded)] == [2, 1]


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
    def broken(self, exercise, cells, student):
        raise LauncherError("no more processes")

    monkeypatch.setattr(Grader, "grade", broken)
    _write(course / "ann.ipynb", RIGHT)
    assert _invoke("ann.ipynb").exit_code == 0
    (row,) = _rows(course)
    assert row["messages"] == "JUDGE ERROR, please grade by hand: LauncherError: no more processes"


def test_without_isolation_nothing_is_graded_unless_told_so(course, monkeypatch):
    monkeypatch.setattr(protection, "best_level", lambda: "unsafe")
    _write(course / "ann.ipynb", RIGHT)
    result = _invoke("ann.ipynb")
    assert result.exit_code == 1
    assert "Grade in a Linux container" in result.output
    assert not (course / "grades.csv").exists()


@isolated
def test_unsafe_says_so_and_grades(course):
    _write(course / "ann.ipynb", RIGHT)
    result = _invoke("ann.ipynb", "--unsafe")
    assert "Protection: UNSAFE" in result.output
    assert "4 of 4" in result.output


def test_a_chapter_or_an_exercise_that_is_not_there_is_named(course):
    _write(course / "ann.ipynb", RIGHT)
    with pytest.raises(KeyError):
        exercises.exercises_of("77")
    assert exercises.find("99a") is RING
    with pytest.raises(KeyError, match="no exercise '99z'; this chapter has 99a"):
        exercises.find("99z")


def test_a_function_is_found_by_its_definition_alone():
    cells = [(["setup"], "import torch"), ([], "x = 1"), ([], "def f(a):\n    pass"), ([], "if x:\n    def f(a): pass")]
    assert [kind for kind, _ in notebook.cells_for(cells, "f")] == ["setup", "other", "answer", "other"]


# Building the exercises

SOLUTION = '''def ring(comm, tensor):
    """Sum."""
    first = 1
    ### BEGIN SOLUTION
    for _ in range(2):
        comm.send(tensor, 0)
    ### END SOLUTION
    return first
'''
STUDENTS = '''def ring(comm, tensor):
    """Sum."""
    first = 1
    # TODO: your code here
    raise NotImplementedError
    return first
'''


def _solution():
    answer = nbf.new_code_cell(SOLUTION, id="answer", metadata={"tags": ["answer"]}, execution_count=3)
    answer.outputs = [nbf.new_output("stream", text="secret")]
    secret = nbf.new_code_cell("print('why')", id="why", metadata={"tags": ["solution-only"]})
    return nbf.new_notebook(cells=[nbf.new_markdown_cell("# Ring", id="title"), answer, secret])


def test_students_get_a_stub_no_outputs_and_the_same_cell_ids():
    cells = derive(_solution()).cells
    assert [cell.id for cell in cells] == ["title", "answer"]
    assert cells[1].source == STUDENTS
    assert cells[1].outputs == []
    assert cells[1].execution_count is None


@pytest.mark.parametrize("line", ["    ### BEGIN SOLUTION\n", "    ### END SOLUTION\n"])
def test_a_marker_without_its_other_half_is_refused(line):
    broken = _solution()
    broken.cells[1].source = SOLUTION.replace(line, "")
    with pytest.raises(MarkerError, match="without its other half"):
        derive(broken)


def test_building_twice_changes_nothing_and_check_sees_a_difference(course):
    _ = (course / "solutions").mkdir()
    (course / "solutions" / "99_ring.ipynb").write_text(json.dumps(_solution()))
    target = course / "exercises" / "99_ring.ipynb"
    assert CliRunner().invoke(build, ["--check"]).exit_code == 1
    assert CliRunner().invoke(build).output == f"wrote exercises/{target.name}\n"
    text = target.read_text()
    assert "secret" not in text
    assert "comm.send" not in text
    assert CliRunner().invoke(build).output == ""
    assert CliRunner().invoke(build, ["--check"]).exit_code == 0
    target.write_text(text.replace("Ring", "Rung"))
    result = CliRunner().invoke(build, ["--check"])
    assert result.exit_code == 1
    assert "out of step with solutions/: exercises/99_ring.ipynb" in result.output
