"""What exercises of several chapters use: whole matrices, limits of an all-reduce, and what a mistake would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case, Diagnosis, Exercise, Failure, Outcome, Rule, whole_numbers
from course_lib.grading.exercises.diagnoses import FAILURES, direction_of
from course_lib.grading.exercises.mistakes import by_call, by_rank, read_mistakes, right_ends, right_results
from course_lib.grading.exercises.sources import page_text, points_of, titles_of
from course_lib.grading.verdict import difference, shown_argument

__all__ = [
    "FAILURES",
    "all_reduced",
    "function_exercise",
    "given_nothing",
    "matrix",
    "other_call",
    "rank_exercise",
    "too_slow",
    "two_factors",
]

Reasons = Callable[..., Iterator[tuple[str, str, object]]]  # of a call: each mistake's key, what it says and gives
LATER_S = 1e-3  # more than all messages of an answer take
MAX_NUMBERS = 100  # of a value
MAX_VALUES = 4  # that are looked at one by one
IN_PLACE = (
    "all_reduce changes its tensor in place and returns nothing: name the tensor first, call all_reduce on a line of "
    "its own, and go on with the tensor"
)


def matrix(rng: np.random.Generator, *shape: int) -> torch.Tensor:
    """Whole numbers, none of them 0, small enough that sums of products are exact."""
    return whole_numbers(rng, int(np.prod(shape)), most=30).reshape(shape)


def two_factors(rng: np.random.Generator, first: int, second: int, most: int) -> tuple[int, int]:
    """Two numbers from 2 to `first` and from 1 to `second` whose product is at most `most`, each such pair as likely.

    So many pairs have a result that fits into a frame that no table of them is an answer.
    """
    while True:
        one, other = int(rng.integers(2, first + 1)), int(rng.integers(1, second + 1))
        if one * other <= most:
            return one, other


def all_reduced(elements: Callable[[Case], int], because: str) -> tuple[Rule, Rule]:
    """What one all-reduce of so many elements may send and how often, in any of the usual ways."""
    return (
        rules.total_bytes(lambda case: 4 * elements(case) * case.world_size * (case.world_size - 1), because),
        rules.max_messages(lambda case: 4 * case.world_size * (case.world_size - 1)),
    )


def other_call(name: str, reasons: Reasons, tolerance: float = 1e-9) -> Diagnosis:
    """A diagnosis that compares what calls gave with `reasons(*arguments)`: of each mistake what it is known by,
    what is said of it, and what it would return.

    The first wrong call is shown, and of the mistakes that give its value the one true of most calls; of a third of the
    wrong ones at least, for a number can come about by accident, and of all calls where the answer is yes or no. If
    there is none, and a few values are returned, those that give the first wrong one of these.
    """

    def diagnose(case: Case, outcome: Outcome) -> str | None:
        if outcome.failure is not None:
            return None
        calls = list(zip(case.inputs, case.expected, outcome.values, strict=True))
        wrong = [number for number, (_, right, came) in enumerate(calls) if not _same(right, came, tolerance)]
        if not wrong:
            return None
        call, right, came = calls[wrong[0]]
        given = [list(reasons(*call)) for call, _, _ in calls]
        whole = [
            [key for key, _, value in each if _same(value, calls[i][2], tolerance)] for i, each in enumerate(given)
        ]
        yes_or_no = isinstance(right, bool)
        why = _explains(whole, wrong, yes_or_no) or _explains(
            _in_part(given, calls, wrong, tolerance), wrong, yes_or_no
        )
        why = next((said for key, said, _ in given[wrong[0]] if key == why), "") or _form(came, right)
        arguments = ", ".join(map(shown_argument, call))
        is_wrong = difference(right, came) if callable(right) else f"is {_shown(right)}, you gave {_shown(came)}"
        return f"{name}({arguments}) {is_wrong}" + (f". {why}" if why else "")

    return diagnose


def named_by(module: str) -> dict[str, Any]:
    """Id and function of the exercise in this module, from its name; its title and points from the chapter's page.

    >>> named_by("course_lib.grading.exercises.chapter_04.e_halo_rows")
    {'id': '04e', 'function': 'halo_rows', 'title': 'Halo exchange', 'points': 6.0}

    Raises:
        KeyError: if the page has no heading or no row of its table for the exercise.
    """
    chapter, _, file = module.rpartition("chapter_")[2].partition(".")
    letter, _, function = file.partition("_")
    titles, points = titles_of(page_text(chapter)), points_of(page_text(chapter))
    for what, found in (("heading", titles), ("row in its table", points)):
        if letter not in found:
            raise KeyError(f"the page of the solutions of chapter {chapter} has no {what} for exercise {letter}")
    return {"id": chapter + letter, "function": function, "title": titles[letter], "points": points[letter]}


def function_exercise(
    module: str,
    *,
    cases: Callable[[np.random.Generator], Iterator[Case]] | None = None,
    calls: Callable[[np.random.Generator], Iterator[tuple[Any, ...]]] | None = None,
    label: str = "",
    mistakes: str = "",
    before: tuple[Diagnosis, ...] = (),
    slow: str = "",
    hints: str = "",
    tolerance: float = 0.0,
    like: Callable[[Any], Any] = lambda value: value,
    **fields: Any,
) -> Exercise:
    """An exercise on a function without ranks: what each call returns is looked at, and the mistakes name what it is.

    Args:
        module: its `__name__`, see `named_by`.
        calls: the arguments of each call.
        label: what the student reads about them all.
        cases: in place of `calls`. Where one expects nothing, right is what the solution gives.
        mistakes: as `read_mistakes` reads them.
        before: diagnoses that are tried first.
        slow: what may be the reason where a call takes too long.
        hints: one a line.
        like: what expects a value like this one, where it may have several forms.
        fields: the other attributes of an `Exercise`.
    """

    def drawn(rng: np.random.Generator) -> Iterator[Case]:
        for case in cases(rng) if cases else [Case(1, list(calls(rng) if calls else ()), (), label=label)]:
            right = case.expected or list(map(like, right_results(exercise, case.inputs)))
            yield replace(case, expected=right)

    def said(*call: object) -> Iterator[tuple[str, str, object]]:
        for key, text, value in by_call(exercise, call):
            yield key, text, like(value)

    fields |= named_by(module)
    told = other_call(fields["function"], said, max(tolerance, 1e-9))
    fields |= {"cases": drawn, "mistakes": read_mistakes(mistakes)}
    late = (too_slow(fields["function"], slow),) if slow else ()
    fields |= {"diagnoses": (*before, *late, told), "tolerance": tolerance}
    exercise = Exercise(mode="function", answer="return", hints=tuple(hints.strip().splitlines()), **fields)
    return exercise


def rank_exercise(
    module: str,
    *,
    cases: Callable[[np.random.Generator], Iterator[Case]],
    mistakes: str = "",
    before: tuple[Diagnosis, ...] = (),
    diagnoses: tuple[Diagnosis, ...] = (),
    hints: str = "",
    alike: Callable[[Any, Any], bool] = lambda one, other: _same(one, other, 1e-9),
    in_part: bool = False,
    **fields: Any,
) -> Exercise:
    """An exercise on ranks: what they end with is looked at, and the mistakes name what it is.

    Args:
        module: its `__name__`, see `named_by`.
        cases: where one expects nothing, right is what the solution ends with. In every other case the ranks begin
            one after the other, the last one first, unless the exercise has a clock: so whoever receives from anyone
            must look from whom it came.
        mistakes: as `read_mistakes` reads them; "rank 1 " comes before the sentence where values are wrong.
        before: diagnoses that are tried before the mistakes.
        diagnoses: those that are tried behind them.
        hints: one a line.
        alike: whether a mistake's end is a student's.
        in_part: whether, of a few values that a rank returns, the first wrong one is enough to know a mistake.
        fields: the other attributes of an `Exercise`.
    """

    def told(case: Case, outcome: Outcome) -> str | None:
        pairs = enumerate(zip(case.expected, outcome.values, strict=True))
        off = [rank for rank, pair in pairs if difference(*pair, exercise.tolerance)]
        partly = ""
        for text, other in by_rank(exercise, case):
            if outcome.failure is not None:
                if other.failure is not None and _stuck(outcome.failure) == _stuck(other.failure):
                    return f"{text}{'' if text.endswith('?') else '.'} {outcome.failure.text}"
            elif off and other.failure is None:
                ends = [(case.expected[rank], other.values[rank], outcome.values[rank]) for rank in off]
                if all(alike(one, came) for _, one, came in ends):
                    return f"rank {off[0]} {text}"
                if in_part and not partly and all(_begins_alike(*each, exercise.tolerance, alike) for each in ends):
                    partly = f"rank {off[0]} {text}"
        return partly or None

    def drawn(rng: np.random.Generator) -> Iterator[Case]:
        for number, case in enumerate(cases(rng)):
            case = case if exercise.clock or number % 2 == 0 else _last_rank_first(case)
            yield case if case.expected else replace(case, expected=right_ends(exercise, case))

    fields |= named_by(module) | {"cases": drawn, "mistakes": read_mistakes(mistakes)}
    fields |= {"diagnoses": (*before, told, *diagnoses)}
    exercise = Exercise(hints=tuple(hints.strip().splitlines()), **fields)
    return exercise


def _last_rank_first(case: Case) -> Case:
    """The same, with ranks that begin one after the other, the last one first."""
    return replace(case, begins_s=[LATER_S * rank for rank in reversed(range(case.world_size))])


def _begins_alike(right: Any, one: Any, came: Any, tolerance: float, alike: Callable[[Any, Any], bool]) -> bool:
    """Whether the first wrong one of a few values is a mistake's."""
    if not (_are_lists(right, one) and _are_lists(right, came)):
        return False
    pairs = enumerate(zip(right, came, strict=True))
    place = next((place for place, pair in pairs if difference(*pair, tolerance)), None)
    return place is not None and alike(one[place], came[place])


