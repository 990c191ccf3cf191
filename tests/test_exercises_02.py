"""The exercises of chapter 2: every answer of the catalogue, as the judge and as the check in the notebook see it."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from course_lib import simulate
from course_lib.cli.build import derived_text
from course_lib.grading import check, notebook
from course_lib.grading.exercise import Exercise
from course_lib.grading.exercises import exercises_of, find
from course_lib.grading.exercises.cases_02 import meeting_point
from course_lib.grading.grader import Grade, Grader
from course_lib.grading.launcher import Launcher
from course_lib.grading.protection import LEVELS
from course_lib.notebooks import execute

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "solutions" / "catalogue" / "02_allreduce"
SOLUTIONS = ROOT / "solutions" / "02_allreduce.ipynb"
EXERCISES = ROOT / "exercises" / "02_allreduce.ipynb"
IDS = [exercise.id for exercise in exercises_of("02")]
WRONG = sorted(CATALOGUE.glob("*/wrong_*.py"))
RIGHT = sorted(CATALOGUE.glob("*/right_*.py"))


def _name(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def _expected(path: Path) -> tuple[str, float]:
    """The words that a wrong answer's message must contain, and the points that it keeps."""
    first, second, *_ = path.read_text(encoding="utf-8").splitlines()
    points = float(second.removeprefix("# points: ")) if second.startswith("# points: ") else 0.0
    return first.removeprefix("# expect: "), points


