"""`course term`: a syllabus with dates, a calendar, and notes for who lectures, all read off the chapters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from course_lib.desk import ChapterOutline

# The courses of docs/teaching.md; the name is what --path takes.
PATHS = {
    "all": "00 01 02 03 04 05 06 07 08 09 10 11 12 13",
    "large-model": "00 01 02 04 05 06 12 13",
    "small-model": "00 01 02 07 08 09",
    "cluster": "00 01 02 10 11 12",
}
WEEK = timedelta(days=7)
LECTURE_MINUTES = 90
MARK = re.compile(r"\*\*(Question|Prediction)\.\*\*\s*")
# A heading, or a paragraph from its question on.
PART = re.compile(
    r"^#{2,3} (?:<a [^>]*></a>)?(?P<heading>[^\n]+)$|\*\*(?:Question|Prediction)\.\*\*.*?(?=\n\s*\n|\n<details|\Z)",
    re.DOTALL | re.MULTILINE,
)
FREE = "TRANSP:TRANSPARENT"  # a day with this entry is not taken
LINE_BYTES = 75  # of a calendar's file, its end not counted


@dataclass(frozen=True)
class Week:
    """A chapter's place in the term: when its lecture is, and the last day on which its exercises are taken."""

    number: int
    lecture: date
    due: date
    chapter: ChapterOutline


