"""Grades as a table on the terminal, as CSV and as JSON."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from rich import box
from rich.markup import escape
from rich.table import Table

from course_lib.grading.judge.grader import Grade
from course_lib.grading.submissions.folder import JUDGE_ERROR, Graded

__all__ = ["as_json", "class_table", "class_tables", "one_table", "read", "write"]

FIELDS = ["student", "notebook", "exercise", "points", "max", "messages"]


def as_json(graded: Sequence[Graded], protection: str) -> str:
    """Everything, for programs."""
    submissions = [
        {
            "student": one.student,
            "notebook": str(one.path),
            "points": one.points,
            "max": one.most,
            "sha256": one.digest,
            "exercises": [
                {"id": g.exercise, "title": g.title, "points": g.points, "max": g.most, "messages": g.messages}
                for g in one.grades
            ],
        }
        for one in graded
    ]
    return json.dumps({"protection": protection, "submissions": submissions}, indent=2, ensure_ascii=False) + "\n"


def read(folder: Path) -> list[Graded]:
    """What an earlier run wrote into `grades.json` of this folder, except where the judge made a mistake.

    Raises:
        ValueError: if the file cannot be read.
    """
    file = folder / "grades.json"
    if not file.exists():
        return []
    try:
        kept = [_graded(one) for one in json.loads(file.read_text(encoding="utf-8"))["submissions"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is no file of grades ({error})") from error
    return [one for one in kept if not any(m.startswith(JUDGE_ERROR) for g in one.grades for m in g.messages)]


def _graded(one: dict[str, Any]) -> Graded:
    grades = [Grade(g["id"], g["title"], g["points"], g["max"], g["messages"]) for g in one["exercises"]]
    return Graded(one["student"], Path(one["notebook"]), grades, one.get("sha256", ""))


def write(folder: Path, graded: Sequence[Graded], protection: str) -> list[Path]:
    """Write `grades.csv` (one line per student and exercise) and `grades.json` into a folder; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    table, tree = folder / "grades.csv", folder / "grades.json"
    with _replacing(table) as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        for one in graded:
            for g in one.grades:
                row = [one.student, str(one.path), g.exercise, f"{g.points:g}", f"{g.most:g}", " | ".join(g.messages)]
                writer.writerow([_inert(text) for text in row])
    with _replacing(tree) as file:
        file.write(as_json(graded, protection))
    return [table, tree]


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """A file that takes this one's place once it is complete, so that an interrupt leaves the old or the new one."""
    new = path.with_name(f"{path.name}.new")
    with new.open("w", newline="", encoding="utf-8") as file:
        yield file
    new.replace(path)


def _inert(text: str) -> str:
    """Text that a spreadsheet will not take for a formula: messages quote what students wrote."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") and len(text) > 1 else text


def one_table(graded: Graded) -> Table:
    """One submission: its exercises with what is wrong."""
    table = Table(title=escape(f"{graded.student}: {graded.points:g} of {graded.most:g} points"), show_lines=True)
    table.add_column("exercise", max_width=28)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("what the judge says", overflow="fold")
    for g in graded.grades:
        text = "\n".join(g.messages) or "right"
        table.add_row(escape(f"{g.exercise} {g.title}"), _points(g.points, g.most), escape(text))
    return table


def class_tables(graded: Sequence[Graded]) -> list[Table]:
    """Many submissions, a table for each chapter that they are for."""
    by_chapter: dict[str, list[Graded]] = {}
    for one in graded:
        by_chapter.setdefault(one.grades[0].exercise[:2] if one.grades else "-", []).append(one)
    return [class_table(by_chapter[chapter]) for chapter in sorted(by_chapter)]


def class_table(graded: Sequence[Graded]) -> Table:
    """Many submissions: points by exercise, the most that each gives in its head. What is wrong is in the files."""
    most = {g.exercise: g.most for one in graded for g in one.grades if g.exercise != "-"}
    ids = sorted(most)
    table = Table(title=f"{len(graded)} submissions", box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    table.add_column("student", overflow="fold", min_width=12)
    for name in ids:
        table.add_column(f"{name}\nof {most[name]:g}", justify="right", no_wrap=True)
    table.add_column(f"total\nof {sum(most.values()):g}", justify="right", no_wrap=True)
    for one in graded:
        points = {g.exercise: g for g in one.grades}
        note = f"{one.student}: {points['-'].messages[0]}" if "-" in points else one.student
        row = [_colored(points[name].points, points[name].most) if name in points else "" for name in ids]
        table.add_row(escape(note), *row, _colored(one.points, one.most))
    return table


def _colored(points: float, most: float) -> str:
    color = "green" if points == most else "red" if not points else "yellow"
    return f"[{color}]{points:g}[/]"


def _points(points: float, most: float) -> str:
    return f"{_colored(points, most)} of {most:g}"
