"""Grades exercises: fresh cases, one trial after the other, the plain ones first, then those with a changed message."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from course_lib.grading.exercise import Case, Exercise, Failure, Outcome
from course_lib.grading.judge import perturb
from course_lib.grading.judge.launcher import Launcher, RankProcess
from course_lib.grading.judge.perturb import Perturbation
from course_lib.grading.judge.trial import Judge, Verdict
from course_lib.grading.sandbox.frames import Payload
from course_lib.grading.submissions.notebook import places_of, similar
from course_lib.grading.verdict import Finding, findings, flat_differences, points_left

__all__ = ["Grade", "Grader", "Limits"]

ATTEMPTS = 3  # to catch a message, where a program's messages depend on its values


@dataclass(frozen=True)
class Limits:
    """Guards against programs that do not end; no honest answer comes near them.

    Attributes:
        cpu_s: CPU time of one rank in one trial, whole seconds.
        timeout_s: real time of one trial.
    """

    cpu_s: int = 2
    timeout_s: float = 10.0


@dataclass(frozen=True)
class Grade:
    """What an exercise got, and why not more."""

    exercise: str
    title: str
    points: float
    most: float
    messages: list[str]
    seconds: float = 0.0


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
            LauncherError: if ranks cannot be started, which is not the student's fault.
        """
        began = time.monotonic()
        if not any(kind == "answer" for kind, _ in cells):
            other = similar(list(cells), exercise.function)
            text = f"no cell defines {exercise.function}" + f"; {other} is there: which name did it have?" * bool(other)
            return Grade(exercise.id, exercise.title, 0.0, exercise.points, [text])
        found = _Session(self, exercise, cells, student).findings()
        points = points_left(exercise.points, found)
        messages = [str(each) for each in found]
        messages += [places_of(list(cells))] * bool(found and places_of(list(cells)))
        return Grade(exercise.id, exercise.title, points, exercise.points, messages, time.monotonic() - began)

    def generator(self, *names: object) -> np.random.Generator:
        """Randomness that nobody knows without the secret, the same for the same names."""
        digest = hmac.new(self.secret, repr(names).encode(), hashlib.sha256).digest()
        return np.random.default_rng(int.from_bytes(digest, "big"))


