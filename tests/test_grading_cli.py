"""`course grade` and `course build`, as a teacher uses them."""

import csv
import json

import nbformat.v4 as nbf
import pytest
from click.testing import CliRunner
from grading_example import PASSING_ROUND, RIGHT, RING

from course_lib.cli.build import MarkerError, build, derive
from course_lib.cli.grade import grade
from course_lib.grading import exercises, notebook, protection
from course_lib.grading.grader import Grader
from course_lib.grading.launcher import LauncherError

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
    assert rows["cem"]["messages"] == "not a notebook (JSONDecodeError)"
    assert rows["dee"]["messages"] == "not a notebook (RecursionError)"
    assert rows["fay"]["messages"] == "not a file"
    assert rows["gus"]["messages"] == "no cell defines ring_sum"
    assert json.loads(result.stdout)["submissions"][0]["student"] == "ann"


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
    cells = [(["setup"], "import torch"), ([], "x = 1"), ([], "def f(a):\n    pass"), ([], "    def f(a): pass\nf(1)")]
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
