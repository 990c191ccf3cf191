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
MARK = Path("/tmp/the-judge-was-here")

pytestmark = pytest.mark.skipif(protection.best_level() == "unsafe", reason="no isolation on this system")


def _run(level: str, *names: str, as_root: bool) -> list[dict]:
    if as_root and os.geteuid() != 0:
        pytest.skip("needs root")
    if not as_root and (reason := as_nobody.why_not()):
        pytest.skip(reason)
    arguments = [RUNNER, level, *names]
    command = [sys.executable, *arguments] if as_root else as_nobody.command(*arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.timeout(420)
@pytest.mark.parametrize(("level", "as_root"), LEVELS)
def test_no_cheat_gets_a_point_and_an_honest_answer_after_it_gets_all(level, as_root):
    about, *graded = _run(level, as_root=as_root)
    wanted = protection.LEVELS[level]
    if about["notes"]:
        pytest.skip(f"not to be had here: {about['notes']}")
    assert about["walls"] == wanted.words()
    assert (about["user"] == 0) == as_root
    assert len(graded) >= 60
    assert {line["name"]: line["points"] for line in graded if line["points"]} == {}
    assert {line["name"]: line["honest"] for line in graded if line["honest"] != 4} == {}
    assert [line["name"] for line in graded if not line["messages"]] == []
    assert not MARK.exists()


def test_whispers_without_any_wall_are_given_away_by_the_changed_message():
    about, *graded = _run("unsafe", *WHISPERS, as_root=False)
    assert about["walls"] == []
    assert len(graded) == len(WHISPERS)
    assert {line["name"]: (line["points"], line["honest"]) for line in graded} == dict.fromkeys(WHISPERS, (0, 4))
    given_away = [line["name"] for line in graded if "no result showed it" in line["messages"][0]]
    assert len(given_away) > len(WHISPERS) / 2, graded  # a whisper may fail by itself where the machine is busy
