"""Grades exercises: points and messages, from all trials of an answer (a session).

The plain trials come first, then those with a changed message.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from course_lib.grading.alone import alone
from course_lib.grading.exercise import Case, Exercise, Failure
from course_lib.grading.judge import perturb
from course_lib.grading.judge.attempts import (
    AT_ITS_CHECK,
    PICKED,
    Account,
    Cells,
    Limits,
    Reading,
    judged,
    outcome_of,
    picked,
    readings,
)
from course_lib.grading.judge.launcher import Launcher
from course_lib.grading.judge.perturb import Perturbation
from course_lib.grading.judge.requests import SLOW_CELLS
from course_lib.grading.judge.trial import Verdict
from course_lib.grading.submissions.notebook import NO_CODE, places_of, why_missing
from course_lib.grading.verdict import Finding, broken_rules, findings, flat_differences, points_left

ATTEMPTS = 3  # to catch a message, where a program's messages depend on its values
REFUSALS = 10  # of a program that looks at what it gets, such as a count, and raises where that cannot be
REFUSED = "refused"
CUTS = 4  # in each of them several cells


class Session:
    """One exercise of one submission, on one reading of its notebook.

    Args:
        generator: gives the randomness that belongs to these names, unknown to anyone without the judge's secret.
        cells: of the whole submission.
        account: of the time that all trials may take.
    """

    def __init__(
        self,
        launcher: Launcher,
        limits: Limits,
        generator: Callable[..., np.random.Generator],
        exercise: Exercise,
        cells: Cells,
        student: str,
        reading: Reading,
        account: Account,
    ) -> None:
        self.launcher = launcher
        self.limits = limits
        self.exercise = exercise
        self.student = student
        self.cells = cells + [["setup", exercise.stand_ins]] * bool(exercise.stand_ins)
        self.reading, self.account = reading, account
        self.draws, self._generator_of = count(), generator
        self.rng = self._generator()
        self.failure: Failure | None = None  # the last one

    def findings(self) -> list[Finding]:
        """What is wrong, each thing once; only what costs all points, if something does."""
        found: dict[str, Finding] = {}
        sizes: list[list[int]] = []
        for case in self._cases():
            verdict = self.trial(case)
            with alone():
                new = findings(self.exercise, case, outcome_of(self.exercise, case, verdict))
            if self._add(found, new):
                return _fatal(found)
            sizes.append([m.message_bytes for m in sorted(verdict.trace.messages, key=lambda m: m.end_s)])
        if self.exercise.perturbation is not None and self.exercise.mode == "ranks":
            self._add_findings_of_changes(found, sizes)
        return _fatal(found) or list(found.values())

    def _add(self, found: dict[str, Finding], new: list[Finding]) -> bool:
        """Note what is new; returns whether something costs all points."""
        for finding in new:
            found.setdefault(finding.kind, finding)
        return any(finding.costs is None for finding in new)

    def _cases(self) -> list[Case]:
        with alone():
            return list(self.exercise.cases(self._generator()))

    def _generator(self) -> np.random.Generator:
        """Fresh numbers at each call and for each version of an answer: what was said of another does not help."""
        return self._generator_of(self.exercise.id, self.student, self.cells, next(self.draws))

    def _add_findings_of_changes(self, found: dict[str, Finding], sizes: list[list[int]]) -> None:
        """Trials with a changed message, in which the rules hold as well: knowing which trial it is gains nothing."""
        shapes = [number for number, case in enumerate(self._cases()) for _ in range(case.perturb)]
        for number in self.rng.permutation(shapes).tolist():
            if self._add(found, self._findings_of_a_change(number, sizes[number])):
                return

    def _findings_of_a_change(self, number: int, sizes: list[int]) -> list[Finding]:
        """What is wrong when a message of the case of this number is changed."""
        missed = refused = 0
        while missed < ATTEMPTS:
            change, case = perturb.choose(self.rng, sizes), self._cases()[number]
            if change is None:
                return [Finding(str(case), "no message carried data")]
            was_changed, new = self.findings_of_change(change, case)
            refused += any(finding.kind == REFUSED for finding in new)
            if not was_changed:
                missed += 1
            elif not new or new[0].kind != REFUSED or refused > REFUSALS:
                return new
        return [Finding(str(case), "its messages differ from run to run, although the shapes are the same")]

    def findings_of_change(self, change: Perturbation, case: Case) -> tuple[bool, list[Finding]]:
        """Run a case with this change: whether its message came or the run failed, and what is wrong."""
        exercise, shown_by = self.exercise, self.exercise.perturbation or ""
        verdict = self.trial(case, change)
        if verdict.failure is not None:
            kind = REFUSED if verdict.failure.kind == "exception" else "value"
            words = f"with a message changed on the way: {verdict.failure.text}"
            return True, [Finding(str(case), words, kind=kind)]
        assert verdict.change is not None
        change, broken = verdict.change, broken_rules(exercise, case, verdict.trace)
        if change.receiver is None:
            return False, broken
        differences = list(flat_differences(case, outcome_of(exercise, case, verdict).values, exercise.tolerance))
        whole = exercise.whole_multiples
        wrong = perturb.misplaced(change, differences, verdict.downstream, whole_multiples=whole)
        missing = perturb.unshown(change, differences, verdict.downstream, shown_by=shown_by)
        if missing and not wrong and (louder := change.louder(shown_by)):
            return self.findings_of_change(louder, case)
        text = wrong or missing
        return True, [Finding(str(case), text)] if text else broken

    def trial(self, case: Case, change: Perturbation | None = None) -> Verdict:
        """One run with fresh ranks. A cell that takes too long ends there in this one and all that follow."""
        for _ in range(CUTS):
            verdict = judged(self.launcher, self.limits, self.account, self.exercise, self.reading, case, change)
            self.failure = verdict.failure
            if verdict.failure is None or verdict.failure.kind != SLOW_CELLS:
                return verdict
            self.reading = self.reading.without_slow(verdict.failure.text)
        return replace(verdict, failure=Failure("timeout", "the cells of this notebook take too long"))


def _fatal(found: dict[str, Finding]) -> list[Finding]:
    return [finding for finding in found.values() if finding.costs is None]


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
