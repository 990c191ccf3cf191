"""Grades exercises: points and messages, from all trials of an answer."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.grading.exercise import Exercise
from course_lib.grading.judge.attempts import JudgeError, Limits
from course_lib.grading.judge.launcher import Launcher
from course_lib.grading.judge.session import Session
from course_lib.grading.submissions.notebook import places_of, similar
from course_lib.grading.verdict import points_left

__all__ = ["Grade", "Grader", "JudgeError", "Limits"]

MESSAGE_LENGTH = 2_000


@dataclass(frozen=True)
class Grade:
    """What an exercise got, and why not more.

    Attributes:
        state: empty, or why these points are no grade.
    """

    exercise: str
    title: str
    points: float
    most: float
    messages: list[str]
    seconds: float = 0.0
    state: str = ""


class Grader:
    """Grades cells against exercises, with ranks from this launcher.

    Args:
        secret: seeds everything that is drawn, so that the same submission gets the same grade again; fresh each time
            if not given.
    """

    def __init__(self, launcher: Launcher, secret: bytes | None = None, limits: Limits | None = None) -> None:
        self.launcher, self.secret, self.limits = launcher, secret or secrets.token_bytes(32), limits or Limits()

    def grade(self, exercise: Exercise, cells: Sequence[tuple[str, str]], student: str = "") -> Grade:
        """The grade of one exercise. `cells` are a submission's (kind, source); see `notebook.cells_for`.

        Raises:
            LauncherError, JudgeError: if ranks cannot be started or are killed, which is not the student's fault.
        """
        began = time.monotonic()
        if not any(kind == "answer" for kind, _ in cells):
            other = similar(list(cells), exercise.function)
            text = f"no cell defines {exercise.function}" + f"; {other} is there: which name did it have?" * bool(other)
            return Grade(exercise.id, exercise.title, 0.0, exercise.points, [text])
        found = self.session(exercise, cells, student).findings()
        points = points_left(exercise.points, found)
        messages = [str(each) for each in found]
        messages += [places_of(list(cells))] * bool(found and places_of(list(cells)))
        messages = [_cut(message) for message in messages]
        return Grade(exercise.id, exercise.title, points, exercise.points, messages, time.monotonic() - began)

    def session(self, exercise: Exercise, cells: Sequence[tuple[str, str]], student: str = "") -> Session:
        """The trials that decide the grade."""
        return Session(self.launcher, self.limits, self.generator, exercise, cells, student)

    def generator(self, *names: object) -> np.random.Generator:
        """Randomness that nobody knows without the secret, the same for the same names."""
        digest = hmac.new(self.secret, repr(names).encode(), hashlib.sha256).digest()
        return np.random.default_rng(int.from_bytes(digest, "big"))


def _cut(message: str) -> str:
    """A message that a table can show: it may quote names and values of any length."""
    return message if len(message) <= MESSAGE_LENGTH else message[:MESSAGE_LENGTH] + "..."