@click.command()
@click.option("--start", type=click.DateTime(["%Y-%m-%d"]), required=True, help="The day of the first lecture.")
@click.option("--weeks", type=click.IntRange(1), required=True, help="How many weeks the term has.")
@click.option("--path", "path", type=click.Choice(list(PATHS)), default="all", help="Which chapters; see teaching.md.")
@click.option("--off", type=click.DateTime(["%Y-%m-%d"]), multiple=True, help="A lecture's day that is free.")
@click.option("--at", type=click.DateTime(["%H:%M"]), help="When lectures begin; by default the calendar has days.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default="term", help="Where the files go.")
def term(start: datetime, weeks: int, path: str, off: tuple[datetime, ...], at: datetime | None, out: Path) -> None:
    """Write a term's syllabus and calendar for students, and notes for who lectures.

    One lecture a week, on the weekday of --start; chapters of a short path are spread over the term. The exercises of
    a chapter are due on the evening before the next lecture. Edit the files as you like: nothing reads them.
    """
    from course_lib.desk import DeskError, outline
    from course_lib.desk.files import course_folder
    from course_lib.files import write_atomically

    try:
        course = course_folder()
        chosen = [chapter for chapter in outline(course) if chapter.number in PATHS[path].split()]
        planned = plan(chosen, start.date(), weeks, [each.date() for each in off])
        asked = {week.chapter.number: questions(course / week.chapter.page) for week in planned}
        out.mkdir(parents=True, exist_ok=True)
        files = {
            "syllabus.md": syllabus(planned),
            "notes.md": notes(planned, asked),
            "term.ics": calendar(planned, at.time() if at else None, datetime.now(UTC)),
        }
        for name, text in files.items():
            write_atomically(out / name, text.encode())
    except OverflowError as error:
        raise click.ClickException(f"{weeks:,} weeks from {start:%Y-%m-%d} on end behind the year 9999") from error
    except (DeskError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Written: {', '.join(str(out / name) for name in files)}")


def plan(chapters: Sequence[ChapterOutline], start: date, weeks: int, off: Sequence[date] = ()) -> list[Week]:
    """The chapters with their dates, spread evenly over the weeks that have a lecture.

    Raises:
        ValueError: if there are fewer weeks than chapters, or a free day is no lecture's.
    """
    days = [start + number * WEEK for number in range(weeks)]
    if strange := sorted(set(off) - set(days)):
        raise ValueError(f"{strange[0]} is no day of a lecture: these are {days[0]}, {days[1 % weeks]}, … {days[-1]}")
    free = [day for day in days if day not in off]
    if len(free) < len(chapters):
        raise ValueError(f"{len(chapters)} chapters need as many weeks, and {len(free)} have a lecture: add weeks")
    lectures = [free[number * len(free) // len(chapters)] for number in range(len(chapters))]
    ends = [day - timedelta(days=1) for day in [*lectures[1:], start + weeks * WEEK]]
    rows = zip(lectures, ends, chapters, strict=True)
    return [Week((lecture - start) // WEEK + 1, lecture, due, chapter) for lecture, due, chapter in rows]


def questions(page: Path) -> list[tuple[str, str]]:
    """What a lecture asks the room to guess: the section, and the question. Only what is on a slide, if some is."""
    from course_lib.desk.versions import course_notebook

    cells = [cell for cell in course_notebook(page)["cells"] if cell["cell_type"] == "markdown"]
    kinds = [cell["metadata"].get("slideshow", {}).get("slide_type", "") for cell in cells]
    left_out = ("skip", "notes", "") if any(kinds) else ()
    section, asked = "", []
    for cell, kind in zip(cells, kinds, strict=True):
        for found in PART.finditer("".join(cell["source"])):
            if found["heading"]:
                section = found["heading"].strip()
            elif kind not in left_out and "**Prediction.**" in found[0]:
                asked.append((section, " ".join(MARK.sub("", found[0]).split())))
    return asked


def syllabus(planned: Sequence[Week]) -> str:
    """What students get, in Markdown."""
    points = sum(week.chapter.points for week in planned)
    rows = [
        f"| {week.number} | {_day(week.lecture)} | {_name(week.chapter)} | {week.chapter.page} | {_hours(week.chapter)}"
        f" | {_exercises(week.chapter)} | {_day(week.due) if week.chapter.exercises else ''} |"
        for week in planned
    ]
    lines = [
        "# Distributed training, hands on",
        f"{len(planned)} lectures from {_day(planned[0].lecture)} to {_day(planned[-1].lecture)}, {points:g} points in"
        " exercises. Before each lecture read its page on your desk (`make lab`), and write down your guesses. The"
        " exercises are due at the end of the day that the last column names.",
        "\n".join(["| week | lecture | chapter | page | time | exercises (points) | due |", "|" + " --- |" * 7, *rows]),
        "*Time*: for the page, and for its exercises.",
    ]
    return "\n\n".join(lines) + "\n"


def notes(planned: Sequence[Week], asked: dict[str, list[tuple[str, str]]]) -> str:
    """Notes for the lecturer, in Markdown: what each lecture shows, asks and looks back at."""
    parts = ["# Notes for the lectures\n\nOf the questions take the three or four that you like best."]
    for before, week in zip([None, *planned], planned, strict=False):
        chapter = week.chapter
        deck = f"the deck `build/slides/{Path(chapter.page).stem}.html` (`make slides`)"
        lines = [f"## Week {week.number}, {_day(week.lecture)}: {_name(chapter)}\n"]
        if before and before.chapter.exercises:
            call = f"`course grade SUBMISSIONS --out grades --chapter {before.chapter.number}`"
            lines.append(f"- Look back: {call} and `course report grades`, then the two tallest bars of `class.html`.")
        lines.append(f"- Show: {deck if chapter.more else f'`{chapter.page}`'}.")
        lines += [f"- Ask ({section}): {question}" for section, question in asked[chapter.number]]
        if chapter.exercises:
            lines.append(f"- Hand out: `{chapter.exercises_page}`, due {_day(week.due)}.")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def calendar(planned: Sequence[Week], at: time | None, now: datetime) -> str:
    """The lectures and the days on which exercises are due, as iCalendar (RFC 5545).

    With `at`, lectures are in local time, wherever the calendar is read. A file made again replaces the same entries.
    """
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Distributed training//course term//EN"]
    for week in planned:
        chapter = week.chapter
        when = [f"DTSTART;VALUE=DATE:{week.lecture:%Y%m%d}", FREE]
        if at:
            when = [f"DTSTART:{week.lecture:%Y%m%d}T{at:%H%M%S}", f"DURATION:PT{LECTURE_MINUTES}M"]
        lines += _event(f"lecture-{chapter.number}", when, f"Lecture: {_name(chapter)}", f"Before: {chapter.page}", now)
        if chapter.exercises:
            due = [f"DTSTART;VALUE=DATE:{week.due:%Y%m%d}", FREE]
            lines += _event(f"due-{chapter.number}", due, f"Due: exercises {chapter.number}", _exercises(chapter), now)
    return "".join(f"{part}\r\n" for line in [*lines, "END:VCALENDAR"] for part in _folded(line))


def _event(name: str, when: list[str], summary: str, description: str, now: datetime) -> list[str]:
    said = [f"SUMMARY:{_escaped(summary)}", f"DESCRIPTION:{_escaped(description)}"]
    stamp = [f"UID:{name}@distributed-training", f"DTSTAMP:{now:%Y%m%dT%H%M%SZ}"]
    return ["BEGIN:VEVENT", *stamp, *when, *said, "END:VEVENT"]


def _escaped(text: str) -> str:
    return re.sub(r"([\\;,])", r"\\\1", text)


def _folded(line: str) -> Iterator[str]:
    """The line in pieces of at most 75 bytes, which begin with a space from the second on; no letter is cut."""
    piece = ""
    for letter in line:
        if len((piece + letter).encode()) > LINE_BYTES:
            yield piece
            piece = " "
        piece += letter
    yield piece


def _day(day: date) -> str:
    return f"{day:%a} {day.isoformat()}"


def _name(chapter: ChapterOutline) -> str:
    return f"{chapter.number} {chapter.title}"


def _exercises(chapter: ChapterOutline) -> str:
    return ", ".join(f"{each.id} {each.title} ({each.points:g})" for each in chapter.exercises)


def _hours(chapter: ChapterOutline) -> str:
    from course_lib.desk.start import hours

    return hours(chapter.minutes) + (f" + {hours(chapter.exercise_minutes)}" if chapter.exercises else "")
