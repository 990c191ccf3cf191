"""What assistants are told, on a desk and in the clone, is short and true: files, commands and functions are there."""

import re
import shlex
from pathlib import Path

import click
import pytest

from course_lib import grading
from course_lib.cli import COMMANDS, main
from course_lib.desk import lay

ROOT = Path(__file__).parents[1]
OURS = ROOT / "AGENTS.md"
DESK_S = ROOT / "course_lib/desk/for_assistants.md"
PLACE = re.compile(r"[\w.]+(/[\w.]*)+|\w+\.(md|toml|txt)")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk of the real course."""
    folder = tmp_path_factory.mktemp("student") / "desk"
    lay(folder)
    (folder / "START.md").touch()
    return folder


@pytest.mark.parametrize("page", [OURS, DESK_S], ids=["clone", "desk"])
def test_it_has_forty_lines_at_most_and_each_place_that_it_names_is_there(page: Path, desk: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    quoted = {each for each in re.findall(r"`([^`\n]+)`", text) if PLACE.fullmatch(each)}
    quoted |= set(re.findall(r"\]\(([^)]+)\)", text))
    roots = [desk, ROOT] if page == DESK_S else [ROOT]
    packed = {"course_lib/grading/exercises/exercises.zip"}  # made by `course build`
    assert {each for each in quoted if not any((root / each).exists() for root in roots)} <= packed
    assert len(quoted) >= 5


def test_the_clone_s_commands_exist() -> None:
    [block] = re.findall(r"```bash\n(.*?)```", OURS.read_text(encoding="utf-8"), re.DOTALL)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for line in block.splitlines():
        program, first, *rest = shlex.split(line, comments=True)
        assert first in targets if program == "make" else program in (".venv/bin/course", ".venv/bin/pytest")
        if program == ".venv/bin/course":
            assert first in COMMANDS
            assert main.get_command(click.Context(main), first)
        assert all((ROOT / each).exists() for each in rest if "/" in each)


def test_the_desk_s_names_the_check_and_the_hints_as_they_are_called() -> None:
    text = DESK_S.read_text(encoding="utf-8")
    called = set(re.findall(r"`(\w+)\(", text))
    assert called == {"check", "hint"}
    assert all(callable(getattr(grading, name)) for name in called)
    assert 'hint("02a", 1)' in text
    assert grading.hint("02a", 1).text.startswith("Hint 1 of ")


def test_a_tool_with_a_name_of_its_own_is_sent_to_the_same_rules(desk: Path) -> None:
    for folder in (desk, ROOT):
        assert (folder / "GEMINI.md").read_text() == "@AGENTS.md\n"
    assert (desk / "AGENTS.md").read_text() == DESK_S.read_text()
