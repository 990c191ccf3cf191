"""The exercises of chapter 1: every answer of the catalogue, as the judge and as the check in the notebook see it."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from torch.nn import functional

from course_lib import simulate
from course_lib.cli.build import derived_text
from course_lib.grading import check, notebook
from course_lib.grading.check import CheckReport
from course_lib.grading.exercise import Exercise
from course_lib.grading.exercises import chapters, exercises_of, find
from course_lib.grading.grader import Grade, Grader
from course_lib.grading.launcher import Launcher
from course_lib.grading.protection import LEVELS
from course_lib.notebooks import execute

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "solutions" / "catalogue" / "01_data_parallelism"
SOLUTIONS = ROOT / "solutions" / "01_data_parallelism.ipynb"
EXERCISES = ROOT / "exercises" / "01_data_parallelism.ipynb"
GIVEN = (CATALOGUE / "given.py").read_text(encoding="utf-8")
IDS = [exercise.id for exercise in exercises_of("01")]
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
    exec(compile(GIVEN, "given.py", "exec"), names)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return exercise, names[exercise.function]


@cache
def _checked(path: Path) -> CheckReport:
    """What the check says of a file of the catalogue; computed once."""
    return check(*_function(path))


def _cases(exercise_id: str) -> list:
    return list(find(exercise_id).cases(np.random.default_rng()))


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
            cells = [("setup", GIVEN), ("answer", path.read_text(encoding="utf-8"))]
            grades[path] = grader.grade(find(path.parent.name), cells, "a student")
        return grades[path]

    return grade


@pytest.mark.parametrize("path", RIGHT, ids=_name)
def test_the_judge_gives_a_right_answer_all_points(path, graded):
    grade = graded(path)
    assert (grade.points, grade.messages) == (grade.most, [])


@pytest.mark.parametrize("path", RIGHT, ids=_name)
def test_the_check_accepts_a_right_answer(path):
    report = _checked(path)
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
    report = _checked(path)
    assert words in " | ".join(map(str, report.findings))
    assert report.points == points


@pytest.mark.parametrize("exercise_id", IDS)
def test_no_two_wrong_answers_get_the_same_message(exercise_id):
    paths = [path for path in WRONG if path.parent.name == exercise_id]
    messages = {path.stem: " | ".join(map(str, _checked(path).findings)) for path in paths}
    assert len(set(messages.values())) == len(messages), messages
    for path in paths:
        owners = {name for name, message in messages.items() if _expected(path)[0] in message}
        assert owners == {path.stem}, f"the words that {path.stem} expects do not tell it from {owners - {path.stem}}"


@pytest.mark.parametrize("exercise_id", IDS)
def test_an_exercise_ships_four_wrong_and_two_right_answers_at_least(exercise_id):
    assert len(list((CATALOGUE / exercise_id).glob("wrong_*.py"))) >= 4
    assert len(list((CATALOGUE / exercise_id).glob("right_*.py"))) >= 2


@pytest.mark.parametrize("exercise_id", [e.id for e in exercises_of("01") if e.mode == "ranks"])
def test_cases_hold_one_rank_and_an_odd_number_of_them_and_change_messages(exercise_id):
    cases = _cases(exercise_id)
    assert {1, 3} <= {case.world_size for case in cases}
    assert sum(case.world_size * (1 + case.perturb) for case in cases) <= 40
    assert any(case.perturb for case in cases)


@pytest.mark.parametrize("exercise_id", ["01b", "01e", "01f"])
def test_parts_are_uneven_and_some_rank_has_no_examples(exercise_id):
    cases = _cases(exercise_id)
    counts = [[a[1] if exercise_id == "01b" else len(a[0]) for a in case.inputs] for case in cases]
    assert any(0 in each for each in counts)
    assert all(len(set(each)) > 1 for each in counts[1:])


@pytest.mark.parametrize("exercise_id", [name for name in IDS if name != "01h"])
def test_fresh_cases_have_other_numbers_in_the_same_shapes(exercise_id):
    first, second = (list(find(exercise_id).cases(np.random.default_rng(seed))) for seed in (1, 2))
    assert [str(case) for case in first] == [str(case) for case in second]
    assert [str(case.inputs) for case in first] != [str(case.inputs) for case in second]


def test_every_student_has_layers_of_their_own(grader):
    assert find("01j").per_student
    numbers = {grader.generator(find("01j"), name).integers(2**60) for name in ("Ada", "Ada", "Grace")}
    assert len(numbers) == 2


def test_chapters_are_found_by_their_files():
    assert {"01", "02"} <= set(chapters())
    assert find("01d").function == "overlapped_backward"


# What is expected, against PyTorch on the joined batch


def test_the_way_back_through_batch_normalization_is_that_of_autograd():
    for case in _cases("01f"):
        batch = case.about["batch"].clone().requires_grad_()
        upstream = torch.cat([inputs[0] for inputs in case.inputs])
        functional.batch_norm(batch, None, None, training=True, eps=1e-5).backward(upstream)
        torch.testing.assert_close(torch.cat(case.expected), batch.grad)


def test_training_is_that_of_adagrad_in_pytorch():
    for case in _cases("01i"):
        weights = case.inputs[0][0].clone().requires_grad_()
        optimizer = torch.optim.Adagrad([weights], lr=0.5)
        inputs, targets = (torch.cat([arguments[place] for arguments in case.inputs], 1) for place in (1, 2))
        for rows, wanted in zip(inputs, targets, strict=True):
            optimizer.zero_grad()
            functional.mse_loss(rows @ weights, wanted).backward()
            optimizer.step()
        torch.testing.assert_close(case.expected[0], weights.detach())


def test_a_sharded_step_is_that_of_momentum_in_pytorch():
    for case in _cases("01g"):
        weights = case.inputs[0][0].clone().requires_grad_()
        optimizer = torch.optim.SGD([weights], lr=0.25, momentum=0.5)
        optimizer.state[weights]["momentum_buffer"] = case.about["before"].clone()
        weights.grad = sum(arguments[1] for arguments in case.inputs) / case.world_size
        optimizer.step()
        assert torch.equal(case.expected[0][0], weights.detach())


# The notebooks


def _cell(path: Path, name: str) -> str:
    return next(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.id == name)


def test_exercises_add_up_to_thirty_points():
    assert sum(exercise.points for exercise in exercises_of("01")) == 30


def test_answers_of_the_catalogue_have_what_the_notebook_gives():
    assert f"import torch\n\n\n{_cell(SOLUTIONS, 'given')}\n" == GIVEN


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


def test_averaged_parameters_show_with_adagrad_and_not_with_sgd_or_momentum():
    names = {"torch": torch, "simulate": simulate, "show_table": lambda rows, *_, **__: names.update(rows=list(rows))}
    exec(GIVEN, names)
    exec(_cell(SOLUTIONS, "h-given"), names)
    exec(_cell(SOLUTIONS, "h-three"), names)
    largest = {update: float(difference) for update, difference in names["rows"]}
    assert max(largest["sgd"], largest["heavy_ball"]) < 1e-12
    assert largest["adagrad"] > 0.01


@pytest.mark.slow
def test_the_notebook_runs_to_its_end_before_anything_is_written():
    cells = {cell.id: cell for cell in execute(EXERCISES).cells}
    assert "0 of 30 points" in str(cells["total"].outputs)
