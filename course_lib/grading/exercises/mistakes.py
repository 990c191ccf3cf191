"""Mistakes as edits of the solution: reading them, and what they give on the case that failed."""

from __future__ import annotations

import copy
import inspect
import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import CodeType, SimpleNamespace
from typing import Any

import cloudpickle
import torch

from course_lib.grading.alone import alone
from course_lib.grading.exercise import Case, Exercise, Mistake, Outcome
from course_lib.grading.exercises.sources import program, wrong_answer
from course_lib.grading.judge import raw_bytes, snapshot
from course_lib.grading.rehearsal.cases import run_case

MAX_GIVEN = 1000  # results that are kept
_GIVEN: dict[tuple[tuple[str, ...], bytes], Any] = {}
BRACES = re.compile(r"{(.+?)}")
SENTENCE = re.compile(r"(?:\[([\d.]+)\] )?(\.\.\. )?(.*)")


def read_mistakes(text: str) -> tuple[Mistake, ...]:
    r"""The mistakes that a text describes: a sentence, and below it, indented, edits of the solution.

    An edit is `old -> new`, where \n begins a new line; those of one mistake are made one after the other. `or` begins
    another mistake with the same sentence. `answer NAME` in place of edits is a wrong answer of the catalogue. A
    sentence that begins with [2] keeps two points. One that begins with ... are words that a rule or a diagnosis says
    of it. In others, what stands in braces is computed from the function's arguments.

    >>> for each in read_mistakes("It is a mean\n    sum(x) -> sum(x) / len(x)\nor\n    answer numpy_mean"):
    ...     print(each.text, each.edits, each.answer)
    It is a mean (('sum(x)', 'sum(x) / len(x)'),)
    It is a mean () numpy_mean

    Raises:
        ValueError: if an edit has no arrow or no sentence above it, a sentence has no edits, or braces no expression.
    """
    found = list[Mistake]()
    sentence = ""
    edits = list[str]()
    lines = text.strip("\n").splitlines()
    for line in [*lines, "or"] if lines else []:
        if line[:1].isspace():
            edits.append(line.strip())
            continue
        if edits and sentence:
            found.append(_mistake(sentence, edits))
        elif edits or sentence:
            raise ValueError(f"below a sentence stand its edits, indented; got {edits or sentence!r} alone")
        sentence, edits = sentence if line == "or" else line, []
    return tuple(found)


def _mistake(sentence: str, edits: list[str]) -> Mistake:
    points, dots, text = SENTENCE.match(sentence).groups()  # type: ignore[union-attr]  # which matches anything
    named = edits[0].startswith("answer ")
    pairs = [edit.partition("->") for edit in edits]
    if not named and not all(arrow for _, arrow, _ in pairs):
        raise ValueError(f"an edit is `old -> new`, got {edits}")
    for part in BRACES.findall(text) if not dots else ():
        _check_expression(part, text)
    return Mistake(
        text,
        edits=() if named else tuple((_lines(old), _lines(new)) for old, _, new in pairs),
        answer=edits[0].removeprefix("answer ") if named else "",
        points=float(points or 0),
        told=not dots,
    )


def _check_expression(part: str, sentence: str) -> None:
    try:
        compile(part, "<sentence>", "eval")
    except SyntaxError:
        raise ValueError(f"what stands in braces is computed, got {part!r} in {sentence!r}") from None


def _lines(text: str) -> str:
    return text.strip().replace(r"\n", "\n")


def source_of(exercise: Exercise, mistake: Mistake | None = None) -> str:
    """The solution as a student could have handed it in, with this mistake.

    Raises:
        ValueError: if what an edit replaces does not stand in the solution.
    """
    if mistake is not None and mistake.answer:
        return wrong_answer(exercise.id, mistake.answer)
    source = program(exercise.id)[1]
    if mistake is None:
        return source
    for old, new in mistake.edits:
        if old not in source:
            raise ValueError(f"{exercise.id}, {mistake.text!r}: {old!r} must stand in the solution")
        source = source.replace(old, new)
    return source