def _function(path: Path) -> tuple[Exercise, Callable]:
    exercise, names = find(path.parent.name), {"__name__": "__main__"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return exercise, names[exercise.function]


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Launcher(LEVELS["filter"]) as launcher:
        yield Grader(launcher)


@pytest.fixture(scope="module")
def graded(grader: Grader) -> Callable[[Path], Grade]:
    """Grades a file of the catalogue, once."""
    grades: dict[Path, Grade] = {}

    def grade(path: Path) -> Grade:
        if path not in grades:
            source = path.read_text(encoding="utf-8")
            grades[path] = grader.grade(find(path.parent.name), [("answer", source)], "a student")
        return grades[path]

    return grade


@pytest.mark.parametrize("path", RIGHT, ids=_name)
def test_the_judge_gives_a_right_answer_all_points(path, graded):
    grade = graded(path)
    assert (grade.points, grade.messages) == (grade.most, [])


@pytest.mark.parametrize("path", RIGHT, ids=_name)
def test_the_check_accepts_a_right_answer(path):
    report = check(*_function(path))
    assert report.ok, report
    assert report.points == report.exercise.points


@pytest.mark.parametrize("path", WRONG, ids=_name)
def test_the_judge_says_what_is_wrong(path, graded):
    words, points = _expected(path)
    grade = graded(path)
    assert words in " | ".join(grade.messages)
    assert grade.points == points < grade.most


@pytest.mark.parametrize("path", WRONG, ids=_name)
def test_the_check_says_the_same_as_the_judge(path):
    words, points = _expected(path)
    report = check(*_function(path))
    assert words in " | ".join(map(str, report.findings))
    assert report.points == points


@pytest.mark.parametrize("exercise_id", IDS)
def test_no_two_wrong_answers_get_the_same_message(exercise_id):
    paths = [path for path in WRONG if path.parent.name == exercise_id]
    messages = {path.stem: " | ".join(map(str, check(*_function(path)).findings)) for path in paths}
    assert len(set(messages.values())) == len(messages), messages
    for path in paths:
        owners = {name for name, message in messages.items() if _expected(path)[0] in message}
        assert owners == {path.stem}, f"the words that {path.stem} expects do not tell it from {owners - {path.stem}}"


@pytest.mark.parametrize("exercise_id", IDS)
def test_an_exercise_ships_four_wrong_and_two_right_answers_at_least(exercise_id):
    assert len(list((CATALOGUE / exercise_id).glob("wrong_*.py"))) >= 4
    assert len(list((CATALOGUE / exercise_id).glob("right_*.py"))) >= 2


@pytest.mark.parametrize("exercise", [e for e in exercises_of("02") if e.mode == "ranks"], ids=lambda e: e.id)
def test_cases_hold_one_rank_an_odd_number_of_them_and_a_length_that_they_do_not_divide(exercise):
    cases = list(exercise.cases(np.random.default_rng()))
    sizes = [case.world_size for case in cases]
    assert 1 in sizes
    assert any(size & (size - 1) for size in sizes)
    assert any(case.tensor.numel() % case.world_size for case in cases)
    assert sum(case.world_size * (1 + case.perturb) for case in cases) <= 40
    assert any(case.perturb for case in cases)


@pytest.mark.parametrize("exercise_id", ["02a", "02b", "02c", "02d", "02f"])
def test_some_case_has_fewer_elements_than_ranks(exercise_id):
    cases = find(exercise_id).cases(np.random.default_rng())
    assert any(case.tensor.numel() < case.world_size for case in cases)


@pytest.mark.parametrize("exercise_id", IDS)
def test_fresh_cases_have_other_numbers_in_the_same_shapes(exercise_id):
    first, second = (list(find(exercise_id).cases(np.random.default_rng(seed))) for seed in (1, 2))
    assert [str(case) for case in first] == [str(case) for case in second]
    assert [str(case.inputs) for case in first] != [str(case.inputs) for case in second]


def test_every_student_has_a_crossover_of_their_own(grader):
    assert find("02h").per_student
    numbers = {grader.generator(find("02h"), name).integers(2**60) for name in ("Ada", "Ada", "Grace")}
    assert len(numbers) == 2


@pytest.mark.parametrize("world_size", [2, 3, 4, 5, 8, 100, 1024])
def test_the_curves_meet_where_algebra_says(world_size):
    # 2(p - 1)(α + n/(pB)) = 2⌈log₂ p⌉(α + n/B), solved for n.
    levels, others = math.ceil(math.log2(world_size)), world_size - 1
    closed = 3e-6 * 5e9 * (others - levels) / (levels - others / world_size)
    assert meeting_point(world_size, 3e-6, 5e9) == pytest.approx(closed, abs=1e-9)


# The notebooks


def test_exercises_add_up_to_thirty_points():
    assert sum(exercise.points for exercise in exercises_of("02")) == 30


@pytest.mark.parametrize("exercise_id", IDS)
def test_the_solution_gets_all_points(exercise_id, grader):
    exercise = find(exercise_id)
    grade = grader.grade(exercise, notebook.cells_for(notebook.read_cells(SOLUTIONS), exercise.function))
    assert (grade.points, grade.messages) == (exercise.points, [])


@pytest.mark.parametrize("exercise_id", IDS)
def test_what_students_get_is_not_attempted_yet(exercise_id, grader):
    exercise = find(exercise_id)
    grade = grader.grade(exercise, notebook.cells_for(notebook.read_cells(EXERCISES), exercise.function))
    assert grade.points == 0
    assert grade.messages == ["not attempted yet: the function still raises NotImplementedError"]


def test_exercises_are_in_step_with_solutions():
    assert EXERCISES.read_text(encoding="utf-8") == derived_text(SOLUTIONS), "`course build` makes them anew"


def test_no_solution_slips_into_the_exercises():
    cells = {cell.id: cell.source for cell in nbformat.read(EXERCISES, as_version=4).cells if cell.cell_type == "code"}
    answers = {name: source for name, source in cells.items() if name.endswith("-answer")}
    assert len(answers) == len(IDS)
    assert all(source.endswith("raise NotImplementedError") for source in answers.values())
    assert "solved" not in cells


def test_the_ring_to_mend_is_right_for_two_ranks_and_wrong_for_three():
    cells = {cell.id: cell.source for cell in nbformat.read(SOLUTIONS, as_version=4).cells}
    names = {"torch": torch}
    exec(cells["f-given"], names)

    def program(comm):
        tensor = torch.tensor([float(10**comm.rank)])
        names["two_box_ring"](comm, tensor)
        return tensor.item()

    assert simulate(program, 2).results == [11, 11]
    assert simulate(program, 3).results == [20, 200, 2]  # twice the number of the rank two to the left


@pytest.mark.slow
def test_the_notebook_runs_to_its_end_before_anything_is_written():
    cells = {cell.id: cell for cell in execute(EXERCISES).cells}
    assert "0 of 30 points" in str(cells["total"].outputs)
