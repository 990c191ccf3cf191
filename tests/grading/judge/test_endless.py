"""The judge says of what swallows its end the same as the check, and such a loop in another cell costs nothing."""

import inspect

import endless
import pytest
from endless import ENDLESS

from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.judge import protection
from course_lib.grading.judge.grader import Grader, Limits
from course_lib.grading.judge.launcher import Launcher

BY_DAY = ["callback_of_a_weak_reference", "catches_all_twice", "ends_with_a_loop"]
ONE = Exercise("97a", "Ends", "ends", 1, lambda rng: [Case(1, [()], [1], label="it")], answer="return", mode="function")
ABOVE = inspect.getsource(endless).partition("__all__")[0] + inspect.getsource(endless.Thing)


@pytest.fixture(scope="module")
def grader():
    if protection.best_level() == "unsafe":
        pytest.skip("no isolation on this system")
    with Launcher(protection.LEVELS[protection.best_level()]) as launcher:
        yield Grader(launcher, b"the same every time", Limits(cpu_s=1, timeout_s=5.0))


@pytest.mark.parametrize(
    "loop",
    [pytest.param(e, id=e.__name__, marks=[pytest.mark.exhaustive] * (e.__name__ not in BY_DAY)) for e in ENDLESS],
)
def test_what_swallows_the_end_is_ended_with_its_line_and_costs_nothing_elsewhere(grader, loop):
    source = inspect.getsource(loop)
    answer = f"def ends():\n    {loop.__name__}()\n"
    (message,) = grader.grade(ONE, [("", ABOVE), ("", source), ("answer", answer)]).messages
    assert "ends() was still busy after 1 s of CPU time, in code cell 2, line" in message
    assert "(an endless loop?)" in message
    needed = f"{source}\nones = [1]\n{loop.__name__}()\nones.append(2)"
    grade = grader.grade(ONE, [("", ABOVE), ("", needed), ("answer", "def ends():\n    return ones[0]\n")])
    assert (grade.points, grade.messages) == (1, [])


def test_a_call_that_never_comes_back_to_python_is_ended_by_the_system(grader):
    (message,) = grader.grade(ONE, [("answer", "import itertools\ndef ends():\n    sum(itertools.count())\n")]).messages
    assert "an endless loop?" in message
