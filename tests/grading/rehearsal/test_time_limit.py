"""No answer gets past its limit: not what swallows what is raised in it, and not in another thread."""

import faulthandler
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from endless import ENDLESS, WAITING

from course_lib.comm.simulator import stacks
from course_lib.grading import check
from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.rehearsal import cases as one_case

HANGS_S = 100
RUNS = ("rank ", "limit of a check")
BY_DAY = ["callback_of_a_weak_reference", "finalizer", "catches_all", "ends_with_a_loop"]
PLACES = [("function", "main"), ("function", "other"), ("ranks", "main"), ("ranks", "other")]
ONE = Exercise("97a", "Ends", "ends", 1, lambda rng: [Case(1, [()], [1], label="it")], answer="return", mode="function")


def _marked(loops):
    return [pytest.param(e, id=e.__name__, marks=[pytest.mark.exhaustive] * (e.__name__ not in BY_DAY)) for e in loops]


def _exercise(mode):
    cases = lambda rng: [Case(2 if mode == "ranks" else 1, [()] * (1 + (mode == "ranks")), [1, 1], label="it")]  # noqa: E731
    return Exercise("97a", "Ends", "ends", 1, cases, answer="return", mode=mode)


def _answer(loop):
    """Rank 1 has it; rank 0 waits for rank 1."""

    def ends(comm=None):
        if comm is None or comm.rank == 1:
            loop()
        comm.barrier()

    return ends


def _checked(mode, thread, loop):
    if thread == "main":
        return check(_exercise(mode), _answer(loop))
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(check, _exercise(mode), _answer(loop)).result()


def _ended(before):
    """Whether no thread that runs or watches an answer is left but those from before; one that is ending may do so."""
    those = [each for each in set(threading.enumerate()) - before if each.name.startswith(RUNS)]
    for each in those:
        each.join(HANGS_S / 10)
    return not any(each.is_alive() for each in those)


@pytest.fixture
def short(monkeypatch):
    """Short limits; and what hangs all the same ends these tests, whose own alarm the limit uses itself."""
    monkeypatch.setattr(one_case, "LIMIT_S", 0.3)
    monkeypatch.setattr(stacks, "_PATIENCE_S", 1.0)
    before = set(threading.enumerate())
    faulthandler.dump_traceback_later(HANGS_S, exit=True, file=sys.__stderr__)
    yield before
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize(("mode", "thread"), PLACES)
@pytest.mark.parametrize("loop", _marked(ENDLESS))
def test_what_swallows_the_end_is_ended_with_its_line(loop, mode, thread, short):
    hook = sys.unraisablehook
    (finding,) = _checked(mode, thread, loop).findings
    who = "rank 1" if mode == "ranks" else "ends()"
    assert re.search(f"{re.escape(who)} was still (busy|waiting) after 0.3 s", finding.text)  # where others are busy
    assert "endless.py, line" in finding.text
    assert "an endless loop?" in finding.text
    assert _ended(short)
    assert sys.unraisablehook is hook


@pytest.mark.clock
@pytest.mark.parametrize(("mode", "thread"), PLACES)
@pytest.mark.parametrize("loop", _marked(ENDLESS))
def test_what_swallows_the_end_is_shown_once_at_most(loop, mode, thread, short, capfd):
    assert len(_checked(mode, thread, loop).findings) == 1
    assert capfd.readouterr().err.count("Exception ignored") <= 1


@pytest.mark.parametrize(("mode", "thread"), PLACES)
@pytest.mark.parametrize("loop", [pytest.param(each, id=each.__name__) for each in WAITING])
def test_what_waits_is_left(loop, mode, thread, short):
    (finding,) = _checked(mode, thread, loop).findings
    assert re.search("was still (busy|waiting) after 0.3 s", finding.text)  # where others are busy
    assert _ended(short)
    assert check(ONE, lambda: 1).ok