def _same(one: object, other: object, tolerance: float) -> bool:
    """Whether two results agree, also of what no exercise expects: a mistake may give anything."""
    if one is None or other is None:
        return one is other
    try:
        return difference(one, other, tolerance) is None
    except AssertionError:
        return type(one) is type(other) and bool(one == other)


def _stuck(failure: Failure) -> tuple[Any, ...]:
    """How a program failed: what two that fail alike have in common."""
    waits = {rank: (direction_of(what), what.peer) for rank, what in failure.pending.items()}
    return failure.kind, failure.cause, failure.rank, waits, failure.finished


def _in_part(
    given: Sequence[Sequence[tuple[str, str, Any]]],
    calls: Sequence[tuple[Any, ...]],
    wrong: Sequence[int],
    tolerance: float,
) -> list[list[str]]:
    """Of each wrong call, if a few values are returned, the mistakes that give the first wrong one of these."""
    found: list[list[str]] = [[] for _ in calls]
    for number in wrong:
        _, right, came = calls[number]
        if not _are_lists(right, came) or not 1 < len(right) <= MAX_VALUES:
            continue
        places = [i for i, pair in enumerate(zip(right, came, strict=True)) if not _same(*pair, tolerance)]
        for key, _, value in given[number]:
            if places and _are_lists(right, value) and _same(value[places[0]], came[places[0]], tolerance):
                found[number].append(key)
    return found


