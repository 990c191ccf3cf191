"""One run of a case with fresh ranks, tried again where something else than the answer ended it; and on which cells.

There are three readings of a notebook: the statements that an answer needs alone, all cells up to its check, or the
whole. An answer is judged on the notebook as it was at its check cell. The first reading finds helpers in whatever
cell, and runs nothing else; but no rule could find all that one statement does to another. So before an answer loses a
point it is judged again as a notebook runs: on each cell up to the last one that checks it (or, unchecked, defines it),
in order, and then on all cells. The best counts.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course_lib.comm.trace import Trace
from course_lib.grading.exercise import CASE_S, Case, Exercise, Failure, Outcome
from course_lib.grading.judge.launcher import Exit, Launcher, RankProcess
from course_lib.grading.judge.perturb import Perturbation
from course_lib.grading.judge.trial import Judge, Patience, Verdict
from course_lib.grading.sandbox.cells import SLOW
from course_lib.grading.sandbox.frames import with_tensors

Cells = list[list[str]]  # kind and source of each

PICKED = "what it needs"
AT_ITS_CHECK = "all cells up to its check"
WHOLE = "the whole notebook"
OF_A_TRIAL = re.compile(r"\s*(#|import\s|from\s|$)")  # lines in which two readings may differ and be the same


@dataclass(frozen=True)
class Reading:
    """Cells for an answer to run on.

    Attributes:
        way: which of the three it is.
        clock: processor time of a cell, and of all cells together.
    """

    way: str
    cells: Cells
    clock: tuple[float, float]

    def without_slow(self, told: str) -> Reading:
        """The same, but each of these cells ends where it took too long; they are told as "CELL:LINE"."""
        lines = dict(each.split(":") for each in told.split())
        cells = [
            [f"{kind.partition(SLOW)[0]}{SLOW}{lines[str(number)]}" if str(number) in lines else kind, source]
            for number, (kind, source) in enumerate(self.cells, 1)
        ]
        return replace(self, cells=cells)


def readings(exercise: Exercise, cells: Cells, pick: Callable[[Cells], Cells]) -> Iterator[Reading]:
    """The readings of these cells for an answer to this exercise, those that are the same as another left out.

    Args:
        pick: the cells with nothing in them but what the function needs.
    """
    given = [["setup", exercise.stand_ins]] * bool(exercise.stand_ins)
    seen = []
    for way in (PICKED, AT_ITS_CHECK, WHOLE):
        if way == PICKED:
            those, clock = pick(cells + given), (float(CASE_S), float(CASE_S))
        else:
            last = _last_of(exercise, cells) if way == AT_ITS_CHECK else len(cells)
            those = [[kind, source * (number < last)] for number, (kind, source) in enumerate(cells)] + given
            clock = (1.0, 4.0)
        text = [line for _, source in those for line in source.split("\n") if not OF_A_TRIAL.match(line)]
        if text not in seen:
            seen.append(text)
            yield Reading(way, those, clock)


def _last_of(exercise: Exercise, cells: Cells) -> int:
    """The number of the last cell that checks this exercise, or else defines its function; of all if none does."""
    checks = re.compile(rf"\bcheck\s*\(\s*(exercise\s*=\s*)?[\"']{exercise.id}[\"']")
    checked = [number for number, (_, source) in enumerate(cells, 1) if checks.search(source)]
    defined = [number for number, (kind, _) in enumerate(cells, 1) if kind == "answer"]
    return (checked or defined or [len(cells)])[-1]


TRIES = 3


class JudgeError(RuntimeError):
    """The judge cannot grade this now; the answer may be right."""


@dataclass(frozen=True)
class Limits:
    """Guards against programs that do not end; no honest answer comes near them.

    Attributes:
        cpu_s: processor time of one rank for all calls of one case, whole seconds; the notebook's check allows as much.
        timeout_s: time of one trial in which no rank works or says anything; see `Patience`.
        exercise_s: work of all ranks and waiting for them, in all trials of one exercise.
        submission_s: the same of a whole submission.
        min_s: what each exercise gets when its submission has used up its own.
    """

    cpu_s: int = CASE_S
    timeout_s: float = 10.0
    exercise_s: float = 60.0
    submission_s: float = 180.0
    min_s: float = 5.0

    def account(self, used_s: float = 0.0) -> Account:
        """For one more exercise of a submission whose trials have used so much."""
        left_s = self.submission_s - used_s
        if left_s >= self.exercise_s:
            return Account(self.exercise_s)
        left_s = max(left_s, self.min_s)
        return Account(left_s, f", in a submission that may take {self.submission_s:g} s in all,")


@dataclass
class Account:
    """What the trials of an exercise have used of the time that it may take: work of ranks, and waiting for them."""

    limit_s: float
    of: str = ""
    used_s: float = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it is left."""
        return self.used_s >= self.limit_s