class _Session:
    """One exercise of one submission."""

    def __init__(self, grader: Grader, exercise: Exercise, cells: Sequence[tuple[str, str]], student: str) -> None:
        self.grader, self.exercise, self.student = grader, exercise, student
        self.cells = [list(cell) for cell in cells]
        self.draws = count()
        self.rng = self._generator()
        self.needed = self._needed_cells()

    def findings(self) -> list[Finding]:
        """What is wrong, each thing once; stops at the first that costs all points."""
        found: dict[str, Finding] = {}
        sizes: dict[int, list[int]] = {}
        for number, case in enumerate(self._cases()):
            verdict = self._trial(case)
            for finding in findings(self.exercise, case, _outcome(self.exercise, case, verdict)):
                found.setdefault(finding.kind, finding)
            if any(finding.costs is None for finding in found.values()):
                return [finding for finding in found.values() if finding.costs is None]
            sizes[number] = [m.message_bytes for m in sorted(verdict.trace.messages, key=lambda m: m.end_s)]
        return self._findings_of_changes(sizes) or list(found.values())

    def _cases(self) -> list[Case]:
        return list(self.exercise.cases(self._generator()))

    def _generator(self) -> np.random.Generator:
        """Fresh numbers at each call and for each version of an answer, or this student's own, always the same."""
        if self.exercise.per_student:
            return self.grader.generator(self.exercise.id, self.student)
        return self.grader.generator(self.exercise.id, self.student, self.cells, next(self.draws))

    def _findings_of_changes(self, sizes: dict[int, list[int]]) -> list[Finding]:
        exercise = self.exercise
        if exercise.perturbation is None or exercise.mode != "ranks":
            return []
        shapes = [number for number, case in enumerate(self._cases()) for _ in range(case.perturb)]
        for number in self.rng.permutation(shapes).tolist():
            for _ in range(ATTEMPTS):
                change = perturb.choose(self.rng, sizes[number])
                case = self._cases()[number]
                text = self._text_of_change(change, case) if change else "no message carried data"
                if change is None or change.receiver is not None:
                    break
            else:
                text = "its messages differ from run to run, although the shapes are the same"
            if text:
                return [Finding(str(case), text)]
        return []

    def _text_of_change(self, change: Perturbation, case: Case) -> str | None:
        """Run a case with this change; what is wrong with how it shows."""
        exercise, shown_by = self.exercise, self.exercise.perturbation or ""
        verdict = self._trial(case, change)
        if verdict.failure is not None:
            return f"with a message changed on the way: {verdict.failure.text}"
        if change.receiver is None:
            return None
        differences = list(flat_differences(case, _outcome(exercise, case, verdict).values, exercise.tolerance))
        whole = exercise.whole_multiples
        wrong = perturb.misplaced(change, differences, verdict.downstream, whole_multiples=whole)
        missing = perturb.unshown(change, differences, verdict.downstream, shown_by=shown_by)
        if missing and shown_by == "downstream" and change.index is not None:
            return wrong or self._text_of_change(replace(change, index=None), case)
        return wrong or missing

    def _needed_cells(self) -> list[list[str]]:
        """The cells with nothing in them but what the function needs: many ranks will read them.

        It is said from behind the walls, where cells are parsed; what is no list of texts counts as nothing said.
        """
        exercise, launcher = self.exercise, self.grader.launcher
        ranks = [launcher.spawn(0, self.grader.limits.cpu_s)]
        try:
            judge = Judge(ranks, exercise.network, timeout_s=self.grader.limits.timeout_s)
            (result,) = judge.run([["shorten", 0, 1, exercise.function, self.cells, []]]).results
        finally:
            launcher.end(ranks)
        texts = result[0] if result else None
        if not isinstance(texts, list) or list(map(type, texts)) != [str] * len(self.cells):
            return self.cells
        return [[kind, text] for (kind, _), text in zip(self.cells, texts, strict=True)]

    def _trial(self, case: Case, change: Perturbation | None = None) -> Verdict:
        """Fresh ranks, one run, and their end."""
        exercise, launcher, limits = self.exercise, self.grader.launcher, self.grader.limits
        ranks: list[RankProcess] = []
        comm = exercise.mode == "ranks"
        size = case.world_size if comm else 1
        try:
            ranks = [launcher.spawn(slot, limits.cpu_s) for slot in range(size)]
            judge = Judge(
                ranks,
                exercise.network,
                timeout_s=limits.timeout_s,
                perturbation=change,
                clock=exercise.clock,
                dtypes=exercise.dtypes,
            )
            calls = [[list(each)] for each in case.inputs] if comm else [[list(each) for each in case.inputs]]
            starts = [[exercise.mode, r, size, exercise.function, self.needed, calls[r]] for r in range(size)]
            verdict = judge.run(starts)
        finally:
            exits = launcher.end(ranks)
        if verdict.failure is not None and verdict.failure.kind == "died":
            verdict.failure = _why_it_died(verdict.failure, exits)
        return verdict


def _outcome(exercise: Exercise, case: Case, verdict: Verdict) -> Outcome:
    """Each rank's (or call's) value, as the exercise wants it looked at. Malformed results come out as None."""
    values: list[Any] = []
    wanted = len(case.inputs) if exercise.mode == "function" else 1
    for result in verdict.results:
        returned, arguments = result if result is not None else ([], [])
        for call in range(wanted):
            value = _item(returned, call) if exercise.answer == "return" else _item(_item(arguments, call), 0)
            values.append(_tensors(value))
    values = (values + [None] * len(case.expected))[: len(case.expected)]
    return Outcome(values, verdict.trace, verdict.failure)


def _item(values: Any, index: int) -> Any:
    return values[index] if isinstance(values, list) and len(values) > index else None


def _tensors(value: Any) -> Any:
    if isinstance(value, Payload):
        return value.tensor()
    return [_tensors(item) for item in value] if isinstance(value, list) else value


def _why_it_died(failure: Failure, exits: list[int | None]) -> Failure:
    assert failure.rank is not None
    code = exits[failure.rank] if failure.rank < len(exits) else None
    if code is None or code >= 0:
        reason = f"rank {failure.rank}'s process ended without an answer" + f" (exit code {code})" * bool(code)
    elif -code in (signal.SIGXCPU, signal.SIGPROF):
        return replace(failure, kind="timeout", text=f"rank {failure.rank} used up its CPU time: an endless loop?")
    else:
        why = {signal.SIGSEGV: ": a recursion without an end?", signal.SIGKILL: ": too much CPU time or memory?"}
        number = signal.Signals(-code)
        reason = f"rank {failure.rank}'s process was ended by {number.name}" + why.get(number, "")
    return replace(failure, text=reason)
