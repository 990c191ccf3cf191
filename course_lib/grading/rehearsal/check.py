"""The check inside the notebook: runs a student's function in the simulator and says what is right and what is not.

It decides no grade: it runs in the student's own process, on a public seed, without the judge's changed messages. What
an answer borrows that is not there under grading, of the course or a library, is found without running it (`borrowed`).
The points are kept on the student's desk, if there is one; whatever goes wrong there, the check goes on.
"""

from __future__ import annotations

import contextlib
import dis
import pkgutil
import re
import types
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import torch

import course_lib
from course_lib.comm.trace import Trace
from course_lib.desk import DeskError, desk_around, keep, write_start_page
from course_lib.grading.alone import alone, as_a_student
from course_lib.grading.exercise import Exercise
from course_lib.grading.exercises import exercises_of, find
from course_lib.grading.judge import LIBRARIES, SHOWING, is_there, not_there
from course_lib.grading.rehearsal.cases import run_case
from course_lib.grading.verdict import Finding, findings, points_left

SHOWN_MESSAGES = 24
NESTED = 10  # partials and wrappers around an answer
NO_POINTS = "The judge decides the points: it uses fresh inputs, and processes that it controls. This check helps you."


def check(exercise: str | Exercise, function: Callable[..., Any]) -> CheckReport:
    """What is right and wrong about `function` as an answer to this exercise, within seconds.

    On a desk its points are kept.

    Raises:
        KeyError: if there is no such exercise.
    """
    with alone():
        report = _report(exercise, function)
    return replace(report, kept=keep_on_desk({report.exercise.id: report.points} if report.written else {}))


def _report(exercise: str | Exercise, function: Callable[..., Any]) -> CheckReport:
    exercise = find(exercise) if isinstance(exercise, str) else exercise
    if not callable(function):
        raise TypeError(f"check({exercise.id!r}, ...) needs your function, got {type(function).__name__}")
    course = borrowed(function)
    if course:
        return CheckReport(exercise, [Finding("", not_there(course))], 0)
    found: dict[str, Finding] = {}
    trace = None
    passed = 0
    written = True
    for case in exercise.cases(np.random.default_rng(zlib.crc32(exercise.id.encode()))):
        with _stand_ins(exercise, function) as judged, as_a_student():
            outcome = run_case(exercise, case, judged)
        written = outcome.failure is None or outcome.failure.kind != "not attempted"
        new = findings(exercise, case, outcome)
        for finding in new:
            found.setdefault(finding.kind, finding)
        passed += not new
        if new:
            trace = trace or outcome.trace
        if any(finding.costs is None for finding in new):
            found = {finding.kind: finding for finding in new if finding.costs is None}
            break
    return CheckReport(exercise, list(found.values()), passed, trace, written)


def check_chapter(chapter: str, names: Mapping[str, Any]) -> dict[str, CheckReport]:
    """A report for each exercise of a chapter, by its id; `names` are the notebook's, as `globals()` gives them.

    A function whose cell has not run yet is not written yet.

    Raises:
        KeyError: if there is no such chapter.
    """
    with alone():
        reports = {each.id: _report(each, names.get(each.function, _not_run)) for each in exercises_of(chapter)}
    keep_on_desk({name: report.points for name, report in reports.items() if report.written})
    return reports


def _not_run(*_: object) -> None:
    raise NotImplementedError


