"""A folder of submissions: who handed in what, which chapters each notebook holds, and each one's grades, in a queue.

A notebook's chapters are told by the functions that it defines. Several submissions are graded at a time, each by a
grader with ranks of its own.
"""

from __future__ import annotations

import os
import queue
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from course_lib.desk.files import DeskError, course_folder
from course_lib.grading import exercises
from course_lib.grading.exercise import Exercise
from course_lib.grading.judge import Grade, Grader
from course_lib.grading.submissions import files, notebook
from course_lib.grading.submissions.files import Unreadable, page_of, plain, read
from course_lib.grading.submissions.notebook import Cell, cells_of, defines


def chapters_in(cells: Sequence[Cell], name: str = "") -> list[str]:
    """The chapters that these cells hold: the one of which they define most exercises, and others of which half.

    Where they define none, the one that the file's name begins with, else the one they name.
    """
    counts = {chapter: _counts(cells, exercises.exercises_of(chapter)) for chapter in exercises.chapters()}
    best = max(counts, key=lambda chapter: counts[chapter], default="")
    if best and not counts[best][0] and name[:2] in counts:
        return [name[:2]]
    if not best or not any(counts[best]):
        return []
    half = (each for each, (defined, _) in counts.items() if 2 * defined >= len(exercises.exercises_of(each)))
    return [best, *(each for each in half if each != best)]


def defined_beyond(cells: Sequence[Cell], graded: Iterable[str]) -> list[str]:
    """The exercises of other chapters than these of which the cells define the function, and their page does not."""
    sources, graded = [source for _, source in cells], list(graded)
    names = {exercise.function for chapter in graded for exercise in exercises.exercises_of(chapter)}
    given = [source for chapter in graded for _, source in given_for(chapter)]
    others = (each for chapter in exercises.chapters() for each in exercises.exercises_of(chapter))
    return [
        each.id
        for each in others
        if each.function not in names and _define(sources, each.function) and not _define(given, each.function)
    ]


def given_for(chapter: str) -> list[Cell]:
    """The cells of the course's own exercises of this chapter; none without the course's pages."""
    try:
        pages = sorted((course_folder() / "exercises").glob(f"{chapter}_*.ipynb"))
    except DeskError:
        return []
    return [cell for page in pages for cell in as_given(page.name)]


def _define(sources: Iterable[str], function: str) -> bool:
    return any(defines(source, function) for source in sources)


def _counts(cells: Sequence[Cell], those: Iterable[Exercise]) -> tuple[int, int]:
    """For how many of these exercises they define a function, and how many they name: there are many ways to define."""
    sources, names = [source for _, source in cells], [one.function for one in those]
    named = [name for name in names if any(name in source for source in sources)]
    return sum(_define(sources, name) for name in named), len(named)


@cache
def as_given(name: str) -> list[Cell]:
    """The cells of the course's own exercises of this name; none if there are none."""
    try:
        return cells_of(read(course_folder() / "exercises" / name)[0])
    except (DeskError, Unreadable):
        return []


NOT_READ = "not read"  # states of a grade that is none: nothing could be graded, or
JUDGE_ERROR = "judge's error"  # the judge could not do it, which --resume tries again
NEWER = re.compile(r"\.newer(-\d+)?(?=\.ipynb$)")  # see `desk.update.newer_names`


@dataclass
class Submission:
    """One file that a student handed in.

    Attributes:
        digest: the fingerprint of its bytes.
        problem: why it cannot be graded at all, if so.
        chapter: two digits, or empty if nothing says which.
        used_s: what its trials have used so far of the time that a submission may take.
    """

    student: str
    path: Path
    cells: list[notebook.Cell]
    digest: str = ""
    problem: str = ""
    chapter: str = ""
    used_s: float = 0.0


