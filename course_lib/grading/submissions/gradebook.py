"""The grades of all submissions so far, in `grades.json` for programs and `grades.csv` for spreadsheets.

Of all that a student handed in, each exercise counts once, by its best grade.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from course_lib.desk.files import text_of
from course_lib.files import lock, write_atomically
from course_lib.grading.judge import Grade
from course_lib.grading.submissions.files import plain, student_named
from course_lib.grading.submissions.folder import JUDGE_ERROR, Graded, Submission


def best_of(handed_in: Iterable[Graded]) -> list[Graded]:
    """One for each student and chapter, in order; what could not be read at all stays as it is.

    Where several notebooks are for one chapter, each exercise counts once, by its best grade, and `sources` says which
    file that is from. Of equal grades the one counts that stands in the notebook with the most points.
    """
    together: dict[tuple[str, str], list[Graded]] = {}
    for one in sorted(handed_in, key=lambda one: one.key):
        chapter = one.key[2]
        alone = one.notebook if chapter in ("", "-") else ""
        together.setdefault((one.student, chapter + alone), []).append(one)
    return [_best(those) if len(those) > 1 else those[0] for those in together.values()]


def with_what_counts(handed_in: Iterable[Graded]) -> Iterator[tuple[Graded, Grade, bool]]:
    """Every grade with what it is part of, and whether it counts: those that do have each exercise once."""
    handed_in = list(handed_in)
    best = {id(grade) for one in best_of(handed_in) for grade in one.grades}
    yield from ((one, grade, id(grade) in best) for one in handed_in for grade in one.grades)


def _best(those: list[Graded]) -> Graded:
    those = sorted(those, key=lambda one: -one.points)
    found: dict[str, tuple[Grade, Graded]] = {}
    for one in those:
        for grade in one.grades:
            if grade.exercise not in found or _rank(grade) > _rank(found[grade.exercise][0]):
                found[grade.exercise] = grade, one
    grades = [found[name][0] for name in sorted(found)]
    sources = {name: one.notebook for name, (_, one) in found.items()}
    used = [one for one in those if one.notebook in sources.values()]
    tries = max(one.tries for one in those)
    return replace(used[0], notebook=_names(used), grades=grades, tries=tries, sources=sources, of=len(those))


def _rank(grade: Grade) -> tuple[bool, bool, bool, float]:
    """All points first, then what the judge still owes, then the points."""
    return grade.points == grade.most > 0, grade.state == JUDGE_ERROR, not grade.state, grade.points


def _names(used: list[Graded]) -> str:
    """The files that count, as one line; where they share a folder it stands there once."""
    names = [one.notebook for one in used]
    return " and ".join([names[0], *(PurePath(name).name for name in names[1:])])


FIELDS = ["student", "notebook", "exercise", "points", "max", "state", "tries", "counts", "messages"]
WRITING_SHARE = 10  # between two writings passes so many times what the last one took
WAIT_S = 10.0  # for another run that writes into the same folder
FORMULA = "=+-@"  # what a cell begins with that a spreadsheet computes
LATER_FORMULA = re.compile(r"([;\t\r\n]\s*)(?=[=+\-@＝＋－＠])")  # where another separator would begin a cell


class GradebookError(Exception):
    """The files with the grades cannot be read or written; says why."""


class Gradebook:
    """What is in a folder's files, and what is added: a later version of a submission takes the earlier one's place.

    Everything else that the files held stays in them, and so does what another run writes there meanwhile.

    Raises:
        GradebookError: if they are there and hold something else.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._graded = {one.key: one for one in self._read()}
        self._added: list[Graded] = []  # since the files were written
        self._gone: set[tuple[str, str, str]] = set()
        self._due_s = 0.0

    def known(self, submission: Submission) -> dict[str, Grade]:
        """The grades that these very bytes got before, by exercise, without those that the judge could not give."""
        found = [
            one
            for one in self._graded.values()
            if one.digest and (one.student, one.digest) == (submission.student, submission.digest)
        ]
        return {grade.exercise: grade for one in found for grade in one.grades if grade.state != JUDGE_ERROR}

    def add(self, graded: Graded) -> None:
        """Put this in the place of what its submission got before; exercises that were not graded now stay."""
        self._added.append(graded)
        self._put(graded)

    def _put(self, graded: Graded) -> None:
        old = self._graded.get(graded.key)
        if old is not None:
            graded.tries = old.tries + (old.digest != graded.digest)
        if old is not None and old.digest == graded.digest:
            now = {grade.exercise for grade in graded.grades}
            others = [grade for grade in old.grades if grade.exercise not in now]
            both = sorted([*others, *graded.grades], key=lambda grade: grade.exercise)
            graded = Graded(graded.student, graded.notebook, both, graded.digest, graded.tries)
        self._graded[graded.key] = graded

    def forget_unread(self, folder: Path) -> None:
        """Leave out what lies in this folder and held nothing to grade; what still lies there is found again."""
        inside = plain(str(folder / "_"))[:-1]
        gone = [key for key, one in self._graded.items() if not one.digest and one.notebook.startswith(inside)]
        for key in gone:
            del self._graded[key]
        self._gone.update(gone)

    def write(self, protection: str) -> list[Path]:
        """Write both files anew; returns their paths. Each is complete at any time, whatever interrupts this.

        Raises:
            GradebookError: if that is not possible.
        """
        began_s = time.monotonic()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _locked(self.folder):
                self._take_in()
                graded = sorted(self._graded.values(), key=lambda one: one.key)
                rows = [FIELDS, *(_row(one, grade, counts) for one, grade, counts in with_what_counts(graded))]
                written = [
                    write_whole(self.folder / "grades.csv", csv_text(rows)),
                    write_whole(self.folder / "grades.json", as_json(graded, protection)),
                ]
        except OSError as error:
            raise GradebookError(f"the grades cannot be written into {self.folder}: {error.strerror}") from error
        self._added.clear()
        self._gone.clear()
        self._due_s = time.monotonic() + WRITING_SHARE * (time.monotonic() - began_s)
        return written

    def _take_in(self) -> None:
        """Put what is new beside what the files hold by now: another run may have written there."""
        if not (self.folder / "grades.json").exists():  # nobody has written, or it was taken away: what was read stays
            return
        there = ((one.key, one) for one in self._read())
        self._graded = {key: one for key, one in there if one.digest or key not in self._gone}
        for one in self._added:
            self._put(one)

    def write_if_cheap(self, protection: str) -> None:
        """Write both files, unless that would take more than a tenth of the time: a class would wait for its files.

        Raises:
            GradebookError: if that is not possible.
        """
        if time.monotonic() >= self._due_s:
            self.write(protection)

    def by_student(self) -> dict[str, list[Graded]]:
        """What counts of all that each student handed in, in order: see `best_of`."""
        found: dict[str, list[Graded]] = {}
        for one in best_of(self._graded.values()):
            found.setdefault(one.student, []).append(one)
        return found

    def _read(self) -> list[Graded]:
        file = self.folder / "grades.json"
        try:
            submissions = json.loads(text_of(file.read_bytes()))["submissions"]
            return _apart(_graded(one) for one in submissions)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise GradebookError(f"{file} cannot be read: {error.strerror}") from error
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            words = f"{file} is no file of grades ({error}): move it away, or name another folder with --out"
            raise GradebookError(words) from error


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """No other run writes grades there meanwhile. The folder itself is locked, so nothing else need lie in it."""
    if not hasattr(os, "O_DIRECTORY"):
        yield
        return
    descriptor = os.open(folder, os.O_DIRECTORY)
    try:
        if not lock(descriptor, WAIT_S):
            raise GradebookError(f"another program has been writing into {folder} for {WAIT_S:g} s: wait for it")
        yield
    finally:
        os.close(descriptor)


