"""Right answers made of what Python and torch have, and beginners' own names: check and judge take them all."""

import ast
import builtins
import linecache
import re
from pathlib import Path

import pytest

from course_lib.grading.exercises import chapters, exercises_of, find
from course_lib.grading.exercises.sources import program
from course_lib.grading.rehearsal.check import check

KIND = re.compile(r"^# %% (\w+)\n", re.MULTILINE)
BY_DAY = ["custom_fwd_bwd", "compile_whole", "contextmanager_decorator", "cached_property_rank", "tensor_subclass"]
BY_DAY += ["default_device_inside", "jit_script", "flag_enum_weakref", "singledispatch"]
NAMES = [name for name in dir(builtins) if name.islower() and not name.startswith("_")] + ["torch", "np", "math"]
IDS = [exercise.id for chapter in chapters() for exercise in exercises_of(chapter)]
NAMES_BY_DAY = ["03d", "04b", "06f"]


def _kinds() -> list:
    found = []
    for path in sorted((Path(__file__).parent / "kinds").glob("*.py")):
        parts = iter(KIND.split(path.read_text(encoding="utf-8"))[1:])
        for name, source in zip(parts, parts, strict=True):
            marks = [pytest.mark.exhaustive] * (name not in BY_DAY)
            found.append(pytest.param(path.stem[:3], source, id=f"{path.stem[:3]}-{name}", marks=marks))
    return found


def _by_day(ids: list[str], few: list[str]) -> list:
    return [pytest.param(each, marks=[pytest.mark.exhaustive] * (each not in few)) for each in ids]


def _function(exercise, *sources):
    names = {"__name__": "__main__"}
    for number, source in enumerate(sources):
        name = f"/tmp/ipykernel_1/{number}.py"
        linecache.cache[name] = len(source), None, source.splitlines(True), name  # as a kernel keeps its cells
        exec(compile(source, name, "exec"), names)
    return names[exercise.function]


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize(("exercise_id", "source"), _kinds())
def test_a_right_answer_is_right_whatever_it_is_made_of(grader, exercise_id, source):
    exercise, above = find(exercise_id), program(exercise_id)[0]
    assert check(exercise, _function(exercise, above, source)).findings == []
    grade = grader.grade(exercise, [("", above), ("answer", source)])
    assert (grade.points, grade.messages) == (exercise.points, [])


@pytest.mark.parametrize("exercise_id", _by_day(IDS, NAMES_BY_DAY))
def test_names_that_an_answer_does_not_use_may_be_a_beginners(grader, exercise_id):
    exercise, (above, answer) = find(exercise_id), program(exercise_id)
    own = " = ".join(name for name in NAMES if name not in _names(above) | _names(answer)) + " = 0"
    assert check(exercise, _function(exercise, own, above, answer)).findings == []
    grade = grader.grade(exercise, [("", own), ("", above), ("answer", answer)])
    assert (grade.points, grade.messages) == (exercise.points, [])


@pytest.mark.parametrize("exercise_id", _by_day(IDS, NAMES_BY_DAY))
def test_names_below_its_check_do_not_matter_to_an_answer(grader, exercise_id):
    exercise, (above, answer) = find(exercise_id), program(exercise_id)
    below = [f'check("{exercise_id}", {exercise.function})', " = ".join(NAMES) + " = 0"]
    grade = grader.grade(exercise, [("", above), ("answer", answer), *(("", each) for each in below)])
    assert (grade.points, grade.messages) == (exercise.points, [])


def test_a_stand_in_knows_no_name_of_the_students(grader):
    exercise, (above, answer) = find("03d"), program("03d")
    above, answer = (source.replace("min(clocks)", "sorted(clocks)[0]") for source in (above, answer))
    assert "min" not in _names(above) | _names(answer)
    assert check(exercise, _function(exercise, "min = 0", above, answer)).findings == []
    assert grader.grade(exercise, [("", "min = 0"), ("", above), ("answer", answer)]).messages == []


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
