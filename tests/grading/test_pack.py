"""A copy of the course without `solutions/` checks and grades as the clone does, from what `course build` packed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.grading.exercises.sources import packed

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


@pytest.mark.slow
def test_a_copy_without_solutions_checks_and_names_mistakes(tmp_path):
    shutil.copytree(ROOT / "course_lib", tmp_path / "course_lib", ignore=shutil.ignore_patterns("__pycache__", "*.zip"))
    (tmp_path / "course_lib" / "grading" / "exercises" / "exercises.zip").write_bytes(packed())
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.stdout.startswith("13 True\n"), done.stdout + done.stderr
    assert "That leaves out the transfers" in done.stdout


def test_the_same_solutions_make_the_same_bytes():
    assert packed() == packed()
