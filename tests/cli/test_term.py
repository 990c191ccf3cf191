"""`course term`: dates, points and questions are the chapters', and the calendar is one that programs read."""

import json
import re
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_lib.cli import main
from course_lib.cli.term import PATHS, calendar, notes, plan, questions, syllabus
from course_lib.desk import ChapterOutline, outline
from course_lib.desk.contents import ExerciseOutline

GUIDE = (Path(__file__).parents[2] / "docs/teaching.md").read_text(encoding="utf-8")
START = date(2027, 2, 8)
NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)


def chapter(number: str, points: float = 5) -> ChapterOutline:
    exercises = (ExerciseOutline(f"{number}a", "a ring; yours, not ours", points),) if points else ()
    page = f"notebooks/{number}_x.ipynb"
    return ChapterOutline(number, "Ränge, Ringe", page, (), 60, 9, f"exercises/{number}_x.ipynb", exercises)


THREE = [chapter("00", points=0), chapter("01"), chapter("02")]


def entries(text: str) -> list[dict[str, str]]:
    """What a calendar program reads: lines unfolded, each entry's properties by name."""
    assert text.endswith("\r\n")
    assert max(len(line.encode()) for line in text.split("\r\n")) <= 75
    blocks = re.findall(r"BEGIN:VEVENT\r\n(.*?)END:VEVENT", text.replace("\r\n ", ""), re.DOTALL)
    return [dict(line.split(":", 1) for line in block.split("\r\n") if line) for block in blocks]


def test_chapters_are_spread_over_the_weeks_and_due_on_the_eve_of_the_next_lecture() -> None:
    planned = plan(THREE, START, 7)
    assert [week.number for week in planned] == [1, 3, 5]
    assert [week.lecture for week in planned] == [date(2027, 2, 8), date(2027, 2, 22), date(2027, 3, 8)]
    assert [week.due for week in planned] == [date(2027, 2, 21), date(2027, 3, 7), date(2027, 3, 28)]


@pytest.mark.parametrize("weeks", [3, 4, 5, 9, 14])
@pytest.mark.parametrize("off", [0, 1, 2])
def test_no_lecture_is_on_a_free_day_and_each_has_a_day_of_its_own(weeks: int, off: int) -> None:
    days = [START + timedelta(weeks=number) for number in range(weeks)]
    free = days[1 : 1 + off]
    if weeks - off < len(THREE):
        with pytest.raises(ValueError, match=f"3 chapters need as many weeks, and {weeks - off} have a lecture"):
            plan(THREE, START, weeks, free)
        return
    planned = plan(THREE, START, weeks, free)
    lectures = [week.lecture for week in planned]
    assert lectures == sorted(set(lectures))
    assert set(lectures) <= set(days) - set(free)
    assert all(week.lecture < week.due < START + timedelta(weeks=weeks) for week in planned)


def test_a_free_day_without_a_lecture_is_named() -> None:
    with pytest.raises(ValueError, match="2027-02-09 is no day of a lecture"):
        plan(THREE, START, 5, [date(2027, 2, 9)])


def test_a_term_without_an_end_is_refused_in_words(tmp_path: Path) -> None:
    asked = ["--start", "2027-02-08", "--weeks", "1000000", "--out", str(tmp_path)]
    said = CliRunner().invoke(main, ["term", *asked])
    assert (said.exit_code, said.output) == (1, "Error: 1,000,000 weeks from 2027-02-08 on end behind the year 9999\n")


def test_the_syllabus_has_each_chapter_s_day_time_and_points() -> None:
    text = syllabus(plan(THREE, START, 3))
    row = next(line for line in text.splitlines() if line.startswith("| 2 |"))
    assert row == (
        "| 2 | Mon 2027-02-15 | 01 Ränge, Ringe | notebooks/01_x.ipynb | 1\N{NO-BREAK SPACE}h + ½\N{NO-BREAK SPACE}h"
        " | 01a a ring; yours, not ours (5) | Sun 2027-02-21 |"
    )
    assert "3 lectures from Mon 2027-02-08 to Mon 2027-02-22, 10 points in exercises" in text


