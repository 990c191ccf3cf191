"""Which statements of a notebook run for an answer, and how a cell becomes Python."""

import inspect
import pickle
import signal
import sys

import pytest

from course_lib.grading.sandbox import cells as cells_module
from course_lib.grading.sandbox.cells import CellClock, CellError, SlowCells, collect, reasons, refuse_unrun, shortened
from course_lib.grading.sandbox.magics import as_python, begins_statement
from course_lib.grading.sandbox.stubs import NO_FILES
from course_lib.grading.submissions.notebook import defines

BLACK = '''def right(rank, size):
    """Where to:
    % of nothing
    !ls
    """
    return (
        (rank + 1)
        % size
    ) if not (
        size
        != size
    ) else "?"
'''


@pytest.fixture(autouse=True)
def main(monkeypatch):
    """The tests' own `__main__`, whatever takes its place."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


def collected(cells, function="f"):
    """The function that these cells give, and what failed."""
    return collect(shortened(cells, function), function, CellClock(1.0, 4.0))


def called(*sources, function="f"):
    """What the function gives that these cells define."""
    return collected([("other", source) for source in sources], function)[0]()


# From cells to Python


@pytest.mark.parametrize("magic", ["", "%%time\n", "%matplotlib inline\n", "!echo it's (\n", "right?\n", "x = !ls '\n"])
def test_lines_within_brackets_and_strings_are_no_magics(magic):
    function, _ = collected([("answer", magic + BLACK)], "right")
    assert [function(rank, 3) for rank in range(3)] == [1, 2, 0]
    assert "% of nothing\n!ls" in inspect.getdoc(function)
    assert defines(magic + BLACK, "right")


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%time x = 3", "x = 3"),
        ("%time -n 3 f()", "pass"),
        ("for x in y:\n    %time f(x)", "for x in y:\n    f(x)"),
        ("if x:\n    !ls\n", "if x:\n    pass\n"),
        ("files = !ls *.py", "files = get_ipython().getoutput()"),
        ("n = %timeit -o f()", "n = get_ipython().run_line_magic('timeit')"),
        ("n = %time f()", "n = f()"),
        ("x = '%'; y = 1 \\\n % 2", "x = '%'; y = 1 \\\n % 2"),
        ("?print\nprint??\nnp.*?", "pass\npass\npass"),
        ("%%bash\nx = 1", ""),
        ("%%writefile a.py\ndef f(): pass", ""),
        ("%%capture out\nx = 1  # it's (", "pass\nx = 1  # it's ("),
        ("x = \"it's (\"\n%cd '\ny = r'\\'", "x = \"it's (\"\npass\ny = r'\\'"),
        ("s = '''\n!no\n'''\n!yes", "s = '''\n!no\n'''\npass"),
    ],
)
def test_a_cell_is_read_as_ipython_reads_it(cell, python):
    assert as_python(cell) == python


def test_what_stands_in_a_string_defines_nothing():
    assert not defines('old = """\ndef ring(comm):\n    pass\n"""', "ring")
    assert not defines("%%writefile ring.py\ndef ring(comm): pass", "ring")
    assert begins_statement("x = (1\ndef ring(comm):") == ["x = (1", "def ring(comm):"]  # to say what is wrong with it


# What an answer needs


def test_helpers_run_with_what_gives_their_names_items_and_attributes():
    helpers = """
import random, math
EPS = float(1)
EPS += 1
double = lambda x: math.floor(2 * x)
table = {}
table["a"] = 1
for key in "bc":
    table[key] = double(key == "b")
class Counter:
    start = EPS
Counter.step = 5
try:
    import nothing_of_this_name
except ImportError:
    nothing_of_this_name = None
"""
    answer = "def f(): return EPS, table, Counter.start, Counter.step, nothing_of_this_name, random"
    assert called(helpers, answer)[:-1] == (2.0, {"a": 1, "b": 2, "c": 0}, 2.0, 5, None)


def test_what_an_answer_does_not_need_does_not_run():
    scratch = """
