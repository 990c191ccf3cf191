"""Every cheat, at every level of protection that this machine gives, gets nothing, and the judge lives on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import as_nobody
import pytest

from course_lib.grading import protection

RUNNER = str(Path(__file__).parent / "cheats" / "run_cheats.py")
# Without any wall these reach the right sums another way, and only the changed message gives them away.
WHISPERS = [
    "whisper_abstract_socket",
    "whisper_file_locks",
    "whisper_file_names",
    "whisper_keyring",
    "whisper_message_queue",
    "whisper_named_pipe",
    "whisper_process_memory",
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


@pytest.mark.parametrize("name", WHISPERS)
def test_a_whisper_without_any_wall_is_given_away_by_the_changed_message(name):
    _, line = _run("unsafe", name, as_root=False)
    assert line["points"] == 0
    assert "no result showed it" in line["messages"][0]
    assert line["honest"] == 4