def as_json(graded: Iterable[Graded], protection: str) -> str:
    """Everything, for programs. Points are null where they are no grade; `counts` says whether another is better."""
    graded = list(graded)
    counted = {(id(one), grade.exercise): counts for one, grade, counts in with_what_counts(graded)}
    submissions = [
        {
            "student": one.student,
            "notebook": one.notebook,
            "points": one.points,
            "max": one.most,
            "sha256": one.digest,
            "tries": one.tries,
            "exercises": [
                {
                    "id": g.exercise,
                    "title": g.title,
                    "points": None if g.state else g.points,
                    "max": g.most,
                    "state": g.state,
                    "counts": counted[id(one), g.exercise],
                    "way": g.way,
                    "messages": g.messages,
                }
                for g in one.grades
            ],
        }
        for one in graded
    ]
    return json.dumps({"protection": protection, "submissions": submissions}, indent=2, ensure_ascii=False) + "\n"


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Rows as a CSV file for spreadsheets: no cell is a formula, whatever students wrote."""
    file = io.StringIO(newline="")
    csv.writer(file).writerows([_inert(text) for text in row] for row in rows)
    return file.getvalue()


def _graded(one: dict[str, Any]) -> Graded:
    grades = [
        Grade(
            g["id"], g["title"], g["points"] or 0.0, g["max"], g["messages"], 0.0, g.get("state", ""), g.get("way", "")
        )
        for g in one["exercises"]
    ]
    student, notebook = student_named(one["student"]), plain(one["notebook"])
    return Graded(student, notebook, grades, one.get("sha256", ""), one.get("tries", 1))


def _apart(graded: Iterable[Graded]) -> list[Graded]:
    """All of these, where an older version of the course kept one name in two of Unicode's forms as two students'."""
    found: dict[tuple[str, str, str], Graded] = {}
    for one in graded:
        path, number = Path(one.notebook), 1
        while one.key in found:
            number += 1
            one.notebook = str(path.with_name(f"{path.stem} [{number}]{path.suffix}"))
        found[one.key] = one
    return list(found.values())


def _row(one: Graded, g: Grade, counts: bool) -> Sequence[str]:
    points = "" if g.state else f"{g.points:g}"
    messages = " | ".join(g.messages)
    return [
        one.student,
        one.notebook,
        g.exercise,
        points,
        f"{g.most:g}",
        g.state,
        f"{one.tries}",
        "yes" * counts,
        messages,
    ]


def _inert(text: str) -> str:
    """Text that a spreadsheet will not take for a formula: messages quote what students wrote.

    >>> _inert("=1"), _inert(" ＝1"), _inert("-"), _inert("a;=1")
    ("'=1", "' ＝1", '-', "a;'=1")
    """
    first = unicodedata.normalize("NFKC", text.lstrip()[:1])
    inner = LATER_FORMULA.sub(r"\1'", text)
    begins = text[:1] in ("\t", "\r") or (first and first in FORMULA)
    return f"'{inner}" if begins and len(text) > 1 else inner


def write_whole(path: Path, text: str) -> Path:
    """Put a file with this text in the place of what is there, which stays as it was until the new one is complete."""
    write_atomically(path, text.encode())
    return path
