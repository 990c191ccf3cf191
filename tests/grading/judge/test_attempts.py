"""What is not the answer's fault costs no points: ranks and zygotes that something else kills."""

import os
import signal

import pytest
from grading_example import RIGHT, RING, cells

from course_lib.grading.exercise import Failure
from course_lib.grading.judge import protection
from course_lib.grading.judge.attempts import TRIES, JudgeError, why_it_died
from course_lib.grading.judge.grader import Grader
from course_lib.grading.judge.launcher import Exit, Launcher
from course_lib.grading.judge.trial import Judge


@pytest.fixture(scope="module")
def launcher():
    if protection.best_level() == "unsafe":
        pytest.skip("no isolation on this system")
    with Launcher(protection.LEVELS["filter"]) as launcher:  # no namespaces: ranks have the same numbers here
        yield launcher


@pytest.fixture
def killer(launcher, monkeypatch):
    """Kills a rank, or the zygote, as soon as a trial has begun: in as many trials as one says."""
    run = Judge.run

    def install(victim, times):
        left = [times]

        def killing(judge, starts, begins_s):
            if left[0]:
                left[0] -= 1
                pids = [launcher._process.pid] if victim == "zygote" else []
                for pid in [*pids, processes[-1].pid]:  # a rank that has just begun may outlive the zygote
                    os.kill(pid, signal.SIGKILL)
            return run(judge, starts, begins_s)

        monkeypatch.setattr(Judge, "run", killing)

    processes = []
    spawn = launcher.spawn
    monkeypatch.setattr(launcher, "spawn", lambda *args: processes.append(spawn(*args)) or processes[-1])
    return install


@pytest.mark.parametrize("victim", ["rank", "zygote"])
@pytest.mark.parametrize("times", [1, TRIES - 1])
def test_a_trial_that_something_outside_ended_is_tried_again(launcher, killer, victim, times):
    killer(victim, times)
    grade = Grader(launcher).grade(RING, cells(RIGHT))
    assert (grade.points, grade.messages) == (4, [])


@pytest.mark.parametrize("victim", ["rank", "zygote"])
def test_if_that_goes_on_it_is_the_judges_error_and_no_grade(launcher, killer, victim):
    killer(victim, 1 + TRIES)  # first the cells are read
    with pytest.raises(JudgeError, match=f"tried {TRIES} times, and each time .* killed.*: is there enough memory?"):
        Grader(launcher).grade(RING, cells(RIGHT))


DIED = Failure("died", "", 1)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (Exit(-signal.SIGKILL, 2.0), "rank 1 used up its CPU time"),
        (Exit(-signal.SIGXCPU, 2.0), "rank 1 used up its CPU time"),
        (Exit(-signal.SIGSEGV, 0.1), "rank 1's process was ended by SIGSEGV: a recursion without an end?"),
        (Exit(-signal.SIGSYS, 0.1), "rank 1's process was ended by SIGSYS"),
        (Exit(3, 0.1), "rank 1's process ended without an answer (exit code 3)"),
        (Exit(None, 0.1), "rank 1 hung up on the judge and went on"),
    ],
)
def test_what_a_rank_can_do_to_itself_is_its_own_fault(end, words):
    failure, why = why_it_died(DIED, end, cpu_s=2)
    assert (failure.text.startswith(words), why) == (True, "")


def test_only_something_outside_can_kill_a_rank_that_has_used_little_processor_time():
    _, why = why_it_died(DIED, Exit(-signal.SIGKILL, 0.3), cpu_s=2)
    assert why == "something outside killed rank 1 after 0.3 s on a processor: is there enough memory?"


def test_a_rank_that_hangs_up_and_goes_on_is_told_from_one_that_was_killed(launcher):
    source = "import os, time\ndef ring_sum(comm, tensor):\n    os.close(comm._socket.descriptor)\n    time.sleep(60)"
    grade = Grader(launcher).grade(RING, cells(source))
    assert "hung up on the judge and went on" in grade.messages[0]