@contextlib.contextmanager
def _stand_ins(exercise: Exercise, function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """The function, with the exercise's stand-ins in place of what the student's notebook has under these names."""
    mine: dict[str, Any] = {"__name__": "__main__", exercise.function: function}
    exec(exercise.stand_ins, mine)
    new = {name: value for name, value in mine.items() if name not in ("__builtins__", "__name__", exercise.function)}
    theirs = _globals_of(function)
    before = {name: theirs[name] for name in new if name in theirs}
    theirs.update(new)
    try:
        yield mine[exercise.function]
    finally:
        for name in new:
            del theirs[name]
        theirs.update(before)


def _globals_of(function: Any) -> dict[str, Any]:
    """The names that an answer runs with, be it a function, a method, a partial, or an object that can be called."""
    for _ in range(NESTED):
        if hasattr(function, "__globals__"):
            return function.__globals__
        made_of = getattr(function, "func", None) or getattr(function, "__wrapped__", None)
        called = type(function).forward if isinstance(function, torch.nn.Module) else type(function).__call__
        function = made_of or called
    return {}


@dataclass(frozen=True)
class CheckReport:
    """What the check found. A notebook shows it with its hints folded; `ok` and `points` are there for code."""

    exercise: Exercise
    findings: list[Finding]
    passed: int
    trace: Trace | None = None
    written: bool = True
    kept: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    @property
    def points(self) -> float:
        """Points that this answer would get if the judge found nothing else."""
        return points_left(self.exercise.points, self.findings)

    def _mark(self) -> tuple[str, str]:
        """The sign before the headline, and its color: nothing is wrong with what is not written yet."""
        if not self.written:
            return "○", "var(--jp-border-color1, #bdbdbd)"
        return ("✓", "var(--jp-success-color1, #2e7d32)") if self.ok else ("✗", "var(--jp-error-color1, #d32f2f)")

    def _headline(self) -> str:
        name = f"Exercise {self.exercise.id}, {self.exercise.title}"
        if not self.written:
            return f"{name}: not written yet"
        cases = "1 case is" if self.passed == 1 else f"{self.passed} cases are"
        if self.ok:
            state = f"all {cases} right" if self.passed > 1 else "right"
        elif all(finding.costs is not None for finding in self.findings):
            state = "the results are right, the way there is not yet"
        else:
            state = f"{cases} right, the next is not" if self.passed else "not yet right"
        return f"{name}: {state} ({self.points:g} of {self.exercise.points:g} points by this check)"

    def __repr__(self) -> str:
        lines = [f"{self._mark()[0]} {self._headline()}", *(f"  {finding}" for finding in self.findings)]
        if not self.ok and self.exercise.hints:
            lines.append(f'  hint("{self.exercise.id}", 1) gives a hint.')
        return "\n".join([*lines, *self._footnotes()])

    def _footnotes(self) -> list[str]:
        """What the points mean, and where they are kept."""
        return [note for note in (NO_POINTS, self.kept) if note and self.written]

    def _repr_html_(self) -> str:
        sign, color = self._mark()
        items = "".join(f'<li style="white-space: pre-wrap">{_words(str(finding))}</li>' for finding in self.findings)
        parts = [f"<p><strong>{sign} {escape(self._headline())}</strong></p>"]
        parts += [f"<ul>{items}</ul>"] * bool(items)
        if not self.ok:
            parts += [_wire(self.trace), _hints(self.exercise.hints)]
        parts += [f'<p style="opacity: 0.75"><small>{_words(note)}</small></p>' for note in self._footnotes()]
        style = f"border-left: 4px solid {color}; padding: 0.2em 1em; color: var(--jp-content-font-color1, inherit)"
        return f'<div style="{style}">{"".join(parts)}</div>'


def _words(text: str) -> str:
    """Text as HTML; what stands between backticks is code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text))


def _wire(trace: Trace | None) -> str:
    """The messages of the case that failed, folded."""
    if trace is None or not trace.messages:
        return ""
    heads = "<tr><th>step</th><th>from</th><th>to</th><th>bytes</th></tr>"
    rows = [
        f"<tr><td>{m.step}</td><td>{m.src}</td><td>{m.dst}</td><td>{m.message_bytes}</td></tr>"
        for m in trace.messages[:SHOWN_MESSAGES]
    ]
    more = len(trace.messages) - SHOWN_MESSAGES
    rows += [f'<tr><td colspan="4">and {more} more</td></tr>'] * (more > 0)
    summary = f"what crossed the wire: {len(trace.messages)} messages, {trace.total_bytes} bytes, {trace.steps} steps"
    return f"<details><summary>{summary} (simulated)</summary><table>{heads}{''.join(rows)}</table></details>"


def _hints(hints: tuple[str, ...], number: int = 1) -> str:
    """Hints, each folded inside the one before."""
    if not hints:
        return ""
    return (
        f"<details><summary>hint {number}</summary><p>{_words(hints[0])}</p>{_hints(hints[1:], number + 1)}</details>"
    )


@dataclass(frozen=True)
class Hint:
    """A hint that a notebook shows as a sentence."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<p>{_words(self.text)}</p>"


def hint(exercise: str | Exercise, number: int = 1) -> Hint:
    """Hint `number` of this exercise.

    Raises:
        KeyError: if there is no such exercise.
    """
    exercise = find(exercise) if isinstance(exercise, str) else exercise
    if not 1 <= number <= len(exercise.hints):
        return Hint(f"Exercise {exercise.id} has {len(exercise.hints)} hints.")
    return Hint(f"Hint {number} of {len(exercise.hints)}: {exercise.hints[number - 1]}")


def keep_on_desk(points: Mapping[str, float]) -> str:
    """Keep these points, by exercise, on the desk that the notebook lies on; a sentence about it, empty without one."""
    try:
        desk = desk_around(Path.cwd())
        if desk is None or not points:
            return ""
        kept = keep(desk, points)
        write_start_page(desk)
    except (DeskError, OSError) as error:
        return f"These points could not be kept on your desk: {error}."
    chapter = next(iter(points))[:2]
    total = sum(each.most for name, each in kept.items() if name.startswith(chapter))
    return f"Kept on your desk: {total:g} points in chapter {chapter} so far."


_NAMES = [f"course_lib.{module.name}" for module in pkgutil.iter_modules(course_lib.__path__)]
WITHHELD = tuple(name for name in _NAMES if name not in (*SHOWING, "course_lib.comm"))


def borrowed(function: Callable[..., Any]) -> str | None:
    """The name of something of the course, or of a library, that is not there under grading, if `function` uses it.

    Functions of the notebook that it uses are looked at, too.

    >>> from course_lib.collectives import ring_all_reduce
    >>> borrowed(lambda comm, tensor: ring_all_reduce(comm, tensor))
    'course_lib.collectives.ring_all_reduce'
    >>> borrowed(lambda comm, tensor: comm.send(tensor, 0)) is None
    True
    """
    if _is_withheld(_full_name(function)):
        return _full_name(function)
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        one = waiting.pop()
        one = getattr(one, "_torchdynamo_orig_callable", one)  # what torch.compile was given
        if not isinstance(one, types.FunctionType) or id(one) in seen:
            continue
        seen.add(id(one))
        library = next((name for name in _imports(one.__code__) if not is_there(name)), None)
        if library:
            return library
        for name in _names(one.__code__):
            value = one.__globals__.get(name)
            full = _full_name(name if value is None else value)
            if isinstance(value, types.ModuleType) and not is_there(full):
                return full
            if _is_withheld(full) and (value is not None or full not in LIBRARIES):  # a bare name may be an attribute's
                return full
            if getattr(value, "__module__", None) == one.__module__:
                waiting.append(value)
    return None


def _is_withheld(name: str) -> bool:
    return name.startswith(WITHHELD) or name.split(".")[0] in LIBRARIES


def _names(code: types.CodeType) -> Iterator[str]:
    """The global names that this code mentions, and the modules that it imports."""
    yield from code.co_names
    if "course_lib" in code.co_names:
        yield from (f"course_lib.{name}" for name in code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _imports(code: types.CodeType) -> Iterator[str]:
    """The modules that this code imports while it runs."""
    yield from (each.argval for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _imports(constant)


def _full_name(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, types.ModuleType):
        return value.__name__
    module = str(getattr(value, "__module__", ""))
    package = next((each for each in WITHHELD if module.startswith(each)), module)
    return f"{package}.{getattr(value, '__name__', type(value).__name__)}"
