"""Grades as a learning platform reads them: a row for each student, with the platform's own id, a column a chapter."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from course_lib.grading.submissions.folder import Graded

__all__ = ["PlatformError", "platform_rows", "read_ids", "without_id"]

Ids = tuple[str, dict[str, str]]  # the column's name, and the id of each student


class PlatformError(ValueError):
    """The list of ids cannot be used; says why."""


def read_ids(path: Path) -> Ids:
    """The platform's ids from a CSV file with a column `student` and one more, named as the platform names it.

    Raises:
        PlatformError: if it is another kind of file, or has a student twice.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PlatformError(f"{path} cannot be read as UTF-8: {error}") from error
    lines = list(csv.DictReader(io.StringIO(text)))
    columns = list(lines[0]) if lines else []
    if len(columns) != 2 or "student" not in columns:
        raise PlatformError(f"{path} must have the columns student and one more, it has {', '.join(map(str, columns))}")
    name = next(column for column in columns if column != "student")
    ids: dict[str, str] = {}
    for line in lines:
        if line["student"] in ids:
            raise PlatformError(f"{path} has the student {line['student']!r} twice")
        ids[line["student"]] = line[name] or ""
    return name, ids


def without_id(students: Iterable[str], ids: Ids) -> str:
    """Who has no id in the list, in a sentence that says what to do; empty if everybody has one."""
    missing = sorted(student for student in students if not ids[1].get(student))
    if not missing:
        return ""
    names = ", ".join(missing[:10]) + (f" and {len(missing) - 10} others" if len(missing) > 10 else "")
    return f"no {ids[0]} for {names}: their rows have an empty one; complete the list and run this again"


def platform_rows(by_student: Mapping[str, Sequence[Graded]], ids: Ids | None) -> list[list[str]]:
    """The table with its head. A chapter that somebody did not hand in, or whose grade is missing, is left empty.

    So is the id of a student that the list does not have: see `without_id`.
    """
    name, known = ids or ("", {})
    chapters = sorted({one.key[2] for handed_in in by_student.values() for one in handed_in} - {"", "-"})
    rows = [[*[name] * bool(ids), "student", *(f"chapter {chapter}" for chapter in chapters)]]
    for student, handed_in in sorted(by_student.items()):
        points = {one.key[2]: f"{one.points:g}" for one in handed_in if one.settled}
        rows.append([*[known.get(student, "")] * bool(ids), student, *(points.get(c, "") for c in chapters)])
    return rows
