"""A right answer rewritten by rule keeps its points, in the notebook's check and in the grade alike."""

import sys
import types

import pytest
from exercise_answers import RIGHT, given
from rewritings import RULES, rewritten

from course_lib.grading.rehearsal.check import check
from course_lib.grading.sandbox.magics import as_python
from course_lib.grading.submissions import notebook

BY_DAY = ["05c-right_slices", "06e-right_sets", "11d-right_last_use"]  # in one process each
WITH_RANKS = ["04b-right_after_the_sum", "12d-right_named_parts"]
DEAR = ["registry_that_is_called", "helper_below", "pickled_state", "table_by_comprehension"]


def _is_by_day(answer, rule):
    return str(answer) in BY_DAY or (str(answer) in WITH_RANKS and rule in DEAR)


def _cells(answer, rule):
    """The notebook: what it gives, and the answer rewritten; "# %%" begins another cell."""
    exercise = answer.exercise
    cells = rewritten(answer.source, exercise.function, rule)
    return [given(exercise.chapter), *"\n# %%\n".join(cells).replace("ID", exercise.id).split("\n# %%\n")]


def _points_by_check(exercise, cells, monkeypatch):
    """What the check gives at the end of a notebook of these cells, or where it stands."""
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    reports = []
    main.check = lambda name, function: reports.append(check(exercise, function))
    for cell in cells:
        if "while True: pass" not in cell:
            exec(as_python(cell), vars(main))
    return reports or [check(exercise, vars(main)[exercise.function])]


CASES = [
    pytest.param(answer, rule, id=f"{answer}-{rule}", marks=[pytest.mark.exhaustive] * (not _is_by_day(answer, rule)))
    for answer in RIGHT
    for rule in RULES
]


@pytest.mark.parametrize(("answer", "rule"), CASES)
def test_a_right_answer_keeps_its_points_however_it_is_written(answer, rule, grader, monkeypatch):
    exercise, cells = answer.exercise, _cells(answer, rule)
    (report,) = _points_by_check(exercise, cells, monkeypatch)
    assert report.ok, report
    grade = grader.grade(exercise, notebook.cells_for([([], cell) for cell in cells], exercise.function))
    assert (grade.points, grade.messages) == (exercise.points, [])


def test_about_a_hundred_are_tried_by_day_and_all_rules_at_least_once():
    by_day = [case for case in CASES if not case.marks]
    assert 80 <= len(by_day) <= 150
    assert {case.values[1] for case in by_day} == set(RULES)
    assert len(RULES) >= 20
