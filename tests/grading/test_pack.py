"""A copy of the course without `solutions/` checks and grades as the clone does, from what `course build` packed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.grading.exercises.sources import packed, wrong_answer

ROOT = Path(__file__).parents[2]
PROGRAM = """
from course_lib.grading.exercises import chapters, exercises_of, find
from course_lib.grading.exercises.mistakes import function_of, source_of
from course_lib.grading.rehearsal.check import check

for chapter in chapters():
    for exercise in exercises_of(chapter):
        for mistake in (None, *exercise.mistakes):
            source_of(exercise, mistake)
exercise = find("06f")
print(len(chapters()), check(exercise, function_of(exercise)).ok)
print(check(exercise, function_of(exercise, exercise.mistakes[0])))
"""


LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.zip")


def python_in(folder: Path, program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=100)


def copy_without_solutions(folder: Path) -> Path:
    shutil.copytree(ROOT / "course_lib", folder / "course_lib", ignore=LEFT_OUT)
    return folder / "course_lib" / "grading" / "exercises" / "exercises.zip"


@pytest.mark.slow
def test_a_copy_without_solutions_checks_and_names_mistakes(tmp_path):
    copy_without_solutions(tmp_path).write_bytes(packed())
    (tmp_path / "solutions").mkdir()  # somebody's own, beside the package
    done = python_in(tmp_path, PROGRAM)
    assert done.stdout.startswith("13 True\n"), done.stdout + done.stderr
    assert "That leaves out the transfers" in done.stdout


def test_a_copy_without_any_exercises_says_what_packs_them(tmp_path):
    copy_without_solutions(tmp_path)
    done = python_in(tmp_path, "from course_lib.grading.exercises import find; find('02a')")
    assert "FileNotFoundError: this copy of the course has no exercises" in done.stderr
    assert "`course build` packs it" in done.stderr


def test_the_container_holds_what_grading_needs(tmp_path):
    copies = re.findall(r"^COPY (.+) (\S+)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    for source, target in (pair for pair in copies if pair[1] != "./"):
        shutil.copytree(ROOT / source, tmp_path / target, ignore=LEFT_OUT)
    done = python_in(tmp_path, "from course_lib.grading.exercises import chapters; print(len(chapters()))")
    assert done.stdout == "13\n", done.stderr


def test_a_wrong_answer_that_is_not_there_is_named():
    with pytest.raises(KeyError, match='no answer "# %% wrong: elsewhere"'):
        wrong_answer("06f", "elsewhere")


def test_the_same_solutions_make_the_same_bytes():
    assert packed() == packed()
