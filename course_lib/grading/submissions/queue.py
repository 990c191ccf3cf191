"""Many submissions graded, several at a time, each by a grader with ranks of its own."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from course_lib.grading.judge.grader import Grade, Grader
from course_lib.grading.submissions.files import plain
from course_lib.grading.submissions.folder import Graded, Submission, exercises_for, grade_submission

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
