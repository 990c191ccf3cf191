"""What is right does not depend on what else is graded, or checked, at the same time."""

import contextlib
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from course_lib.grading.alone import alone
from course_lib.grading.exercises import chapters, find
from course_lib.grading.exercises.mistakes import function_of, right_results
from course_lib.grading.exercises.sources import program
from course_lib.grading.judge.grader import Grader
from course_lib.grading.judge.launcher import Launcher
from course_lib.grading.judge.protection import LEVELS, best_level
from course_lib.grading.rehearsal.check import check
from course_lib.grading.submissions.folder import collect
from course_lib.grading.submissions.queue import Job, grade_all

SOLUTIONS = Path(__file__).parents[2] / "solutions"
BY_NIGHT = [pytest.mark.exhaustive, pytest.mark.timeout(900)]


def test_what_is_right_is_the_same_whoever_computes_beside():
    exercise = find("07g")
    calls = [(torch.arange(1.0, 400), seed, 5) for seed in range(160)]
    with ThreadPoolExecutor(8) as pool:
        beside = list(pool.map(lambda call: right_results(exercise, [call])[0], calls))
    answer = function_of(exercise)
    for call, came in zip(calls, beside, strict=True):
        assert all(torch.equal(*pair) for pair in zip(answer(*call), came, strict=True)), call[1]


def test_what_is_kept_is_never_changed():
    exercise, call = find("07g"), (torch.ones(3), 5, 2)
    right_results(exercise, [call])[0][0].zero_()
    assert right_results(exercise, [call])[0][0].any()


@pytest.mark.parametrize("name", ["07g", "02b"])
def test_checks_in_several_threads_take_turns(name):
    answer = function_of(find(name))
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: check(name, answer), range(8)))
    assert [report.findings for report in reports] == [[]] * 8


def test_random_numbers_begin_alike_inside_and_go_on_outside():
    states = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    drawn = []
    for _ in range(2):
        with alone(), alone():
            drawn.append((torch.rand(1).item(), np.random.rand()))  # noqa: NPY002
    assert drawn[0] == drawn[1]
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1] == np.random.get_state()[1].tolist()  # noqa: NPY002


@pytest.mark.parametrize("name", ["07g", "12d"])
def test_a_beginners_names_are_not_the_judges(grader, name):
    exercise = find(name)
    above, answer = program(name)
    cells = [("", "max = min = sum = all = any = 0"), ("", above), ("answer", answer)]
    grade = grader.grade(exercise, cells)
    assert (grade.points, grade.messages) == (exercise.points, [])


@pytest.mark.parametrize(
    ("chapter", "wanted", "copies"),
    [("07", ["07g"], 8), *(pytest.param(each, (), 20, marks=BY_NIGHT) for each in chapters())],
)
def test_every_copy_of_the_solutions_gets_all_points_several_at_a_time(chapter, wanted, copies, tmp_path):
    (solution,) = SOLUTIONS.glob(f"{chapter}_*.ipynb")
    for number in range(copies):
        shutil.copy(solution, tmp_path / f"student {number}.ipynb")
    jobs = [Job(each, wanted=wanted) for each in collect(tmp_path, chapter)]
    lost = []
    with contextlib.ExitStack() as stack:
        graders = [Grader(stack.enter_context(Launcher(LEVELS[best_level()]))) for _ in range(min(8, copies // 2))]
        for _ in range(3 if copies == 20 else 1):
            found = [graded for _, graded in grade_all(jobs, graders, lambda grade: None)]
            assert len(found) == copies
            lost += [(each.student, g) for each in found for g in each.grades if g.points < g.most]
    assert lost == []