@dataclass
class Graded:
    """A submission with the grade of each exercise.

    Attributes:
        notebook: its file's path, as it may be printed.
        digest: the fingerprint of the bytes that were graded.
        tries: how many versions of it were graded so far.
        of: how many notebooks these grades are the best of.
        sources: if more than one, each exercise's own notebook.
    """

    student: str
    notebook: str
    grades: list[Grade]
    digest: str = ""
    tries: int = 1
    of: int = 1
    sources: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        """Whose it is, its file's name, and the chapter: a later version of it has the same."""
        chapter = self.grades[0].exercise[:2] if self.grades else ""
        return self.student, file_name(self.student, self.notebook), chapter

    @property
    def points(self) -> float:
        return sum(grade.points for grade in self.grades)

    @property
    def settled(self) -> bool:
        """Whether all its points are grades."""
        return not any(grade.state for grade in self.grades)

    @property
    def most(self) -> float:
        return sum(grade.most for grade in self.grades)


def collect(path: Path, chapter: str = "") -> list[Submission]:
    """The submissions at `path`: one notebook, or every `NAME.ipynb` and `NAME/*.ipynb` of a folder, in order.

    Of a desk, its exercises of this chapter, or all that are not just as the course gave them; a newer version that the
    course laid beside the student's own counts only if they worked in it. Of a notebook that holds several chapters,
    one for each. Whatever else lies in the folder is there with its problem.
    """
    submissions = [_read(found) for found in files.find(path)]
    if path.is_dir():
        submissions = _without_untouched(submissions, chapter, files.is_class(path))
    submissions = [one for each in submissions for one in _by_chapter(each, chapter)]
    known = Counter(submission.chapter for submission in submissions if submission.chapter and submission.cells)
    for submission in submissions:  # a file that cannot be read was meant for the chapter that the others are for
        submission.chapter = submission.chapter or (known.most_common(1)[0][0] if known else "")
    _tell_apart(submissions)
    return submissions


def _without_untouched(submissions: list[Submission], chapter: str, is_class: bool) -> list[Submission]:
    """Those that somebody worked in; in a class whoever has none has one that says so."""
    kept = [each for each in submissions if not _left_out(each, chapter)]
    there = {each.student for each in kept}
    gone = {each.student: each for each in submissions if each.student not in there}
    words = "nothing on this desk that somebody worked in" + (f", of chapter {chapter}" if chapter else "")
    untouched = [Submission(name, each.path.parents[1], [], problem=words) for name, each in gone.items()]
    return [*kept, *untouched] if is_class else kept


def _by_chapter(submission: Submission, chapter: str) -> list[Submission]:
    """This submission for the chapter that is asked for, or for each that it holds."""
    those = [chapter] if chapter else chapters_in(submission.cells, submission.path.stem)
    return [replace(submission, chapter=each) for each in those or [""]]


def _tell_apart(submissions: Iterable[Submission]) -> None:
    """Two files of one student that look alike, as in folders whose names differ in spaces, get names that do not."""
    seen: set[tuple[str, str, str]] = set()
    for one in submissions:
        number, path = 1, one.path
        while (key := (one.student, file_name(one.student, files.plain(str(one.path))), one.chapter)) in seen:
            number += 1
            one.path = path.with_name(f"{path.stem} [{number}]{path.suffix}")
        seen.add(key)


def file_name(student: str, notebook: str) -> str:
    """The name by which a student's file is known again; `ann/ann.ipynb`'s has the folder, beside `ann.ipynb`."""
    path = Path(notebook)
    inside = path.stem == student and student in (path.parent.name, _home(path))
    return f"{student}/{path.name}" if inside else path.name


def _home(path: Path) -> str:
    """The name of the desk in whose exercises a notebook lies; nothing if it lies elsewhere."""
    return path.parent.parent.name if path.parent.name == "exercises" else ""


def _left_out(submission: Submission, chapter: str) -> bool:
    """Whether it lies on a desk, and is of another chapter or untouched."""
    if submission.path.parent.name != "exercises" or submission.problem:
        return False
    name = NEWER.sub("", submission.path.name)
    if chapter and page_of(name)[:2] not in ("", chapter):
        return True
    asked_for = bool(chapter) and submission.path.name == name
    return not asked_for and submission.cells == as_given(name)