result = 1 / 0
f()
while True: pass
assert f() == 7
import time
time.sleep(1000)
raise SystemExit
"""
    assert called(scratch, "def f():\n    result = 4\n    return result\n" + scratch) == 4
    _, missing = collected([("answer", "def f(): pass"), ("other", scratch)])
    assert missing == []


def test_the_last_definition_that_runs_counts():
    assert called("def f(): return 1", "def f(): return 2") == 2
    assert called("def f(): return 1", "def f(: return 2") == 1  # as in the notebook
    assert called("def f(): return 1", "g = f\ndef f(): return g() + 10") == 11


def test_what_failed_is_told_with_its_place():
    cells = [("other", "import sys\nhelper = 1 / 0"), ("other", "helper2 = sys.exit(3)"), ("other", "def other(:")]
    _, missing = collected([*cells, ("answer", "def f(): return helper, helper2, other")])
    assert reasons(missing, "helper") == "; code cell 1, line 2: ZeroDivisionError: division by zero"
    assert reasons(missing, "helper2") == "; code cell 2, line 1: SystemExit: 3"
    assert reasons(missing, "other").startswith("; code cell 3: it is not Python: ")


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        (["x = 1", "def f(:"], "code cell 2 is not Python: invalid syntax (line 1: def f(:)"),
        (["def f(x=y): pass"], "code cell 1, line 1: NameError: name 'y' is not defined"),
        (["f = 3"], "no cell defines f"),
        (["return 1\ndef f(): pass"], "code cell 1 is not Python: 'return' outside function"),
    ],
)
def test_cells_that_give_no_function_say_why(sources, words):
    cells = [("answer" if defines(source, "f") else "other", source) for source in sources]
    with pytest.raises(CellError) as caught:
        collected(cells)
    assert words in str(caught.value)


def test_shortened_cells_hold_what_is_needed_on_its_own_lines():
    cells = [
        ("setup", "import os, sys\nimport math"),
        ("other", "show(3)\n@staticmethod\ndef helper():\n    return math.pi"),
        ("other", "def broken(:"),
        ("answer", "%%time\nx = 1; y = 2\ndef f():\n    return helper(), y\nf()"),
    ]
    short = shortened(cells, "f")
    assert short == [
        ("setup", "\nimport math"),
        ("other", "\n@staticmethod\ndef helper():\n    return math.pi"),
        ("other", "def broken(:"),
        ("answer", "\nx = 1; y = 2\ndef f():\n    return helper(), y\n"),
    ]
    assert shortened(short, "f") == short


def test_a_function_with_a_yield_is_told_from_a_generator_expression():
    refuse_unrun((x for x in "ab"), "ranks")
    refuse_unrun((lambda: (yield))(), "function")
    for mode in ("ranks", "in place"):
        with pytest.raises(TypeError, match="has a yield in it"):
            refuse_unrun((lambda: (yield))(), mode)
    with pytest.raises(TypeError, match="a generator expression, of which nothing has run"):
        refuse_unrun((x for x in "ab"), "in place")


# Whole cells


def whole(*sources, cell_s=1.0, cells_s=4.0):
    """What the function f gives when all of these cells run, and what failed."""
    function, missing = collect([("other", source) for source in sources], "f", CellClock(cell_s, cells_s))
    return function(), missing


def test_all_cells_run_in_order_and_what_fails_is_noted_and_passed():
    fails = "order.append(2)\n1 / 0\norder.append(3)"
    value, missing = whole(
        "order = [1]", fails, "raise SystemExit", "def f(:", "def f(): return order", "order.append(4)"
    )
    assert value == [1, 2, 3, 4]
    assert [place for place, *_ in missing] == ["code cell 2, line 2", "code cell 3, line 1", "code cell 4"]


@pytest.mark.parametrize(
    "loop", ["while True:\n    pass", "while True:\n    try:\n        x = 1\n    except Exception: pass"]
)
def test_a_cell_that_takes_too_long_is_told_with_its_line_and_then_ends_there(loop, monkeypatch):
    monkeypatch.setattr(cells_module, "FOR_REAL", 1000)
    cells = [("other", "order = [1]"), ("other", f"order.append(2)\n{loop}\norder.append(3)")]
    cells += [("answer", "def f(): return order, late"), ("other", f"{loop}\nlate = 1")]
    with pytest.raises(SlowCells, match=r"^2:2 4:1$"):
        collect(cells, "f", CellClock(0.05, 4.0))
    cells = [cells[0], ("other slow:2", cells[1][1]), cells[2], ("other slow:1", cells[3][1])]
    function, missing = collect(cells, "f", CellClock(0.05, 4.0))
    with pytest.raises(NameError):
        function()
    assert function.__globals__["order"] == [1, 2]
    line = 1 + len(loop.split("\n"))
    assert reasons(missing, "late") == f"; code cell 4, line {line}: this cell takes too long, and ends here"


def test_a_cell_that_waits_ends_too():
    waits = "import threading\nthreading.Event().wait(60)"
    with pytest.raises(SlowCells, match=r"^1:2$"):
        whole(waits, "def f(): pass", cell_s=0.05)


def test_cells_have_a_time_together_and_each_a_little_of_its_own(monkeypatch):
    now, limits = [0.0], []
    monkeypatch.setattr(cells_module.time, "process_time", lambda: now[0])
    monkeypatch.setattr(cells_module.signal, "setitimer", lambda which, seconds: limits.append((which, seconds)))
    clock = CellClock(0.5, 0.85)
    for _ in range(4):
        clock.next_cell()
        with clock:
            now[0] += 0.3
    given = [seconds for which, seconds in limits if which == signal.ITIMER_PROF and seconds]
    assert given == pytest.approx([0.5, 0.5, 0.25, 0.02])


def test_an_endless_cell_ends_when_the_time_of_all_cells_is_over(monkeypatch):
    monkeypatch.setattr(cells_module, "FOR_REAL", 1000)  # others work on this machine, too
    with pytest.raises(SlowCells, match=r"^2:1$"):
        whole("x = 1", "while True: pass", "def f(): pass", cell_s=60.0, cells_s=0.1)


@pytest.mark.parametrize(
    "sources",
    [
        ["7", "def f(): return Out[1] == _1 == 7"],
        ["5", "7", "", "last, before = _, __", "def f(): return (last, before) == (7, 5)"],
        ["_ = 3", "7", "kept = _", "def f(): return kept == 3"],
        ["5", "", "def f(): return In[1] == _i1 == '5' and In[2] == '' and len(In) == 4"],
        ["here = %pwd\nhome = %env HOME\nwhere = here + home", "def f(): return isinstance(where, str)"],
        [
            "files = !ls\nfound = files.grep('py').s.split()",
            "def f(): return not files and not found and not files[:3]",
        ],
        ["took = %timeit -o f()\nprint(took.average)", "def f(): return [display(took)] != []"],
        ["get_ipython().run_line_magic('matplotlib', 'inline')\ndisplay(3)\nx = 1", "def f(): return x == 1"],
    ],
)
def test_what_ipython_gives_a_notebook_is_there(sources):
    value, missing = whole(*sources)
    assert (value, missing) == (True, [])


def test_what_a_command_would_have_printed_is_refused_in_words():
    with pytest.raises(NameError) as caught:
        whole("files = !ls", "first = files[0]", "def f(): return first")
    assert caught.value.name == "first"
    _, missing = collect([("other", "files = !ls\nfirst = files[0]\ndef f(): pass")], "f", CellClock(1.0, 4.0))
    assert reasons(missing, "first") == (
        "; code cell 1, line 2: PermissionError: this command has printed nothing: " + NO_FILES
    )


def test_classes_of_the_notebook_are_found_where_pickle_looks_for_them():
    source = "import pickle\nclass State:\n    pass\ndef f(): return pickle.loads(pickle.dumps(State()))"
    value, _ = whole(source)
    assert type(value).__name__ == "State"
    assert type(pickle.loads(pickle.dumps(value))) is type(value)
