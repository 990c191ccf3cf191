"""What is right does not depend on what else is graded, or checked, at the same time."""

import contextlib
import csv
import os
import shutil
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.grading.alone import alone, settings, with_settings
from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.exercises import chapters, exercises_of, find
from course_lib.grading.exercises.mistakes import function_of, made, right_results
from course_lib.grading.exercises.sources import program
from course_lib.grading.judge.grader import Grader
from course_lib.grading.judge.launcher import Launcher
from course_lib.grading.judge.protection import LEVELS, best_level
from course_lib.grading.rehearsal import cases as one_case
from course_lib.grading.rehearsal.check import check
from course_lib.grading.submissions.folder import Job, collect, grade_all

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


@pytest.mark.parametrize(
    "names",
    [["07g", "12d"], *(pytest.param([e.id for e in exercises_of(each)], marks=BY_NIGHT) for each in chapters())],
    ids=lambda names: names[0][:2],
)
def test_checks_in_a_cell_and_in_a_thread_at_once_say_what_one_alone_says(names):
    def checks(those):  # of solutions as a notebook has them, without the judge's stand-ins
        reports = {name: check(name, made(*program(name), "", find(name).function)) for name in those}
        return {name: report.findings or report.passed for name, report in reports.items()}

    once = checks(names)
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(checks, names[::-1])
        assert checks(names) == once
        assert beside.result() == once
    assert not any(isinstance(each, list) for each in once.values())


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


@pytest.mark.parametrize(
    ("chapter", "wanted", "copies"),
    [("07", ["07g"], 1), *(pytest.param(each, [], 10, marks=BY_NIGHT) for each in chapters())],
)
def test_two_commands_side_by_side_give_all_points_and_keep_each_others_grades(chapter, wanted, copies, tmp_path):
    (solution,) = SOLUTIONS.glob(f"{chapter}_*.ipynb")
    runs = []
    with contextlib.ExitStack() as stack:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            for number in range(copies):
                shutil.copy(solution, tmp_path / name / f"student {name}{number}.ipynb")
            command = [sys.executable, "-m", "course_lib", "grade", name, "--out", "out", "--at-once", "2"]
            command += [word for each in wanted for word in ("--exercise", each)]
            runs.append(subprocess.Popen(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(SOLUTIONS.parent)}))
            stack.callback(runs[-1].kill)
        assert [run.wait() for run in runs] == [0, 0]
    rows = list(csv.DictReader((tmp_path / "out" / "grades.csv").read_text().splitlines()))
    assert len(rows) == 2 * copies * len(wanted or exercises_of(chapter))
    assert [row for row in rows if row["points"] != row["max"]] == []


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def _sets_everything(_):
    """What it finds; then it leaves all of torch otherwise."""
    found = [torch.get_default_dtype(), torch.get_default_device().type, torch._C._len_torch_dispatch_stack()]
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch._C._set_deterministic_algorithms(False, warn_only=False)
    torch.set_num_threads(torch.get_num_threads() + 1)
    torch.set_grad_enabled(False)
    np.seterr(all="raise")
    _Mode().__enter__()
    return [str(each) for each in found]


def test_what_an_answer_sets_for_all_of_torch_reaches_neither_the_next_case_nor_the_notebook():
    right = ["torch.float32", "cpu", "0"]
    cases = [Case(1, [(1,)], [right])] * 2
    exercise = Exercise("98b", "Sets", "sets", 1, lambda rng: cases, answer="return", mode="function")
    before, device = settings(), torch.get_default_device()
    assert check(exercise, _sets_everything).findings == []
    after = settings()
    assert {name: after[name] for name in before if name != "decimal"} == {
        name: before[name] for name in before if name != "decimal"
    }
    assert (torch.get_default_device(), torch._C._len_torch_dispatch_stack(), torch.is_grad_enabled()) == (
        device,
        0,
        True,
    )


def test_what_a_notebook_has_set_holds_for_its_answer_and_not_for_what_is_right():
    exercise = replace(find("04g"), cases=lambda rng: [Case(1, [(1,)], [["torch.float64", "cpu", "0"]])])
    with with_settings({"dtype": torch.float64}):
        assert check(exercise, _sets_everything).findings == []
        assert check("05b", function_of(find("05b"))).findings == []
        assert torch.get_default_dtype() == torch.float64


@pytest.mark.parametrize("made", ["torch.empty(3)", "torch.ones(3).new_empty(3)", "torch.empty_like(torch.ones(3))"])
def test_what_nobody_wrote_is_no_number_in_check_and_judge(grader, made):
    source = f"def cheapest_plan(data, model, change):\n    read = {made}\n    return [bool(read.isnan().all())]\n"
    exercise = replace(find("04g"), cases=lambda rng: [Case(1, [(1, 1, 1)], [[True]])])
    names = {"torch": torch}
    exec(source, names)
    assert check(exercise, names["cheapest_plan"]).findings == []
    assert grader.grade(exercise, [("", "import torch"), ("answer", source)]).messages == []


def _for_ever(comm, x, weight, bias):
    while comm.rank == comm.world_size - 1:
        pass
    comm.recv(x, comm.world_size - 1)


def _also_for_ever(data, model, change):
    while True:
        pass


@pytest.mark.parametrize(("name", "answer"), [("04b", _for_ever), ("04g", _also_for_ever)])
def test_a_check_in_a_thread_ends_what_is_busy_for_ever(name, answer, monkeypatch):
    monkeypatch.setattr(one_case, "LIMIT_S", 0.5)
    with ThreadPoolExecutor(1) as pool:
        (finding,) = pool.submit(check, name, answer).result().findings
    assert "still busy after 0.5 s of CPU time, in" in str(finding)
    assert "an endless loop?" in str(finding)


def test_who_waits_long_for_another_check_reads_what_to_do(monkeypatch):
    monkeypatch.setattr("course_lib.grading.alone.LONG_S", 0.01)
    begun, end, said = threading.Event(), threading.Event(), []

    def other():
        with alone():
            begun.set()
            end.wait()

    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(other)
        begun.wait()
        monkeypatch.setattr(warnings, "warn", lambda words, **_: (said.append(words), end.set()))
        with alone():
            pass
        waits.result()
    assert "restart the kernel, and call check in a cell" in said[0]
