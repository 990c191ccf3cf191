"""What docs/teaching.md tells a lecturer holds: paths keep what chapters need, hours are theirs, commands exist."""

import re
import shlex
from pathlib import Path

import click
import pytest

from course_lib.cli import main
from course_lib.desk import outline

GUIDE = (Path(__file__).parents[2] / "docs/teaching.md").read_text(encoding="utf-8")
PATHS = re.findall(r"^\| (.+?) \| ((?:\d\d ?)+) \| (\d+) \|(?: `\S+`)? \|$", GUIDE, re.MULTILINE)
CHAPTERS = {chapter.number: chapter for chapter in outline()}


def test_one_path_has_all_chapters() -> None:
    assert [chapters.split() for _, chapters, _ in PATHS].count(list(CHAPTERS)) == 1


@pytest.mark.parametrize(("name", "chapters", "hours"), PATHS, ids=[name for name, _, _ in PATHS])
def test_a_path_has_what_its_chapters_need_before_them(name: str, chapters: str, hours: str) -> None:
    pages_only, before, minutes = "without exercises" in name, set(), 0.0
    for number in chapters.split():
        assert before >= set(CHAPTERS[number].needs)
        before.add(number)
        minutes += CHAPTERS[number].minutes + (0 if pages_only else CHAPTERS[number].exercise_minutes)
    assert abs(int(hours) - minutes / 60) < 1


def test_its_commands_and_their_options_exist() -> None:
    calls = [shlex.split(line, comments=True) for line in re.findall(r"^course .*$", GUIDE, re.MULTILINE)]
    assert len(calls) == 5
    for _, name, *words in calls:
        options = {option for each in main.get_command(click.Context(main), name).params for option in each.opts}
        assert {word for word in words if word.startswith("--")} <= options
