"""An answer is worth what it was worth where its check stands: what picked statements lose is judged on whole cells."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from grading_example import RIGHT, RING

from course_lib.grading import exercises
from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.judge import protection
from course_lib.grading.judge.attempts import AT_ITS_CHECK, PICKED, WHOLE, Account, Limits, readings
from course_lib.grading.judge.grader import Grader
from course_lib.grading.judge.launcher import Launcher
from course_lib.grading.submissions.folder import Submission, grade_submission
from course_lib.grading.submissions.notebook import cells_for


def _calls(rng: np.random.Generator):
    numbers = [int(number) for number in rng.integers(1, 1000, 3)]
    yield Case(1, [(number,) for number in numbers], [3 * number for number in numbers], label="three times")


TRIPLE = Exercise("98t", "Triple", "triple", 4, _calls, answer="return", mode="function")
CHECK = 'check("98t", triple)'


@pytest.fixture(scope="module")
def grader():
    if protection.best_level() == "unsafe":
        pytest.skip("no isolation on this system")
    with Launcher(protection.LEVELS["filter"]) as launcher:
        yield Grader(launcher, b"the same every time", Limits(cpu_s=2, timeout_s=5.0))


def grade(grader, *sources, exercise=TRIPLE):
    """The grade of a notebook of these cells."""
    return grader.grade(exercise, cells_for([([], source) for source in sources], exercise.function))


# Each gives TABLE["kinds"], or something like it, the value 3 in a way of its own.
FILLED = {
    "a decorator that is called": """
RULES = {}
def rule(name):
    def inner(function):
        RULES[name] = function
        return function
    return inner
@rule("three")
def some(n): return 3 * n
def triple(n): return RULES["three"](n)
""",
    "singledispatch": """
from functools import singledispatch
@singledispatch
def times(n): raise TypeError
@times.register
def _(n: int): return 3 * n
def triple(n): return times(n)
""",
    "init_subclass": """
class Base:
    known = {}
    def __init_subclass__(cls): Base.known[cls.__name__] = cls
class Three(Base):
    kinds = 3
def triple(n): return Base.known["Three"].kinds * n
""",
    "subclasses": """
class Base: pass
class Three(Base):
    kinds = 3
def triple(n): return sum(each.kinds for each in Base.__subclasses__()) * n
""",
    "setdefault": """
table = {}
for each in range(3):
    table.setdefault("all", []).append(each)
def triple(n): return len(table["all"]) * n
""",
    "a call whose value is dropped": """
table = []
def fill(kind): table.extend([kind] * 3)
_ = fill("B")
def triple(n): return len(table) * n
""",
    "a global that a call sets": """
def init():
    global kinds
    kinds = 3
print(init())
def triple(n): return kinds * n
""",
    "a header that is taken off": """
table = [9, 1, 1, 1]
header = table.pop(0)
def triple(n): return sum(table) * n
""",
    "a test that takes the header off": """
table = [9, 1, 1, 1]
if table.pop(0) != 9: raise ValueError
def triple(n): return sum(table) * n
""",
    "map": "table = []\nlist(map(table.append, 'abc'))\ndef triple(n): return len(table) * n",
    "a comprehension": "table = []\n[table.append(x) for x in 'abc']\ndef triple(n): return len(table) * n",
    "a lambda": "table = []\nfill = lambda n: table.extend(range(n))\nfill(3)\ndef triple(n): return len(table) * n",
    "a method": """
table = []
class Filler:
    def fill(self, n): table.extend(range(n))
Filler().fill(3)
def triple(n): return len(table) * n
""",
    "a context manager": """
import contextlib
table = []
@contextlib.contextmanager
def adding(): yield table.append
with adding() as add:
    add(3)
def triple(n): return table[0] * n
""",
    "an alias": """
table = {}
kinds = table["kinds"] = []
kinds.append(3)
def triple(n): return table["kinds"][0] * n
""",
    "an alias that grows": """
table = {"kinds": []}
kinds = table["kinds"]
kinds += [3]
def triple(n): return table["kinds"][0] * n
""",
    "setattr": "class Config: kinds = 1\nsetattr(Config, 'kinds', 3)\ndef triple(n): return Config.kinds * n",
    "globals": "globals()['times_' + 'three'] = lambda n: 3 * n\ndef triple(n): return times_three(n)",
    "exec": "exec('def kinds(): return 3')\ndef triple(n): return kinds() * n",
    "a library that is set up": """
import torch
torch.set_default_dtype(torch.float64)
def triple(n): return 3 * n if torch.empty(0).dtype == torch.float64 else 0
""",
    "a value that is awaited": """
import asyncio
async def later(): return await asyncio.sleep(0, 1)
kinds = await later()
async with asyncio.Lock():
    both = await asyncio.gather(later(), later())
def triple(n): return (kinds + sum(both)) * n
""",
    "pickle": """
import pickle
class Times:
    def __init__(self, kinds): self.kinds = kinds