def _read(found: files.Found) -> Submission:
    if found.problem:
        return Submission(found.student, found.path, [], problem=found.problem)
    digest = ""
    try:
        data, digest = files.read(found.path)
        return Submission(found.student, found.path, notebook.cells_of(data), digest)
    except files.Unreadable as error:
        return Submission(found.student, found.path, [], digest, str(error))


def exercises_for(submission: Submission, wanted: Iterable[str] = ()) -> list[str]:
    """The exercises that `grade_submission` gives grades for; "-" where nothing can be graded."""
    if not submission.chapter:
        return ["-"]
    ids = [exercise.id for exercise in exercises.exercises_of(submission.chapter)]
    left = [name for name in ids if not wanted or name in wanted]
    return left or ["-"] * bool(submission.problem)


def grade_submission(grader: Grader, submission: Submission, wanted: Iterable[str] = ()) -> Iterator[Grade]:
    """The grade of each exercise of its chapter, as they come; whatever goes wrong costs one exercise."""
    for name in exercises_for(submission, wanted):
        if name == "-":
            problem = submission.problem or "no exercise of the course is in it"
            yield Grade("-", "", 0.0, 0.0, [problem], state=NOT_READ)
        else:
            yield _grade(grader, exercises.find(name), submission)


def _grade(grader: Grader, exercise: Exercise, submission: Submission) -> Grade:
    def without_points(state: str, words: str) -> Grade:
        return Grade(exercise.id, exercise.title, 0.0, exercise.points, [words], state=state)

    if submission.problem:
        return without_points(NOT_READ, submission.problem)
    account = grader.limits.account(submission.used_s)
    try:
        cells = notebook.cells_for(submission.cells, exercise.function)
        return grader.grade(exercise, cells, submission.student, account)
    except Exception as error:  # a mistake of ours must not cost the others their grades
        again = "the answer may be right; grade again with --resume, or by hand"
        return without_points(JUDGE_ERROR, f"{type(error).__name__}: {files.plain(str(error))} ({again})")
    finally:
        submission.used_s += account.used_s


MAX_AT_ONCE = 8  # each has a process of some 300 MB that its ranks are forked from


@dataclass(frozen=True)
class Job:
    """A submission, the grades that it has already, by exercise, and the exercises that are wanted, if not all."""

    submission: Submission
    known: Mapping[str, Grade] = field(default_factory=dict)
    wanted: Sequence[str] = ()

    @property
    def left(self) -> list[str]:
        """The exercises that are still to be graded."""
        return [name for name in exercises_for(self.submission, self.wanted) if name not in self.known]

    def graded(self, new: Mapping[str, Grade]) -> Graded:
        """The submission with its known and its new grades."""
        one, both = self.submission, {**self.known, **new}
        grades = [both[name] for name in exercises_for(one, self.wanted)]
        return Graded(one.student, plain(str(one.path)), grades, one.digest)


def cores() -> int:
    """How many submissions to grade at a time on this machine."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MAX_AT_ONCE)


def grade_all(
    jobs: Sequence[Job], graders: Sequence[Grader], on_grade: Callable[[Grade], object]
) -> Iterator[tuple[int, Graded]]:
    """Each job's number and what it got, as they are done; `on_grade` hears of each exercise.

    Whoever leaves early waits for the exercises that have begun, and no more.
    """
    free: queue.SimpleQueue[Grader] = queue.SimpleQueue()
    for grader in graders:
        free.put(grader)
    stopped = threading.Event()

    def work(job: Job) -> dict[str, Grade]:
        grades: dict[str, Grade] = {}
        grader = free.get()
        try:
            for name in job.left:
                if stopped.is_set():
                    break
                (grades[name],) = grade_submission(grader, job.submission, [name])
                on_grade(grades[name])
        finally:
            free.put(grader)
        return grades

    with ThreadPoolExecutor(len(graders), "grader") as pool:
        futures: dict[Future[dict[str, Grade]], int] = {pool.submit(work, job): n for n, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                yield futures[future], jobs[futures[future]].graded(future.result())
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)
