"""A student's page: the points, of what is not right what was asked, what came and a hint, and what to do next."""

from __future__ import annotations

import re
from functools import cache
from html import escape

from course_lib.desk.files import DeskError, course_folder
from course_lib.desk.versions import course_notebook
from course_lib.grading import exercises
from course_lib.grading.judge import Grade
from course_lib.grading.reports.classroom import attempted
from course_lib.grading.reports.page import page
from course_lib.grading.submissions.folder import JUDGE_ERROR, NOT_READ, Graded

WORDS = {
    NOT_READ: "This could not be graded:",
    JUDGE_ERROR: "The judge failed here, not you. It will be graded again, or by hand:",
}


def student_page(student: str, handed_in: list[Graded]) -> str:
    """The page of one student, with everything that this student handed in and nothing of the others.

    What is right is named in one line, and what was not begun in one list. Hints: the first where nothing was written,
    the second where something was wrong (it may be the only one left).
    """
    points, most = sum(one.points for one in handed_in), sum(one.most for one in handed_in)
    owed = "" if all(one.settled for one in handed_in) else " What has no grade yet is not counted."
    body = [f"<p><strong>{points:g} of {most:g} points.</strong>{owed}</p>"]
    for one in handed_in:
        body += _notebook(one)
    return page(student, [*body, *next_steps(handed_in)])


def next_steps(handed_in: list[Graded]) -> list[str]:
    """What to do next, as HTML: files to hand in anew, what is begun, what is not, or the next chapter."""
    grades = [grade for one in handed_in for grade in one.grades]
    begun = [grade for grade in grades if attempted(grade) and grade.points < grade.most]
    left = [grade for grade in grades if not grade.state and not attempted(grade)]
    steps = [f"Open {_name(one)} in Jupyter, save it, and hand it in again." for one in handed_in if _unread(one)]
    if begun:
        one = begun[0]
        steps.append(f"Go on with {_titled(one)}: it is begun, and {_open(one)}.")
    if left:
        steps.append(f"{'Then begin' if begun else 'Begin'} with {_titled(left[0])}: {_open(left[0])}.")
    if begun or left:
        steps.append("<code>check</code> in the notebook says what is wrong, as often as you like.")
    elif grades and all(one.settled for one in handed_in):
        steps.append(_after({one.key[2] for one in handed_in}))
    return ["<h2>What to do next</h2>", "<ul>", *(f"<li>{step}</li>" for step in steps), "</ul>"] if steps else []


def _after(done: set[str]) -> str:
    """The first chapter with exercises behind the last one that was handed in."""
    later = [chapter for chapter in exercises.chapters() if chapter > max(done)]
    return (
        f"Everything is right. Chapter {escape(later[0])} comes next." if later else "Everything is right, to the end."
    )


def _titled(grade: Grade) -> str:
    return escape(f"{grade.exercise} {grade.title}".strip())


def _open(grade: Grade) -> str:
    count = grade.most - grade.points
    return "1 point is open" if count == 1 else f"{count:g} points are open"


def _name(one: Graded) -> str:
    return escape(one.notebook.rsplit("/", 1)[-1])


def _unread(one: Graded) -> bool:
    """Whether nothing of the file could be read."""
    return bool(one.grades) and all(grade.state == NOT_READ for grade in one.grades)


def _notebook(one: Graded) -> list[str]:
    """What came of one chapter; a file that could not be read says so once."""
    if _unread(one):
        words = escape(" ".join(one.grades[0].messages))
        return [f"<h2>{_name(one)}: not graded</h2>", f"<p>{WORDS[NOT_READ]} {words}</p>"]
    parts = [f"<h2>{_name(one)}: {one.points:g} of {one.most:g}</h2>"]
    if one.of > 1:
        parts.append(f"<p>Of {one.of} notebooks for this chapter: each exercise counts once, by its best grade.</p>")
    mixed = len(set(one.sources.values())) > 1
    source = {name: f", from {escape(path.rsplit('/', 1)[-1])}" if mixed else "" for name, path in one.sources.items()}
    right = [grade for grade in one.grades if not grade.state and grade.points == grade.most]
    left = [grade for grade in one.grades if grade not in right and not grade.state and not attempted(grade)]
    if right:
        named = "; ".join(f"{_titled(grade)} ({_came(grade)}{source.get(grade.exercise, '')})" for grade in right)
        parts.append(f"<p><strong>Right:</strong> {named}.</p>")
    parts += [_exercise(grade, source) for grade in one.grades if grade not in right and grade not in left]
    if left:
        parts += ["<h3>Not begun</h3>", "<ul>", *map(_not_begun, left), "</ul>"]
    return parts


def _came(grade: Grade) -> str:
    return _points(grade) + (f", judged on {escape(grade.way)}" if grade.way else "")


def _not_begun(grade: Grade) -> str:
    """One line, with how to begin; the judge's words only where they say more than that nothing is written."""
    said = [message for message in grade.messages if "not attempted yet: " not in message]
    hint = _hint(grade)
    words = [escape(message) for message in said] + ([f"<em>A hint.</em> {_inline(hint)}"] if hint else [])
    return f"<li>{_titled(grade)}: {_points(grade)}. {' '.join(words)}</li>"


def _exercise(grade: Grade, source: dict[str, str]) -> str:
    """What is begun and not right, or has no grade: what was asked, what came, and a hint."""
    asked = _asked(grade.exercise)
    parts = [f"<h3>{_titled(grade)}: {_points(grade)}{source.get(grade.exercise, '')}</h3>"]
    parts.append(f"<p>{asked}</p>" if asked else "")
    if grade.state:
        parts.append(f"<p>{escape(WORDS.get(grade.state, grade.state))}</p>")
    parts += [f"<pre>{escape(message)}</pre>" for message in grade.messages]
    parts.append(f"<p>Judged on {escape(grade.way)}.</p>" if grade.way else "")
    hint = _hint(grade)
    parts.append(f"<p><em>A hint.</em> {_inline(hint)}</p>" if hint else "")
    return "\n".join(filter(None, parts))


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
