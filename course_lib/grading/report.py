"""Grades as a table on the terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.table import Table

from course_lib.grading.submissions import Graded

__all__ = ["as_json", "class_table", "one_table", "write"]

FIELDS = ["student", "notebook", "exercise", "points", "max", "messages"]


def as_json(graded: Sequence[Graded], protection: str) -> str:
    """Everything, for programs."""
    submissions = [
        {
            "student": one.student,
            "notebook": str(one.path),
            "points": one.points,
            "max": one.most,
            "exercises": [
                {"id": g.exercise, "title": g.title, "points": g.points, "max": g.most, "messages": g.messages}
                for g in one.grades
            ],
        }
        for one in graded
    ]
    return json.dumps({"protection": protection, "submissions": submissions}, indent=2, ensure_ascii=False) + "\n"


def write(folder: Path, graded: Sequence[Graded], protection: str) -> list[Path]:
    """Write `grades.csv` (one line per student and exercise) and `grades.json` into a folder; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    table, tree = folder / "grades.csv", folder / "grades.json"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        for one in graded:
            for g in one.grades:
                row = [one.student, str(one.path), g.exercise, f"{g.points:g}", f"{g.most:g}", " | ".join(g.messages)]
                writer.writerow([_inert(text) for text in row])
    tree.write_text(as_json(graded, protection), encoding="utf-8")
    return [table, tree]


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
