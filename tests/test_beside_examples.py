"""One step beside every example of a docstring the library answers, or says what is wrong: no bare error, no hang."""

import ast
import contextlib
import doctest
import importlib
import io
import pkgutil
import signal
import traceback
from collections.abc import Iterator

import pytest

import course_lib
from course_lib.storage import mean_displacement

MAX_S = 5
BARE = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, StopIteration, ValueError)
# Arguments of pictures and commands are an author's; what strangers hand in is tried elsewhere.
NOT_HERE = {"__main__", "cli", "desk", "draw", "grading", "notebooks", "widgets"}
# Torch names what is wrong; and buckets are planned, not written by hand.
SAID_BY_OTHERS = {"bucket_views", "flip_bit", "gradient_noise", "maxvol", "mode_unfolding", "route", "winner"}
SAID_BY_PYTHON = ("zip() argument", "not enough values to unpack")  # lengths that differ, nothing for a pair
MODULES = [
    module.name
    for module in pkgutil.walk_packages(course_lib.__path__, "course_lib.")
    if NOT_HERE.isdisjoint(module.name.split("."))
]


class TooLongError(BaseException):
    """A call that takes longer than MAX_S."""


@pytest.fixture(autouse=True)
def clock():
    def stop(*_):
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def beside(node: ast.AST) -> list[str]:
    """What stands beside a literal: both ends, the next, twice as much, nothing."""
    if isinstance(node, ast.List | ast.Tuple):
        return ["[]" if isinstance(node, ast.List) else "()"]
    value = getattr(node, "value", None)
    if isinstance(value, float):
        return ["0.0", "-1.0", "float('nan')", "float('inf')"]
    if type(value) is int:
        return ["0", "-1", *(["1", str(value + 1), str(2 * value + 1)] if abs(value) < 10**5 else [])]
    return []


def changed(call: ast.Call, source: str) -> Iterator[str]:
    """Yield the call with one of its literals changed."""
    for node in ast.walk(call):
        for other in beside(node):
            start, stop = (len(source.encode()[:offset].decode()) for offset in (node.col_offset, node.end_col_offset))
            yield f"{source[:start]}{other}{source[stop:]}"


def calls(test: doctest.DocTest) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each changed call of what a docstring is about, and the names that its example has by then."""
    names = dict(test.globs)
    for example in test.examples:
        source = example.source.strip()
        for node in ast.walk(ast.parse(source)) if "\n" not in source else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in test.name.split("."):
                call = ast.get_source_segment(source, node)
                parsed = ast.parse(call, mode="eval").body
                yield from ((text, dict(names)) for text in changed(parsed, call))
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(example.source, "<example>", "single"), names)


def fault(call: str, names: dict[str, object]) -> str:
    """What is amiss in what this call raises; nothing if it answers, or says what it wants."""
    signal.setitimer(signal.ITIMER_REAL, MAX_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            eval(call, names)
    except TooLongError:
        return "hangs"
    except BARE as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours, last = any("course_lib" in frame.filename for frame in frames), frames[-1]
        said = (last.line or "").startswith("raise") or str(error).startswith(SAID_BY_PYTHON)
        return repr(error) if ours and "course_lib" in last.filename and not said else ""
    except Exception:
        return ""  # of torch, the operating system, or an error of the course
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return ""


def faults(module: str) -> dict[str, str]:
    """What is amiss in a module, by the call."""
    tests = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))
    tests = [test for test in tests if SAID_BY_OTHERS.isdisjoint(test.name.split("."))]
    tried = {call: fault(call, names) for test in tests for call, names in calls(test)}
    return {call: what for call, what in tried.items() if what}


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
@pytest.mark.parametrize("module", MODULES)
def test_beside_its_examples_a_module_answers_or_says_what_is_wrong(module):
    assert faults(module) == {}


def test_a_bare_error_and_a_hang_are_found(monkeypatch):
    assert fault("mean_displacement([])", {"mean_displacement": mean_displacement}) == ""
    assert "hangs" in fault("forever()", {"forever": lambda: exec("while True: pass")})
