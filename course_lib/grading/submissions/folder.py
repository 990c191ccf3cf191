"""A folder of submissions: who handed in what, for which chapter, and each one's grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading import exercises
from course_lib.grading.exercise import Exercise
from course_lib.grading.judge.grader import Grade, Grader
from course_lib.grading.submissions import notebook

__all__ = ["JUDGE_ERROR", "Graded", "Submission", "collect", "exercises_for", "grade_submission"]

JUDGE_ERROR = "JUDGE ERROR"


@dataclass
class Submission:
    """One file that a student handed in.

    Attributes:
        problem: why it cannot be graded at all, if so.
        chapter: two digits, or empty if nothing says which.
    """

    student: str
    path: Path
    cells: list[notebook.Cell]
    problem: str = ""
    chapter: str = ""


@dataclass
class Graded:
    """A submission with the grade of each exercise, and the fingerprint of the file that was graded."""

    student: str
    path: Path
    grades: list[Grade]
    digest: str = ""

    @property
    def points(self) -> float:
        return sum(grade.points for grade in self.grades)

    @property
    def most(self) -> float:
        return sum(grade.most for grade in self.grades)


def collect(path: Path, chapter: str = "") -> list[Submission]:
    """The submissions at `path`: one notebook, or every `NAME.ipynb` and `NAME/*.ipynb` of a folder, in order."""
    files = sorted([*path.glob("*.ipynb"), *path.glob("[!.]*/*.ipynb")]) if path.is_dir() else [path]
    submissions = [
        _read(file, file.parent.name if file.parent != path and path.is_dir() else file.stem) for file in files
    ]
    for submission in submissions:
        submission.chapter = chapter or _chapter(submission)
    known = Counter(submission.chapter for submission in submissions if submission.chapter)
    for submission in submissions:  # a file that cannot be read was meant for the chapter that the others are for
        submission.chapter = submission.chapter or (known.most_common(1)[0][0] if known else "")
    return submissions


def _read(path: Path, student: str) -> Submission:
    try:
        return Submission(student, path, notebook.read_cells(path))
    except notebook.NotANotebook as error:
        return Submission(student, path, [], str(error))


def _chapter(submission: Submission) -> str:
    """The chapter whose exercises it defines most of, else the one its file name begins with."""
    counts = {chapter: _count(submission, exercises.exercises_of(chapter)) for chapter in exercises.chapters()}
    best = max(counts, key=lambda chapter: counts[chapter], default="")
    if best and counts[best]:
        return best
    return submission.path.stem[:2] if submission.path.stem[:2] in counts else ""


def _count(submission: Submission, those: Iterable[Exercise]) -> int:
    """How many of these exercises it defines a function for."""
    return sum(any(notebook.defines(source, one.function) for _, source in submission.cells) for one in those)


def exercises_for(submission: Submission, wanted: Iterable[str] = ()) -> list[str]:
    """The exercises that `grade_submission` gives grades for; "-" where nothing can be graded."""
    if not submission.chapter:
        return ["-"]
    ids = [exercise.id for exercise in exercises.exercises_of(submission.chapter)]
    return [name for name in ids if not wanted or name in wanted]


def grade_submission(grader: Grader, submission: Submission, wanted: Iterable[str] = ()) -> Iterator[Grade]:
    """The grade of each exercise of its chapter, as they come; whatever goes wrong costs one exercise."""
    wanted = set(wanted)
    if not submission.chapter:
        yield Grade("-", "", 0.0, 0.0, [submission.problem or "no exercise of the course is in it"])
        return
    for exercise in exercises.exercises_of(submission.chapter):
        if not wanted or exercise.id in wanted:
            yield _grade(grader, exercise, submission)


def _grade(grader: Grader, exercise: Exercise, submission: Submission) -> Grade:
    if submission.problem:
        return Grade(exercise.id, exercise.title, 0.0, exercise.points, [submission.problem])
    try:
        return grader.grade(exercise, notebook.cells_for(submission.cells, exercise.function), submission.student)
    except Exception as error:  # a mistake of ours must not cost the others their grades
        text = f"{JUDGE_ERROR}, please grade by hand: {type(error).__name__}: {error}"
        return Grade(exercise.id, exercise.title, 0.0, exercise.points, [text])
