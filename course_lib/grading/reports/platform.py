"""Grades as a learning platform reads them: a row for each student, with the platform's own id, a column a chapter."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from course_lib.grading.submissions.folder import Graded

__all__ = ["PlatformError", "platform_rows", "read_ids"]

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


def platform_rows(by_student: Mapping[str, Sequence[Graded]], ids: Ids | None) -> list[list[str]]:
    """The table with its head. A chapter that somebody did not hand in, or whose grade is missing, is left empty.

    Raises:
        PlatformError: if a student has no id.
    """
    name, known = ids or ("", {})
    missing = sorted(set(by_student) - set(known)) if ids else []
    if missing:
        raise PlatformError(f"no {name} for {', '.join(missing[:5])}{' and others' * (len(missing) > 5)}")
    chapters = sorted({one.key[2] for handed_in in by_student.values() for one in handed_in} - {"", "-"})
    rows = [[*[name] * bool(ids), "student", *(f"chapter {chapter}" for chapter in chapters)]]
    for student, handed_in in sorted(by_student.items()):
        points = {one.key[2]: f"{one.points:g}" for one in handed_in if not any(g.state for g in one.grades)}
        rows.append([*[known.get(student, "")] * bool(ids), student, *(points.get(c, "") for c in chapters)])
    return rows