def judged(
    launcher: Launcher,
    limits: Limits,
    account: Account,
    exercise: Exercise,
    reading: Reading,
    case: Case,
    change: Perturbation | None = None,
) -> Verdict:
    """What came of this case, with this message changed on the way if one is given.

    Raises:
        JudgeError: if ranks are killed again and again.
    """
    if account.is_empty:
        took = f"took more than {account.limit_s:g} s of work and waiting: no more are made"
        text = f"the trials of this answer{account.of} {took}"
        return Verdict([None] * case.world_size, Trace(case.world_size, []), set(), Failure("timeout", text))
    starts = _starts(exercise, reading, case)
    for _ in range(TRIES):
        verdict, why = _run(
            launcher, limits, account, exercise, starts, replace(change) if change else None, case.begins_s
        )
        if not why:
            return verdict
    raise JudgeError(f"tried {TRIES} times, and each time {why}")


def picked(launcher: Launcher, limits: Limits, account: Account, exercise: Exercise, cells: Cells) -> Cells:
    """The cells with nothing in them but what the function needs: many ranks will read them.

    It is said from behind the walls, where cells are parsed; what is no list of texts counts as nothing said.
    """
    start = ["shorten", 0, 1, exercise.function, cells, [], []]
    verdict, _ = _run(launcher, limits, account, exercise, [start], None)
    (result,) = verdict.results
    texts = result[0] if result else None
    if not isinstance(texts, list) or list(map(type, texts)) != [str] * len(cells):
        return cells
    return [[kind, text] for (kind, _), text in zip(cells, texts, strict=True)]


def _run(
    launcher: Launcher,
    limits: Limits,
    account: Account,
    exercise: Exercise,
    starts: list[list[Any]],
    change: Perturbation | None,
    begins_s: Sequence[float] = (),
) -> tuple[Verdict, str]:
    """What came of it, and what it was that is none of the answer's fault, if something was."""
    ranks: list[RankProcess] = []
    gone = None
    patience = Patience(limits.timeout_s, lambda: launcher.used_s(ranks))
    try:
        ranks.extend(launcher.spawn(slot, limits.cpu_s) for slot in range(len(starts)))
        verdict = Judge(ranks, exercise, patience, change).run(starts, begins_s)
        if verdict.failure is not None and verdict.failure.kind == "died":
            gone = verdict.failure.rank
    finally:
        exits = launcher.end(ranks, gone)
        account.used_s += patience.counted_s + sum(each.used_s for each in exits or [])
    if verdict.failure is None:
        return verdict, ""
    if exits is None:
        return verdict, "the process that starts ranks was killed: is there enough memory?"
    if gone is None:
        return verdict, ""
    verdict.failure, why = why_it_died(verdict.failure, exits[gone], limits.cpu_s)
    return verdict, why


def _starts(exercise: Exercise, reading: Reading, case: Case) -> list[list[Any]]:
    """The START of each rank; a function without ranks is called in one process."""
    calls = [list(each) for each in case.inputs]
    size, by_rank = (case.world_size, [[call] for call in calls]) if exercise.mode == "ranks" else (1, [calls])
    about = exercise.function, reading.cells
    return [[exercise.way, rank, size, *about, by_rank[rank], list(reading.clock)] for rank in range(size)]


def why_it_died(failure: Failure, end: Exit, cpu_s: int) -> tuple[Failure, str]:
    """The failure in words, and why it is not the answer's fault, if it is not.

    Nothing inside a rank can kill it but its own limit of processor time.
    """
    who, code = f"rank {failure.rank}", end.code
    if code == -signal.SIGKILL and end.used_s < cpu_s:
        return (
            failure,
            f"something outside killed {who} after {end.used_s:.1f} s on a processor: is there enough memory?",
        )
    if code is None:
        reason = f"{who} hung up on the judge and went on"
    elif code >= 0:
        reason = f"{who}'s process ended without an answer" + (f" (exit code {code})" if code else "")
    elif -code in (signal.SIGXCPU, signal.SIGPROF, signal.SIGKILL):
        return replace(failure, kind="timeout", text=f"{who} used up its CPU time: an endless loop?"), ""
    else:
        why = ": a recursion without an end?" if -code == signal.SIGSEGV else ""
        reason = f"{who}'s process was ended by {signal.Signals(-code).name}{why}"
    return replace(failure, text=reason), ""


def outcome_of(exercise: Exercise, case: Case, verdict: Verdict) -> Outcome:
    """Each rank's (or call's) value, as the exercise wants it looked at. Malformed results come out as None."""
    values: list[Any] = []
    wanted = len(case.inputs) if exercise.mode == "function" else 1
    for result in verdict.results:
        returned, arguments = result if result is not None else ([], [])
        for call in range(wanted):
            value = _item(returned, call) if exercise.answer == "return" else _item(_item(arguments, call), 0)
            values.append(with_tensors(value))
    values = (values + [None] * len(case.expected))[: len(case.expected)]
    return Outcome(values, verdict.trace, verdict.failure)


def _item(values: Any, index: int) -> Any:
    return values[index] if isinstance(values, list) and len(values) > index else None
