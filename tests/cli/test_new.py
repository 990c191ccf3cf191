"""`course new-exercise` and `course new-chapter`, as an author uses them: in a copy of the repository, all green."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_lib.cli import main

ROOT = Path(__file__).parents[2]
FOLDERS = ("course_lib", "tests", "solutions", "exercises", "notebooks")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clone")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, root / folder)  # with what is compiled
    for file in ("pyproject.toml", "by_day.py"):  # which tests import
        shutil.copy(ROOT / file, root)
    return root


def _run(copy: Path, *command: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(copy)}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=copy, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_an_exercise_of_either_kind_runs_at_once_beside_those_that_are_there(copy):
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\.venv/bin/course (new-exercise .*)$", contributing, re.MULTILINE)
    _, name, _, function, _, title = shlex.split(command)
    said = _run(copy, "course_lib", *shlex.split(command))
    assert f"{name} is a draft" in said
    (page,) = (copy / "exercises").glob(f"{name[:2]}_*.ipynb")
    text = page.read_text(encoding="utf-8")
    assert f"| [{name[2]}](#{name[2]}) | {title[0].lower()}{title[1:]} | 3 |" in text
    assert f"def {function}(comm, tensor):" in text
    other = f"{name[:2]}{chr(ord(name[2]) + 1)}"
    _run(copy, "course_lib", "new-exercise", other, "--no-ranks", "--function", "halo_bytes", "--title", "Bytes")
    assert "def halo_bytes(numbers):" in page.read_text(encoding="utf-8")
    those = f"{name} or {other} or {name[:2]}-False or [{name[:2]}] or told_with"
    _run(copy, "pytest", "-p", "no:nbval", "-q", "-x", "tests/grading/test_exercises.py", "-k", those)
    _run(copy, "ruff", "check", "course_lib", "solutions")
    _run(copy, "ruff", "format", "--check", "course_lib", "solutions", "exercises")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_chapter_runs_at_once(copy):
    said = _run(copy, "course_lib", "new-chapter", "90", "halos", "--title", "Rows of a halo")
    assert "wrote notebooks/90_halos.ipynb" in said
    _run(copy, "course_lib", "new-exercise", "90b", "--no-ranks")
    tests = ["tests/halos", "tests/draw/test_halos.py", "tests/grading/test_exercises.py", "tests/test_house_style.py"]
    tests += ["tests/notebooks/test_notebooks_normal_form.py"]
    _run(copy, "pytest", "-p", "no:nbval", "-q", "-x", *tests, "-k", "90 or halos")
    _run(copy, "ruff", "check", "course_lib", "tests", "solutions", "notebooks")
    _run(copy, "ruff", "format", "--check", "course_lib", "tests", "solutions", "notebooks", "exercises")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new-exercise", "2k"], "an exercise's id is a chapter and a letter, like 04b, got '2k'"),
        (["new-exercise", "02a"], "02a is there already: solutions/exercises/chapter_02/a_direct"),
        (["new-exercise", "02a"], "; 02k is free"),
        (["new-exercise", "02k", "--function", "tree_all_reduce"], "give the function a name of its own"),
        (["new-exercise", "02k", "--function", "two words"], "a Python identifier, got 'two words'"),
        (["new-exercise", "91a"], "`course new-chapter 91 NAME` makes it"),
        (["new-chapter", "2", "halos"], "a chapter's number has two digits, like 04, got '2'"),
        (["new-chapter", "02", "halos"], "chapter 02 is there already: solutions/02_allreduce.ipynb"),
        (["new-chapter", "90", "Halos"], "a lowercase Python identifier, got 'Halos'"),
    ],
)
def test_what_cannot_be_made_is_refused_and_nothing_is_written(arguments, words, monkeypatch):
    monkeypatch.chdir(ROOT)
    before = {path: path.stat().st_mtime_ns for folder in FOLDERS for path in (ROOT / folder).rglob("*.[pi]*")}
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert words in result.output
    after = {path: path.stat().st_mtime_ns for folder in FOLDERS for path in (ROOT / folder).rglob("*.[pi]*")}
    assert {path for path in after if before.get(path) != after[path] and path.suffix != ".pyc"} == set()


def test_a_chapter_is_made_in_a_clone_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["new-chapter", "90", "halos"])
    assert "this is no clone of the course" in result.output
    assert list(tmp_path.iterdir()) == []
