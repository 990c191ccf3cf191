"""`make` in whatever folder the course lies, with a desk of whatever name; a stand-in for Python says who calls."""

import ast
import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[1] / "Makefile"
PYTHON = r"""#!/bin/sh
printf '%s\0' "$PWD" "$@" "" >> "$TOLD"
for last; do :; done
case "$3" in desk) mkdir -p -- "$last";; esac
case "$*" in *"${RED:-nothing is red}"*) exit 1;; esac
"""
NAMES = [
    "course",
    "Ann's course",
    "a b",
    "$HOME x",
    "$(shell id)",
    "`id`",
    'a "b',
    "a\\b",
    "x\\",
    "a&b;c|d",
    "(a)",
    "[a]",
]
NAMES += [
    "{a,b}",
    "Übung Ж",
    "u\u0308",
    "-x",
    "--help",
    "# a",
    "50% done",
    "a*",
    "a!b",
    "~",
    "a=b",
    "<a>",
    "'''",
    "a\tb",
]


def clone(folder: Path) -> Path:
    """A clone whose environment is there, as far as make can see."""
    for name in ("constraints.txt", "pyproject.toml", ".jupyterlab-settings.json", ".jupyterlab/kernel_startup.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    shutil.copy(MAKEFILE, folder)
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON)
    python.chmod(0o755)
    (folder / ".venv/course-installed").touch()
    return folder


def make(folder: Path, *arguments: str, red: str = "") -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """What came of it, and the calls of Python: folder and arguments; a call with `red` among them fails."""
    told = folder.parent / "told"
    told.unlink(missing_ok=True)
    env = os.environ | {"TOLD": str(told), "RED": red}
    done = subprocess.run(["make", "-s", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False)
    calls = told.read_text().removesuffix("\0\0").split("\0\0") if told.exists() else []
    return done, [call.split("\0") for call in calls]


@pytest.mark.parametrize("name", NAMES)
def test_make_lab_works_in_a_folder_and_with_a_desk_of_any_name(tmp_path: Path, name: str) -> None:
    folder = clone(tmp_path / name)
    done, calls = make(folder, "lab", f"DESK={name}")
    assert (done.returncode, done.stderr) == (0, "")
    desk, lab = calls
    assert desk == [str(folder), "-m", "course_lib", "desk", "--", name]
    assert lab[:3] == [str(folder / name), "-m", "jupyterlab"]
    (style,) = [each for each in lab if "tornado_settings" in each]
    settings = ast.literal_eval(style.removeprefix("--ServerApp.tornado_settings="))
    assert settings == {"static_custom_path": [f"{folder}/.jupyterlab"]}
    assert f"--LabApp.extra_labextensions_path={folder}/.jupyterlab/labextensions" in lab
    assert "--FileContentsManager.post_save_hook=course_lib.desk.start.after_save" in lab


@pytest.mark.parametrize("target", ["doctor", "setup", "notebooks", "book"])
def test_other_targets_call_python_by_the_environment_s_own_path(tmp_path: Path, target: str) -> None:
    done, calls = make(clone(tmp_path / "Ann's $5 course"), target)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(calls) == (target != "setup")


@pytest.mark.parametrize("name", ["a:b", "a\nb"])
@pytest.mark.parametrize("target", ["lab", "setup", "test", "help"])
def test_a_folder_that_no_environment_works_in_is_refused_at_once_in_words(
    tmp_path: Path, name: str, target: str
) -> None:
    done, calls = make(clone(tmp_path / name), target)
    assert done.returncode == 2
    assert "No Python environment works in a folder whose path has a colon or a line break: rename it" in done.stderr
    assert calls == []


def test_all_parts_run_whatever_fails_and_the_failed_ones_again(tmp_path: Path) -> None:
    folder = clone(tmp_path / "course")
    done, first = make(folder, "test-all", red="--doctest-modules")
    assert done.returncode == 2
    assert "Failed: unit. Once it is mended: make test-all ARGS=--last-failed" in done.stdout
    parts = ["--doctest-modules", "--nbval-lax", "test_lectures_papermill.py", "tests/browser", "--share"]
    assert all(any(any(part in word for word in call) for call in first) for part in parts)
    (folder / ".pytest_cache/ended-browser").unlink()  # as if it had been killed there
    done, again = make(folder, "test-all", "ARGS=--last-failed -q")
    assert (done.returncode, len(again)) == (0, len(first))
    assert [call[3:] for call in again if "--last-failed" not in call] == [
        [*call[3:], "-q"] for call in first if "tests/browser" in call
    ]
