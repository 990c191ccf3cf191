"""Grades exported to learning platforms: a table for import into Moodle or Canvas, and nbgrader's own gradebook.

The table has a row for each student, with the platform's own id, and a column for each chapter.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from course_lib.desk.files import NoText, text_of
from course_lib.grading.submissions.files import student_named
from course_lib.grading.submissions.folder import Graded


class Ids(NamedTuple):
    """The platform's ids.

    Attributes:
        name: of the column, as the platform names it.
        of: the id of each student.
        head: the columns that Canvas wants back; none for other platforms.
        rows: what stands in these columns, for each student.
    """

    name: str
    of: dict[str, str]
    head: Sequence[str] = ()
    rows: Mapping[str, list[str]] = MappingProxyType({})


MOODLE = {"first name", "email address"}  # in an export of its grades or of its participants
CANVAS = {"student", "id", "sis login id", "section"}  # in an export of its grades
CANVAS_WANTS = ("student", "id", "sis user id", "sis login id", "section")  # in front of the points
NO_STUDENTS = ("points possible", "student, test")  # rows of Canvas's export
SEPARATORS = ",;\t"  # of spreadsheets, by country
SEPARATOR = re.compile(r"\"?sep=(.)\"?", re.IGNORECASE)


class PlatformError(ValueError):
    """The list of ids cannot be used; says why."""


def read_ids(path: Path, students: Iterable[str] = ()) -> Ids:
    """The platform's ids from a CSV file with a column `student` and one more, named as the platform names it.

    The exports of Moodle and Canvas are read as they are. They name a student in several ways: full name, email
    address, login. The way that most of `students` are named by, those who handed in, counts.

    Raises:
        PlatformError: if it is another kind of file, or has a student or an id twice.
    """
    try:
        columns, *rows = _table(text_of(path.read_bytes()))
    except (OSError, NoText, csv.Error) as error:
        raise PlatformError(f"{path} cannot be read: {error}") from error
    names = [column.casefold() for column in columns]
    head, lines = list[str](), dict[str, list[str]]()
    if set(names) >= MOODLE or set(names) >= CANVAS:
        columns, rows, head, lines = _exported(names, columns, rows, students)
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
    return Ids(columns[1 - at], ids, head, lines)


def _exported(
    names: list[str], columns: list[str], rows: list[list[str]], students: Iterable[str]
) -> tuple[list[str], list[list[str]], list[str], dict[str, list[str]]]:
    """An export of Moodle or Canvas as a table of ids and students, and what Canvas wants back of it."""
    cells = [dict(zip(names, row, strict=False)) for row in rows]
    cells = [row for row in cells if row.get("student", "").casefold() not in NO_STUDENTS]
    known = {student_named(student).casefold() for student in students}
    named = [_ways_to_name(row) for row in cells]
    ways = range(len(named[0]) if named else 0)
    way = max(ways, key=lambda way: sum(each[way].casefold() in known for each in named), default=0)
    identity = "id" if set(names) >= CANVAS else "email address"
    column = columns[names.index(identity)]
    table = [[row.get(identity, ""), each[way]] for row, each in zip(cells, named, strict=True)]
    wanted = [name for name in CANVAS_WANTS if name in names] if identity == "id" else []
    lines = {each[way]: [row.get(name, "") for name in wanted] for row, each in zip(cells, named, strict=True)}
    return [column, "student"], table, [columns[names.index(name)] for name in wanted], lines


def _ways_to_name(row: Mapping[str, str]) -> list[str]:
    """Full name, last name first, address or login, and what stands before its @; of a row without one its name."""
    last, _, first = row.get("student", "").partition(",")
    first, last = row.get("first name", first), row.get("last name", row.get("surname", last))
    address = row.get("email address", "") or row.get("sis login id", "")
    full = student_named(f"{first} {last}")
    ways = [full, f"{last.strip()}, {first.strip()}", address, address.partition("@")[0]]
    return [student_named(way) if way else full for way in ways]


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
    missing = sorted(student for student, name in _listed(students, ids).items() if not ids.of.get(name))
    if not missing:
        return ""
    return f"no {ids.name} for {', '.join(missing)}: their rows have an empty one; complete the list and run this again"


def absent(students: Iterable[str], ids: Ids | None) -> list[str]:
    """Who is in the list and handed in nothing."""
    return sorted(set(ids.of if ids else ()) - set(_listed(students, ids).values()))


def platform_rows(by_student: Mapping[str, Sequence[Graded]], ids: Ids | None) -> list[list[str]]:
    """The table with its head. A chapter whose grade is missing is left empty, for that is no zero.

    Whoever is in the list has a row, and 0 for a chapter that they did not hand in; without a list nobody can say who
    should have, and it is left empty. So is the id of a student that the list does not have: see `without_id`.
    """
    name, known, head, lines = ids or Ids("", {})
    chapters = sorted({one.key[2] for handed_in in by_student.values() for one in handed_in} - {"", "-"})
    rows = [[*(head or [*[name] * bool(ids), "student"]), *(f"chapter {chapter}" for chapter in chapters)]]
    names = _listed(by_student, ids) | {student: student for student in absent(by_student, ids)}
    for student, listed in sorted(names.items()):
        handed_in = by_student.get(student, ())
        unread = any(one.key[2] in ("", "-") for one in handed_in)
        points = dict.fromkeys(chapters, "0" if listed and not unread else "")
        points |= {one.key[2]: f"{one.points:g}" if one.settled else "" for one in handed_in}
        front = [*[known.get(listed, "")] * bool(ids), student]
        if head:
            front = lines.get(listed) or [student, *[""] * (len(head) - 1)]
        rows.append([*front, *(points[chapter] for chapter in chapters)])
    return rows


def _listed(students: Iterable[str], ids: Ids | None) -> dict[str, str]:
    """The name by which the list has each student: the same, or one in other capitals that is nobody else's."""
    students, known = list(students), ids.of if ids else {}
    others = Counter(student.casefold() for student in students if student not in known)
    free: dict[str, list[str]] = {}
    for name in known.keys() - set(students):
        free.setdefault(name.casefold(), []).append(name)
    alike = {name: those[0] for name, those in free.items() if len(those) == others[name] == 1}
    return {student: student if student in known else alike.get(student.casefold(), "") for student in students}


def add_to_nbgrader(database: Path, by_student: Mapping[str, Sequence[Graded]]) -> int:
    """Put every grade into this SQLite database, which is made if it is not there; returns how many there were.

    Each chapter is an assignment `chapter_02` with a notebook of the same name and a grade cell for each exercise.
    Answers without a grade are left out.

    Raises:
        ImportError: if nbgrader is not installed.
    """
    from nbgrader.api import Gradebook

    count = 0
    with Gradebook(f"sqlite:///{database.resolve()}") as book:
        for student, handed_in in by_student.items():
            book.update_or_create_student(student)
            for one in handed_in:
                name = f"chapter_{one.key[2]}"
                grades = [grade for grade in one.grades if not grade.state]
                if not grades:
                    continue
                book.update_or_create_assignment(name)
                book.update_or_create_notebook(name, name)
                for grade in grades:
                    book.update_or_create_grade_cell(grade.exercise, name, name, max_score=grade.most, cell_type="code")
                book.update_or_create_submission(name, student)
                for grade in grades:
                    book.find_grade(grade.exercise, name, name, student).manual_score = grade.points
                    count += 1
        book.db.commit()
    return count