def triple(n): return pickle.loads(pickle.dumps(Times(3))).kinds * n
""",
}


@pytest.mark.parametrize("name", FILLED)
def test_whatever_one_statement_does_to_another_a_right_answer_gets_its_points(grader, name):
    got = grade(grader, FILLED[name], CHECK)
    assert (got.points, got.messages) == (4, [])


DEFINED = [
    "if True:\n    def triple(n): return 3 * n",
    "try:\n    import numba\nexcept ImportError:\n    numba = None\nif numba is None:\n    def triple(n): return 3 * n",
    "def g(n): return 3 * n\na = triple = g",
    "def g(n): return 3 * n\ntriple, x = g, None",
    "(triple := lambda n: 3 * n)",
    "def g(n): return 3 * n\nglobals()['triple'] = g",
    "for triple in [lambda n: 3 * n]: pass",
    "from functools import partial\nimport operator as o\ntriple: object = partial(o.mul, 3)",
]


@pytest.mark.parametrize("source", DEFINED)
def test_a_function_is_found_however_it_got_its_name(grader, source):
    got = grade(grader, "import math", source, CHECK)
    assert (got.points, got.messages) == (4, [])


def test_no_function_of_that_name_is_said_with_one_like_it(grader):
    (message,) = grade(grader, "def triples(n): return 3 * n", "check('98t', triples)").messages
    assert message == "no cell defines triple; triples is there: which name did it have?"
    assert grade(grader, "x = 1").messages == ["no cell defines triple"]
    assert grade(grader, "x = 1", "triple(3)").messages == ["no cell defines triple"]


TWICE = replace(TRIPLE, id="98u", function="double", cases=lambda rng: [Case(1, [(5,)], [10], label="twice")])


def test_two_answers_with_a_helper_of_one_name_each_above_its_own_both_count(grader):
    cells = [
        "def times(n): return 3 * n",
        "def triple(n): return times(n)",
        "report = check('98t', triple)\nassert report.points == 4",
        "def times(n): return 2 * n",
        "def double(n): return times(n)",
        "check('98u', double)",
    ]
    first, second = grade(grader, *cells), grade(grader, *cells, exercise=TWICE)
    assert (first.points, first.way) == (4, AT_ITS_CHECK)
    assert (second.points, second.way) == (4, "")


def test_what_a_cell_shows_is_the_underscore_of_the_next_until_somebody_takes_that_name(grader):
    cells = ["import asyncio\nawait asyncio.sleep(0, 3)", "None", "kinds = _", "def triple(n): return kinds * n", CHECK]
    assert grade(grader, *cells).points == 4
    assert grade(grader, "_ = 3", "5", *cells[2:]).points == 4


def test_what_a_cell_shows_has_the_number_of_the_cell_in_a_notebook_run_from_the_top(grader):
    uses = ["def triple(n): return kinds * n", CHECK]
    for kinds in ("Out[2]", "_2"):
        assert grade(grader, "1", "print(3)\n3", "None", f"kinds = {kinds}", *uses).points == 4
    assert grade(grader, "files = !ls\nkinds = len(files) + 3", *uses).points == 4
    assert grade(grader, "Out = 1", "3", "kinds = _", *uses).points == 4


def test_a_helper_below_the_check_is_found_with_all_that_fills_it(grader):
    cells = ["def triple(n): return sum(table) * n", CHECK, "table = []", "[table.append(1) for _ in range(3)]"]
    got = grade(grader, *cells)
    assert (got.points, got.way) == (4, WHOLE)


def test_a_right_answer_needs_no_second_reading_however_its_notebook_goes_on(grader):
    rest = "while True: pass"
    got = grade(
        grader,
        "def times(n): return 3 * n",
        "def triple(n): return times(n)",
        CHECK,
        rest,
        "def times(n): pass # \n1/0",
    )
    assert (got.points, got.way) == (4, AT_ITS_CHECK)
    got = grade(grader, rest, "import time\ntime.sleep(99)", "def triple(n): return 3 * n", rest)
    assert (got.points, got.way) == (4, "")


def test_cells_that_do_not_end_or_fail_end_and_the_next_one_runs(grader):
    loop, fails = "table.append(0)\nwhile True: pass\ntable.append(7)", "1 / 0"
    got = grade(
        grader, "table = []", loop, fails, "list(map(table.append, [1, 2]))", "def triple(n): return sum(table) * n"
    )
    assert (got.points, got.way) == (4, AT_ITS_CHECK)


def test_a_wrong_answer_is_told_what_its_check_has_seen(grader):
    wrong = "RULES['two'] = 2\n" + FILLED["a decorator that is called"].replace("3 * n", "2 * n")
    (message,) = grade(grader, "RULES = {}", wrong, CHECK).messages
    assert "is right" in message
    assert "KeyError" not in message


def test_a_right_answer_costs_no_second_reading_and_a_wrong_one_a_case_for_each(grader):
    started = []
    spawn = grader.launcher.spawn
    grader.launcher.spawn = lambda *args: started.append(args) or spawn(*args)

    def ranks(*sources):
        started.clear()
        grade(grader, *sources)
        return len(started)

    try:
        assert ranks("x = 1", "def triple(n): return 3 * n", CHECK, "y = 1") == 2  # one reads the cells
        assert ranks("def triple(n): return 2 * n") == 2  # all readings are the same
        assert ranks("x = 1", "def triple(n): return 2 * n", CHECK) == 3
        assert ranks("x = 1", "def triple(n): return 2 * n", CHECK, "y = 1") == 4
        assert ranks(FILLED["map"], CHECK) == 3
        assert ranks("x = 1", "def triple(n): raise NotImplementedError", CHECK, "y = 1") == 4
    finally:
        del grader.launcher.spawn


def test_the_readings_hold_the_cells_up_to_the_last_check_and_then_all():
    cells = [["other", "a = 1"], ["answer", "def triple(): pass"], ["other", CHECK], ["other", "b"]]
    found = list(readings(TRIPLE, cells, lambda those: [["other", ""], cells[1], ["other", ""], ["other", ""]]))
    assert [reading.way for reading in found] == [PICKED, AT_ITS_CHECK, WHOLE]
    assert [source for _, source in found[1].cells] == ["a = 1", "def triple(): pass", CHECK, ""]
    assert found[2].cells == cells
    unchecked = [cells[1], cells[0]]
    two = list(readings(TRIPLE, unchecked, lambda those: [cells[1], ["other", ""]]))
    assert [reading.way for reading in two] == [PICKED, WHOLE]  # up to its definition is what it needs


def test_a_slow_cell_ends_on_its_line_and_keeps_its_kind():
    (reading, *_) = readings(TRIPLE, [["answer", "x"], ["other", "y"]], lambda those: those)
    assert [kind for kind, _ in reading.without_slow("1:7").cells] == ["answer slow:7", "other"]
    assert [kind for kind, _ in reading.without_slow("1:7").without_slow("1:3").cells] == ["answer slow:3", "other"]


def test_an_answer_with_ranks_is_judged_in_every_reading_with_changed_messages(grader):
    registry = "KNOWN = {}\ndef known(name):\n    return lambda f: KNOWN.setdefault(name, f)\n"
    ring = registry + RIGHT.replace("def ring_sum", "@known('ring')\ndef ring")
    got = grade(grader, ring, "def ring_sum(comm, tensor):\n    KNOWN['ring'](comm, tensor)", "1 / 0", exercise=RING)
    assert (got.points, got.messages, got.way) == (4, [], AT_ITS_CHECK)


def test_when_the_time_of_an_exercise_is_over_no_more_trials_are_made(grader):
    naps = RIGHT.replace("    p, r =", "    import threading; threading.Event().wait(0.9)\n    p, r =")
    cells, account = cells_for([([], naps)], "ring_sum"), Account(0.5)
    got = grader.grade(RING, cells, account=account)
    assert got.points == 0
    assert "took more than 0.5 s of work and waiting" in got.messages[0]
    assert account.is_empty


def test_a_submission_has_a_time_of_its_own_and_each_exercise_left_still_gets_a_little():
    limits = Limits(exercise_s=60.0, submission_s=180.0, min_s=5.0)
    assert [limits.account(used_s).limit_s for used_s in (0.0, 119.0, 130.0, 178.0, 900.0)] == [60, 60, 50, 5, 5]
    assert "a submission that may take 180 s in all" in limits.account(900.0).of
    assert limits.account(0.0).of == ""


def test_what_the_exercises_of_a_submission_use_adds_up(grader, monkeypatch):
    monkeypatch.setattr(exercises, "exercises_of", lambda chapter: (TRIPLE, TWICE))
    monkeypatch.setattr(exercises, "find", {one.id: one for one in (TRIPLE, TWICE)}.__getitem__)
    naps = "import threading\ndef triple(n):\n    threading.Event().wait(0.5)\n    return 3 * n"
    both = Submission("ann", Path("ann.ipynb"), [([], naps), ([], "def double(n): return 2 * n")], chapter="98")
    first, second = grade_submission(grader, both)
    assert (first.points, second.points) == (4, 4)
    assert 0.5 < both.used_s < 60
    both.used_s = 1e9
    limited = Grader(grader.launcher, limits=Limits(cpu_s=1, timeout_s=5.0, min_s=0.0))
    first, second = grade_submission(limited, both)
    assert (first.points, second.points) == (0, 0)
    assert "in a submission that may take 180 s in all, took more than 0 s" in first.messages[0]


def test_a_program_that_does_not_end_is_told_by_the_clock_that_it_had(grader):
    """Its second reading is in a hurry, and says nothing."""
    message = grade(grader, "x = 1", "def triple(n):\n    while True: pass", CHECK).messages[0]
    assert "still busy after 2 s of CPU time, in code cell 2, line 2" in message