def test_the_calendar_has_each_lecture_and_each_due_day_once_and_the_same_again() -> None:
    found = entries(calendar(plan(THREE, START, 3), None, NOW))
    assert [entry["UID"].partition("@")[0] for entry in found] == [
        "lecture-00", "lecture-01", "due-01", "lecture-02", "due-02"
    ]  # fmt: skip
    assert [entry["DTSTART;VALUE=DATE"] for entry in found[1:3]] == ["20270215", "20270221"]
    assert found[0]["DTSTAMP"] == "20261201T093000Z"
    assert found[0]["SUMMARY"] == r"Lecture: 00 Ränge\, Ringe"
    assert found[2]["DESCRIPTION"] == r"01a a ring\; yours\, not ours (5)"


def test_with_a_time_lectures_take_ninety_minutes_of_local_time() -> None:
    lecture, *_, due = entries(calendar(plan(THREE, START, 3), time(14, 15), NOW))
    assert (lecture["DTSTART"], lecture["DURATION"]) == ("20270208T141500", "PT90M")
    assert "TRANSP" not in lecture
    assert (due["DTSTART;VALUE=DATE"], due["TRANSP"]) == ("20270228", "TRANSPARENT")


def page_of(folder: Path, *cells: tuple[str, str]) -> Path:
    """A page of Markdown cells, each with the kind of its slide."""
    made = [
        {"cell_type": "markdown", "source": text, "metadata": {"slideshow": {"slide_type": kind}} if kind else {}}
        for text, kind in cells
    ]
    (folder / "page.ipynb").write_text(json.dumps({"cells": made}), encoding="utf-8")
    return folder / "page.ipynb"


QUESTION = "**Question.** Four ranks.\n**Prediction.** Two steps, or three?\n\nAn answer that follows."


def test_questions_come_with_their_section_and_without_what_follows(tmp_path: Path) -> None:
    page = page_of(
        tmp_path, (f'## <a id="r"></a>Rings\n\n{QUESTION}', ""), ("**Prediction.** More?", ""), ("Text.", "")
    )
    assert questions(page) == [("Rings", "Four ranks. Two steps, or three?"), ("Rings", "More?")]


def test_only_questions_on_a_slide_are_asked_where_there_are_slides(tmp_path: Path) -> None:
    page = page_of(tmp_path, (f"## Rings\n\n{QUESTION}", "slide"), (f"## Trees\n\n{QUESTION}", "skip"), (QUESTION, "-"))
    assert [section for section, _ in questions(page)] == ["Rings", "Trees"]


def test_every_prediction_of_the_real_lectures_slides_is_a_question_and_no_mark_is_left() -> None:
    root = Path(__file__).parents[2]
    for each in outline():
        cells = json.loads((root / each.page).read_text(encoding="utf-8"))["cells"]
        kinds = [
            (cell["metadata"].get("slideshow", {}).get("slide_type", ""), "".join(cell["source"])) for cell in cells
        ]
        shown = [
            text for kind, text in kinds if kind not in ("skip", "notes") and (kind or not any(k for k, _ in kinds))
        ]
        asked = questions(root / each.page)
        assert len(asked) >= sum("**Prediction.**" in text for text in shown) > 0, each.page
        assert not [question for _, question in asked if "**Prediction" in question or "<details" in question]


def test_notes_look_back_at_the_class_page_of_the_chapter_before() -> None:
    told = notes(plan(THREE, START, 3), {"00": [("Rings", "Two?")], "01": [], "02": []})
    first, second, third = told.split("\n## ")[1:]
    assert "- Ask (Rings): Two?" in first
    assert "Look back" not in first + second  # chapter 00 has no exercises
    assert "--chapter 01` and `course report grades`" in third
    assert "- Hand out: `exercises/01_x.ipynb`, due Sun 2027-02-21." in second


def test_the_command_writes_three_files_of_the_real_course(tmp_path: Path) -> None:
    call = ["term", "--start", "2027-02-08", "--weeks", "14", "--path", "cluster", "--out", str(tmp_path / "t")]
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == ["notes.md", "syllabus.md", "term.ics"]
    assert "150 points" in (tmp_path / "t/syllabus.md").read_text(encoding="utf-8")
    assert len(entries((tmp_path / "t/term.ics").read_bytes().decode())) == 6 + 5
    short = CliRunner().invoke(main, [*call[:4], "5", *call[5:]])
    assert (short.exit_code, "6 chapters need as many weeks" in short.output) == (1, True)


def test_a_path_is_one_of_the_guide_s() -> None:
    guide = dict(re.findall(r"^\| .+? \| ((?:\d\d ?)+) \| \d+ \| `(\S+)` \|$", GUIDE, re.MULTILINE))
    assert {name: chapters.strip() for chapters, name in guide.items()} == PATHS
