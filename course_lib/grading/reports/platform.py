"""Grades as a learning platform reads them: a row for each student, with the platform's own id, a column a chapter."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from course_lib.desk.texts import NoText, text_of
from course_lib.grading.submissions.folder import Graded
from course_lib.grading.submissions.names import student_named

__all__ = ["PlatformError", "absent", "platform_rows", "read_ids", "without_id"]

Ids = tuple[str, dict[str, str]]  # the column's name, and the id of each student
SEPARATORS = ",;\t"  # of spreadsheets, by country
SEPARATOR = re.compile(r"\"?sep=(.)\"?", re.IGNORECASE)


class PlatformError(ValueError):
    """The list of ids cannot be used; says why."""


def read_ids(path: Path) -> Ids:
    """The platform's ids from a CSV file with a column `student` and one more, named as the platform names it.

    Raises:
        PlatformError: if it is another kind of file, or has a student or an id twice.
    """
    try:
        columns, *rows = _table(text_of(path.read_bytes()))
    except (OSError, NoText, csv.Error) as error:
        raise PlatformError(f"{path} cannot be read: {error}") from error
    names = [column.casefold() for column in columns]
    if len(columns) != 2 or names.count("student") != 1:
        raise PlatformError(f"{path} must have the columns student and one more, it has {', '.join(columns) or 'none'}")
    at = names.index("student")
    ids: dict[str, str] = {}
    whose: dict[str, str] = {}
    for row in rows:
        if len(row) != 2 or not row[at]:
            raise PlatformError(f"{path} must have a student and one id in each row, one has {', '.join(row)!r}")
        student, name = student_named(row[at]), row[1 - at]
        if student in ids:
            raise PlatformError(f"{path} has the student {student!r} twice")
        if name and name in whose:
            raise PlatformError(f"{path} gives {whose[name]!r} and {student!r} the same {columns[1 - at]}, {name!r}")
        ids[student], whose[name] = name, student
    return columns[1 - at], ids


def _table(text: str) -> list[list[str]]:
    """The lines that are not empty, without the empty cells that spreadsheets put at the end of each.

    A first line "sep=;" says what separates, as Excel has it; without one the head's most frequent separator does.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\n")
    head, _, below = lines.partition("\n")
    told = SEPARATOR.fullmatch(head.strip())
    separator = told[1] if told else max(SEPARATORS, key=head.count)
    found = csv.reader(io.StringIO(below if told else lines), delimiter=separator)
    columns, *rows = [[cell.strip() for cell in line] for line in found if any(map(str.strip, line))] or [[]]
    width = max((n for n, column in enumerate(columns, 1) if column), default=0)
    return [columns[:width], *([*row[:width], *filter(None, row[width:])] for row in rows)]


def without_id(students: Iterable[str], ids: Ids) -> str:
    """Who has no id in the list, in a sentence that says what to do; empty if everybody has one."""
    missing = sorted(student for student, name in _listed(students, ids).items() if not ids[1].get(name))
    if not missing:
        return ""
    return f"no {ids[0]} for {', '.join(missing)}: their rows have an empty one; complete the list and run this again"


def absent(students: Iterable[str], ids: Ids | None) -> list[str]:
    """Who is in the list and handed in nothing."""
    return sorted(set(ids[1] if ids else ()) - set(_listed(students, ids).values()))


def platform_rows(by_student: Mapping[str, Sequence[Graded]], ids: Ids | None) -> list[list[str]]:
    """The table with its head. A chapter whose grade is missing is left empty, for that is no zero.

    Whoever is in the list has a row, and 0 for a chapter that they did not hand in; without a list nobody can say who
    should have, and it is left empty. So is the id of a student that the list does not have: see `without_id`.
    """
    name, known = ids or ("", {})
    chapters = sorted({one.key[2] for handed_in in by_student.values() for one in handed_in} - {"", "-"})
    rows = [[*[name] * bool(ids), "student", *(f"chapter {chapter}" for chapter in chapters)]]
    names = _listed(by_student, ids) | {student: student for student in absent(by_student, ids)}
    for student, listed in sorted(names.items()):
        handed_in = by_student.get(student, ())
        unread = any(one.key[2] in ("", "-") for one in handed_in)
        points = dict.fromkeys(chapters, "0" if listed and not unread else "")
        points |= {one.key[2]: f"{one.points:g}" if one.settled else "" for one in handed_in}
        rows.append([*[known.get(listed, "")] * bool(ids), student, *(points[chapter] for chapter in chapters)])
    return rows


def _listed(students: Iterable[str], ids: Ids | None) -> dict[str, str]:
    """The name by which the list has each student: the same, or one in other capitals that is nobody else's."""
    students, known = list(students), ids[1] if ids else {}
    others = Counter(student.casefold() for student in students if student not in known)
    free: dict[str, list[str]] = {}
    for name in known.keys() - set(students):
        free.setdefault(name.casefold(), []).append(name)
    alike = {name: those[0] for name, those in free.items() if len(those) == others[name] == 1}
    return {student: student if student in known else alike.get(student.casefold(), "") for student in students}