def function_of(exercise: Exercise, mistake: Mistake | None = None) -> Callable[..., Any]:
    """The exercise's function as the solution has it, or as this mistake makes it; each time a fresh one."""
    return made(*_sources(exercise, mistake))


def made(above: str, answer: str, stand_ins: str, name: str) -> Callable[..., Any]:
    """The function of this name that these sources define, with names of its own: no other call can change them."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for source in (above, answer, stand_ins):
        exec(_compiled(source, name), names)
    return names[name]


def _sources(exercise: Exercise, mistake: Mistake | None = None) -> tuple[str, str, str, str]:
    return program(exercise.id)[0], source_of(exercise, mistake), exercise.stand_ins, exercise.function


@lru_cache(maxsize=MAX_GIVEN)
def _compiled(source: str, name: str) -> CodeType:
    return compile(source, f"<{name}>", "exec")


def right_results(exercise: Exercise, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What the solution gives for each of these calls."""
    return [_given(exercise, _sources(exercise), call) for call in calls]


def right_ends(exercise: Exercise, case: Case) -> list[Any]:
    """What each rank of the solution ends with on this case, simulated."""
    outcome = run_case(exercise, case, function_of(exercise))
    if outcome.failure is not None:
        raise ValueError(f"the solution of {exercise.id} does not end: {outcome.failure.text}")
    return outcome.values


def by_call(exercise: Exercise, call: Sequence[Any]) -> Iterator[tuple[str, str, Any]]:
    """Each mistake's sentence, what it says of this call, and what it gives for it; not of one that raises there."""
    for mistake in filter(_is_told, exercise.mistakes):
        sources = _sources(exercise, mistake)
        try:
            said, value = _said(exercise, mistake, call), _given(exercise, sources, call)
        except Exception:  # a mistake may raise anything
            continue
        yield mistake.text, said, value


def _is_told(mistake: Mistake) -> bool:
    return mistake.told


def _said(exercise: Exercise, mistake: Mistake, call: Sequence[Any]) -> str:
    """The mistake's sentence, with what stands in braces computed from the arguments of the call."""
    if "{" not in mistake.text:
        return mistake.text
    function = function_of(exercise)
    names = inspect.signature(function).bind(*call).arguments
    return BRACES.sub(lambda found: str(eval(found[1], function.__globals__, names)), mistake.text)


def by_rank(exercise: Exercise, case: Case) -> Iterator[tuple[str, Outcome]]:
    """What each of the exercise's mistakes says, and what comes of it on this case, simulated."""
    for mistake in filter(_is_told, exercise.mistakes):
        yield (
            _said(exercise, mistake, (SimpleNamespace(world_size=case.world_size), *case.inputs[0])),
            run_case(exercise, case, function_of(exercise, mistake)),
        )


def _given(exercise: Exercise, sources: tuple[str, str, str, str], call: Sequence[Any]) -> Any:
    """What they give for this call; computed once, for every wrong answer is held against all mistakes."""
    key = sources, _bytes_of(call)
    with alone():
        if key not in _GIVEN:
            arguments = copy.deepcopy(tuple(call))
            returned = made(*sources)(*arguments)
            if len(_GIVEN) >= MAX_GIVEN:
                _GIVEN.clear()
            _GIVEN[key] = snapshot(returned if exercise.answer == "return" else arguments[0])
        return snapshot(_GIVEN[key])  # a copy: what is kept is never changed


class _Pickler(cloudpickle.Pickler):
    """Equal tensors are equal bytes."""

    def persistent_id(self, value: Any) -> Any:
        is_tensor = isinstance(value, torch.Tensor)
        return (str(value.dtype), tuple(value.shape), value.requires_grad, raw_bytes(value)) if is_tensor else None


def _bytes_of(value: Any) -> bytes:
    data = io.BytesIO()
    _Pickler(data).dump(value)
    return data.getvalue()