def _are_lists(one: Any, other: Any) -> bool:
    """Whether both are lists, as long as each other."""
    return all(isinstance(each, (list, tuple)) for each in (one, other)) and len(one) == len(other)


def _explains(found: list[list[str]], wrong: list[int], of_all: bool = False) -> str:
    """Of the mistakes in the first wrong call the one true of most calls, if of all or of a third of the wrong ones."""
    best = max(found[wrong[0]], key=lambda key: sum(key in each for each in found), default="")
    if of_all:
        return best if all(best in each for each in found) else ""
    return best if best and 3 * sum(best in found[number] for number in wrong) >= len(wrong) else ""


def too_slow(name: str, why: str) -> Diagnosis:
    """Why a function that is still busy when its time is over takes so long."""

    def diagnose(case: Case, outcome: Outcome) -> str | None:
        failure = outcome.failure
        if failure is None or failure.kind != "timeout":
            return None
        call = ", ".join(map(shown_argument, case.inputs[failure.call]))
        return f"{name}({call}) takes too long" + (f" ({failure.where})" if failure.where else "") + f". {why}"

    return diagnose


def given_nothing(case: Case, outcome: Outcome) -> str | None:
    """What the page's all_reduce returns, taken for the sum."""
    failure = outcome.failure
    if failure is not None:
        blamed = failure.cause in ("TypeError", "AttributeError") and "NoneType" in failure.text
        return f"{IN_PLACE}. {failure.text}" if blamed else None
    for rank, value in enumerate(outcome.values):
        if value is None:
            return (
                f"rank {rank} gave nothing (None): its `return` is missing, or gives what all_reduce gives. {IN_PLACE}"
            )
    lists = [value for value in outcome.values if isinstance(value, (list, tuple))]
    return f"None was returned. {IN_PLACE}" if any(item is None for each in lists for item in each) else None


def _shown(value: object) -> str:
    """A value as Python shows it; tensors and arrays as lists, and of what is no list either its type."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        items = list(map(_shown, value[:4] if len(value) > MAX_NUMBERS else value))
        return f"[{', '.join([*items, f'... {len(value)} in all'] if len(items) < len(value) else items)}]"
    if isinstance(value, float):
        return f"{value:.10g}"
    return _type(value) if _strange(value) else str(value) if isinstance(value, (Fraction, Decimal)) else repr(value)


def _form(value: object, right: object) -> str:
    """What to do about no value, one that is no number or list, or one that has something in it that is none."""
    if value is None:
        return "Its `return` is missing"
    items = value if isinstance(value, (list, tuple)) else [value]
    strange = [_type(each) for each in items if _strange(each)]
    wanted = "number" if isinstance(right, (int, float)) else "list"
    return f"Return a {wanted} in place of a {strange[0]}" if strange else ""


def _strange(value: object) -> bool:
    """Whether it is neither a number nor a text, a list or a tensor."""
    known = (type(None), str, int, float, Fraction, Decimal, list, tuple)
    return not isinstance(value, known) and not hasattr(value, "tolist")


def _type(value: object) -> str:
    return str(getattr(value, "type_name", type(value).__name__))
