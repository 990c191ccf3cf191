"""A student's page: what was asked, what came, the points, and the hint that fits."""

from __future__ import annotations

import re
from functools import cache
from html import escape

from course_lib.desk.files import DeskError, course_folder
from course_lib.desk.versions import course_notebook
from course_lib.grading import exercises
from course_lib.grading.judge.grader import Grade
from course_lib.grading.reports.mistakes import attempted
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
    owed = "" if all(one.settled for one in handed_in) else " What has no grade yet is not counted."
    body = [f"<p><strong>{points:g} of {most:g} points.</strong>{owed}</p>"]
    for one in handed_in:
        body += _notebook(one)
    return page(student, body)


def _notebook(one: Graded) -> list[str]:
    """What came of one chapter; a file that could not be read says so once."""
    name = escape(one.notebook.rsplit("/", 1)[-1])
    unread = [grade for grade in one.grades if grade.state == NOT_READ]
    if unread and len(unread) == len(one.grades):
        return [f"<h2>{name}: not graded</h2>", f"<p>{WORDS[NOT_READ]} {escape(' '.join(unread[0].messages))}</p>"]
    parts = [f"<h2>{name}: {one.points:g} of {one.most:g}</h2>"]
    if one.of > 1:
        parts.append(f"<p>Of {one.of} notebooks for this chapter: each exercise counts once, by its best grade.</p>")
    mixed = len(set(one.sources.values())) > 1
    for grade in one.grades:
        parts.append(_exercise(grade))
        if mixed:
            parts.append(f"<p>From {escape(one.sources[grade.exercise].rsplit('/', 1)[-1])}.</p>")
    return parts


def _exercise(grade: Grade) -> str:
    head = f"<h3>{escape(grade.exercise)} {escape(grade.title)}: {_points(grade)}</h3>"
    asked = _asked(grade.exercise)
    parts = [head, (f"<p>{asked}</p>" if asked else "")]
    if grade.state:
        parts.append(f"<p>{escape(WORDS.get(grade.state, grade.state))}</p>")
    if grade.messages:
        parts += [f"<pre>{escape(message)}</pre>" for message in grade.messages]
    elif grade.points == grade.most:
        parts.append("<p>Right.</p>")
    parts.append(f"<p>Judged on {escape(grade.way)}.</p>" if grade.way else "")
    hint = _hint(grade)
    parts.append(f"<p><em>A hint.</em> {escape(hint)}</p>" if hint else "")
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
    begun = attempted(grade)
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
        for cell in course_notebook(path)["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown" and f'id="{letter}"' in source:
                asked = re.search(r"^(?:\*\*Write\b.*|.*\b\d points?\b.*)$", source, re.MULTILINE)
                return _inline(asked[0]) if asked else ""
    return ""


def _inline(markdown: str) -> str:
    """Bold, italics and code of one paragraph."""
    text = escape(markdown)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"<em>\1</em>", text)
