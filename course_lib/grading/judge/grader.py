"""Grades exercises: points and messages, from all trials of an answer."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from course_lib.grading.exercise import Exercise
from course_lib.grading.judge.attempts import Account, JudgeError, Limits, picked
from course_lib.grading.judge.launcher import Launcher
from course_lib.grading.judge.readings import AT_ITS_CHECK, PICKED, Cells, readings
from course_lib.grading.judge.session import Session
from course_lib.grading.submissions.notebook import NO_CODE, places_of, why_missing
from course_lib.grading.verdict import Finding, points_left

__all__ = ["Grade", "Grader", "JudgeError", "Limits"]

MESSAGE_LENGTH = 2_000
RAISED = ("exception", "no function", "timeout")  # failures that may come of how the notebook is read
HURRY = 5  # times less for a program that did not end before


@dataclass(frozen=True)
class Grade:
    """What an exercise got, and why not more.

    Attributes:
        state: empty, or why these points are no grade.
        way: which cells it was judged on, if not on those that it needs.
    """

    exercise: str
    title: str
    points: float
    most: float
    messages: list[str]
    seconds: float = 0.0
    state: str = ""
    way: str = ""


class Grader:
    """Grades cells against exercises, with ranks from this launcher.

    Args:
        secret: seeds everything that is drawn, so that the same submission gets the same grade again; fresh each time
            if not given.
    """

    def __init__(self, launcher: Launcher, secret: bytes | None = None, limits: Limits | None = None) -> None:
        self.launcher = launcher
        self.secret = secret or secrets.token_bytes(32)
        self.limits = limits or Limits()

    def grade(
        self, exercise: Exercise, cells: Sequence[tuple[str, str]], student: str = "", account: Account | None = None
    ) -> Grade:
        """The grade of one exercise. `cells` are a submission's (kind, source); see `notebook.cells_for`.

        Args:
            account: of the time that its trials may take, by default what `limits` give an exercise.

        Raises:
            LauncherError, JudgeError: if ranks cannot be started or are killed, which is not the student's fault.
        """
        began = time.monotonic()
        none_defines = f"no cell defines {exercise.function}"
        all_cells, cells = cells, [cell for cell in cells if not cell[0].startswith(NO_CODE)]
        if any(exercise.function in source for _, source in cells):
            found, way = self._best(exercise, cells, student, account or self.limits.account())
        else:
            found, way = [Finding("", none_defines)], ""
        points = points_left(exercise.points, found)
        messages = [str(each) for each in found]
        if messages[:1] == [none_defines]:
            messages[0] += why_missing(all_cells, exercise.function)
        messages += [places_of(list(cells))] * bool(found and places_of(list(cells)))
        messages = [_cut(message) for message in messages]
        seconds = time.monotonic() - began
        return Grade(exercise.id, exercise.title, points, exercise.points, messages, seconds, way=way)

    def _best(
        self, exercise: Exercise, cells: Sequence[tuple[str, str]], student: str, account: Account
    ) -> tuple[list[Finding], str]:
        """What is wrong in the reading that leaves most points, and which one it is, unless it is the first.

        Of two that leave as many speaks the one that did not raise, and then the one that its check has seen.
        """
        tried = []
        for session in self._sessions(exercise, cells, student, account):
            found = session.findings()
            points, way = points_left(exercise.points, found), session.reading.way
            kind = session.failure.kind if session.failure else ""
            seen = way == AT_ITS_CHECK and kind != "timeout"  # which was in a hurry, if the one before was none
            tried.append((points, kind not in RAISED, seen, way == PICKED, found, way))
            if not found or account.is_empty:
                break
        *_, found, way = max(tried, key=lambda one: one[:4])
        return found, way if way != PICKED and points_left(exercise.points, found) else ""

    def session(self, exercise: Exercise, cells: Sequence[tuple[str, str]], student: str = "") -> Session:
        """The trials that decide the grade, as long as no point is lost."""
        return next(self._sessions(exercise, cells, student, self.limits.account()))

    def _sessions(
        self, exercise: Exercise, cells: Sequence[tuple[str, str]], student: str, account: Account
    ) -> Iterator[Session]:
        """The trials on one reading of the notebook after the other. After one that did not end they are in a hurry."""
        all_cells, limits = [list(cell) for cell in cells], self.limits

        def pick(those: Cells) -> Cells:
            return picked(self.launcher, self.limits, account, exercise, those)

        for reading in readings(exercise, all_cells, pick):
            session = Session(self.launcher, limits, self.generator, exercise, all_cells, student, reading, account)
            yield session
            if session.failure is not None and session.failure.kind == "timeout":
                cpu_s, timeout_s = max(1, self.limits.cpu_s // HURRY), self.limits.timeout_s / HURRY
                limits = replace(limits, cpu_s=cpu_s, timeout_s=timeout_s)

    def generator(self, *names: object) -> np.random.Generator:
        """Randomness that nobody knows without the secret, the same for the same names."""
        digest = hmac.new(self.secret, repr(names).encode(), hashlib.sha256).digest()
        return np.random.default_rng(int.from_bytes(digest, "big"))


def _cut(message: str) -> str:
    """A message that a table can show: it may quote names and values of any length."""
    return message if len(message) <= MESSAGE_LENGTH else message[:MESSAGE_LENGTH] + "..."
