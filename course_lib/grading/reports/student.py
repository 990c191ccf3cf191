"""A student's page: what was asked, what came, the points, and the hint that fits."""

from __future__ import annotations

import re
from functools import cache
from html import escape

import nbformat

from course_lib.desk.files import DeskError, course_folder
from course_lib.grading import exercises
from course_lib.grading.judge.grader import Grade
from course_lib.grading.reports.page import page
from course_lib.grading.submissions.folder import JUDGE_ERROR, NOT_READ, Graded

__all__ = ["student_page"]

WORDS = {
    NOT_READ: "This could not be graded:",
    JUDGE_ERROR: "The judge failed here, not you. It will be graded again, or by hand:",
}


def student_page(student: str, handed_in: list[Graded]) -> str:
    """The page of one student, with everything that this student handed in and nothing of the others.

    Hints: the first where nothing was written, the second where something was wrong (it may be the only one left).
    """
    points, most = sum(one.points for one in handed_in), sum(one.most for one in handed_in)
    body = [f"<p><strong>{points:g} of {most:g} points.</strong></p>"]
    for one in handed_in:
        body.append(f"<h2>{escape(one.notebook.rsplit('/', 1)[-1])}: {one.points:g} of {one.most:g}</h2>")
        body += [_exercise(grade) for grade in one.grades]
    return page(student, body)


def _exercise(grade: Grade) -> str:
    if grade.exercise == "-":
        return f"<p>{WORDS[NOT_READ]} {escape(' '.join(grade.messages))}</p>"
    head = f"<h3>{escape(grade.exercise)} {escape(grade.title)}: {_points(grade)}</h3>"
    asked = _asked(grade.exercise)
    parts = [head, f"<p>{asked}</p>" * bool(asked)]
    if grade.state:
        parts.append(f"<p>{escape(WORDS.get(grade.state, grade.state))}</p>")
    if grade.messages:
        parts += [f"<pre>{escape(message)}</pre>" for message in grade.messages]
    elif grade.points == grade.most:
        parts.append("<p>Right.</p>")
    hint = _hint(grade)
    parts.append(f"<p><em>A hint.</em> {escape(hint)}</p>" * bool(hint))
    return "\n".join(parts)


def _points(grade: Grade) -> str:
    return f"not graded, of {grade.most:g}" if grade.state else f"{grade.points:g} of {grade.most:g}"


def _hint(grade: Grade) -> str:
    """The hint that fits: how to begin, or how to go on."""
    if grade.state or grade.points == grade.most:
        return ""
    try:
        hints = exercises.find(grade.exercise).hints
    except KeyError:  # graded by another version of the course
        return ""
    begun = not any(message.startswith("no cell defines") for message in grade.messages)
    return hints[min(int(begun), len(hints) - 1)] if hints else ""


@cache
def _asked(exercise_id: str) -> str:
    """The paragraph of the exercise's page that says what to write, as HTML; empty if it is not there."""
    chapter, letter = exercise_id[:2], exercise_id[2:]
    try:
        pages = (course_folder() / "exercises").glob(f"{chapter}_*.ipynb")
    except DeskError:
        return ""
    for path in pages:
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown" and f'id="{letter}"' in cell.source:
                asked = re.search(r"^(?:\*\*Write\b.*|.*\b\d points?\b.*)$", cell.source, re.MULTILINE)
                return _inline(asked[0]) if asked else ""
    return ""


def _inline(markdown: str) -> str:
    """Bold, italics and code of one paragraph."""
    text = escape(markdown)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"<em>\1</em>", text)
