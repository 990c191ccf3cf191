"""Every cheat, at every level of protection that this machine gives, gets nothing, and the judge lives on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import as_nobody
import pytest

from course_lib.grading.judge import protection

RUNNER = str(Path(__file__).parents[1] / "cheats" / "run_cheats.py")
# Without any wall these reach the right sums another way, and only the changed message gives them away.
WHISPERS = [
    "whisper_abstract_socket",
    "whisper_file_locks",
    "whisper_file_names",
    "whisper_keyring",
    "whisper_message_queue",
    "whisper_named_pipe",
    "whisper_sysv_memory",
    "whisper_tcp",
]
LEVELS = [("root", True), ("filter", True), ("user", False), ("filter", False)]
# What only a wall keeps from points, or from harm: `make test` tries these at every level, the others at the best.
AT_THE_WALLS = [
    "dummies_that_add",
    "foreign_system_calls",
    "fork_bomb",
    "hangs_up",
    "io_uring",
    "kill_everybody",
    "kill_the_parent",
    "other_ranks_socket",
    "read_the_judges_memory",
    "read_the_solutions",
    "take_off_the_filter",
    "trace_the_parent",
    "whisper_file",
    "whisper_futex",
    "whisper_memfd",
    "whisper_process_memory",
    "whisper_shared_memory",
    "whisper_signals",
    "whisper_tcp",
    "write_the_grade",
]
MAX_MIB = 1200  # of the judge, torch and the tests' own included
LONGEST = 2_100  # characters of a message in the teacher's table
MARK = Path("/tmp/the-judge-was-here")

pytestmark = pytest.mark.skipif(protection.best_level() == "unsafe", reason="no isolation on this system")


def _run(level: str, *names: str, as_root: bool) -> list[dict]:
    if as_root and os.geteuid() != 0:
        pytest.skip("needs root")
    if not as_root and (reason := as_nobody.why_not()):
        pytest.skip(reason)
    arguments = [RUNNER, level, *names]
    command = [sys.executable, *arguments] if as_root else as_nobody.command(*arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _refused(level: str, *names: str, as_root: bool) -> list[dict]:
    """What became of these cheats, none of which may get anything or harm the honest answer after it."""
    about, *graded = _run(level, *names, as_root=as_root)
    wanted = protection.LEVELS[level]
    if about["notes"]:
        pytest.skip(f"not to be had here: {about['notes']}")
    assert about["walls"] == wanted.words()
    assert (about["user"] == 0) == as_root
    assert {line["name"]: line["points"] for line in graded if line["points"]} == {}
    assert {line["name"]: line["honest"] for line in graded if line["honest"] != 4} == {}
    assert [line["name"] for line in graded if not 0 < len(" ".join(line["messages"])) < LONGEST] == []
    assert [line["name"] for line in graded if line["judge_mib"] > MAX_MIB] == []
    assert not MARK.exists()
    return graded


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_cheat_gets_a_point_and_an_honest_answer_after_it_gets_all():
    is_root = os.geteuid() == 0
    assert len(_refused(protection.best_level(), as_root=is_root)) >= 70


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("level", "as_root"), LEVELS[1:])
def test_what_only_a_wall_stops_is_stopped_at_every_level(level, as_root):
    assert len(_refused(level, *AT_THE_WALLS, as_root=as_root)) == len(AT_THE_WALLS)


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("level", "as_root"), LEVELS[1:])
def test_no_cheat_gets_a_point_at_any_level(level, as_root):
    assert len(_refused(level, as_root=as_root)) >= 70


def test_whispers_without_any_wall_are_given_away_by_the_changed_message():
    about, *graded = _run("unsafe", *WHISPERS, as_root=False)
    assert about["walls"] == []
    assert len(graded) == len(WHISPERS)
    assert {line["name"]: (line["points"], line["honest"]) for line in graded} == dict.fromkeys(WHISPERS, (0, 4))
    given_away = [line["name"] for line in graded if "no result showed it" in line["messages"][0]]
    assert len(given_away) > len(WHISPERS) / 2, graded  # a whisper may fail by itself where the machine is busy
