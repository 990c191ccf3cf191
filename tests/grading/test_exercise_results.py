"""What holds for the results of every exercise: what is no number is wrong, and a table of results is no answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import inf, isfinite, isnan, nan
from typing import Any

import numpy as np
import pytest
import torch
from exercise_answers import RIGHT, WRONG, function_of

from course_lib.comm.trace import Trace
from course_lib.grading.exercise import ANYTHING, Case, Exercise, Outcome, Part
from course_lib.grading.exercises import chapters, exercises_of, find
from course_lib.grading.rehearsal.cases import run_case
from course_lib.grading.rehearsal.check import _stand_ins
from course_lib.grading.sandbox.frames import MAX_VALUES
from course_lib.grading.verdict import difference, findings

IDS = [exercise.id for chapter in chapters() for exercise in exercises_of(chapter)]
DRAWS, FEW_DRAWS = 30, 4  # in which a mistake must keep its words
BY_CHANCE = ["05e-mistake_5", "06e-mistake_8"]  # which a draw could hide in some of the calls
MAX_PLACES = 4  # of a result behind its first two, in each of which a number is spoiled


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(answer, id=str(answer), marks=[pytest.mark.exhaustive] * (str(answer) not in BY_CHANCE))
        for answer in WRONG
        if answer.exercise.mode == "function"
    ],
)
def test_a_mistake_is_named_whatever_is_drawn(answer):
    exercise, function = answer.exercise, function_of(answer)
    for seed in range(DRAWS if str(answer) in BY_CHANCE else FEW_DRAWS):
        said = []
        for case in exercise.cases(np.random.default_rng(seed)):
            with _stand_ins(exercise, function) as judged:
                said += findings(exercise, case, run_case(exercise, case, judged))
        assert answer.words in " | ".join(map(str, said)), f"seed {seed}"


@pytest.mark.parametrize("exercise_id", IDS)
def test_no_result_with_a_number_that_is_none_is_right(exercise_id):
    exercise = find(exercise_id)
    for case in exercise.cases(np.random.default_rng(7)):
        pairs = list(zip(case.expected, _right_results(exercise, case), strict=True))
        judged = [pair for pair in pairs if _has_a_judge(pair[0])]
        for (right, came), bad in product(judged or pairs[:3], (nan, inf, -inf)):
            if right is ANYTHING:
                continue
            assert difference(right, came, exercise.tolerance) is None
            for spoiled in _spoiled(came, bad):
                assert difference(right, spoiled, exercise.tolerance), f"{case}: {spoiled} was taken for {came}"


@pytest.mark.parametrize("exercise_id", [name for name in IDS if find(name).mode == "ranks"])
def test_what_is_said_of_numbers_that_are_none_prints_nothing(exercise_id, capfd):
    # `course grade --json` writes its table to the same place.
    exercise = find(exercise_id)
    for case in exercise.cases(np.random.default_rng(7)):
        results = _right_results(exercise, case)
        values = [_with(each, nan, list(_places(each))) for each in results]
        if any(list(_places(each)) for each in results):
            assert findings(exercise, case, Outcome(values, Trace(case.world_size, [])))
    assert capfd.readouterr() == ("", "")


# 01h asks for an input, and any will do. A policy of 07d or a plan of 07e is judged by what it does.
TABLES = [name for name in IDS if find(name).mode == "function" and name not in ("01h", "07d", "07e")]


@pytest.mark.parametrize(
    ("drawn", "fresh"), [(12, 0), pytest.param(1000, 50, marks=[pytest.mark.exhaustive, pytest.mark.timeout(600)])]
)
@pytest.mark.parametrize("exercise_id", TABLES)
def test_a_table_of_the_results_of_other_draws_is_no_answer(exercise_id, drawn, fresh):
    # A table of few draws knows what is drawn out of few values; that of a thousand, what is drawn out of hundreds.
    calls = [_calls(find(exercise_id), seed) for seed in range(drawn + fresh)]
    known = Counter(call for each in calls[:drawn] for call in each)
    unknown = [sum(known[call] <= (not fresh) for call in each) for each in calls[drawn:] or calls]
    assert min(unknown) > 0


@pytest.mark.parametrize("exercise_id", TABLES)
def test_what_a_function_returns_fits_into_a_frame_with_room_to_spare(exercise_id):
    for seed in range(3):
        for case in find(exercise_id).cases(np.random.default_rng(seed)):
            assert _values(list(case.expected)) < 0.8 * MAX_VALUES


def _calls(exercise: Exercise, seed: int) -> set[str]:
    """What a table would look up: the arguments of every call of a draw."""
    cases = exercise.cases(np.random.default_rng(seed))
    return {repr([_readable(each) for each in call]) for case in cases for call in case.inputs}


def _readable(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), value.numpy().tobytes())
    return list(map(_readable, value)) if isinstance(value, (list, tuple)) else value


def _values(value: Any) -> int:
    """How many values a frame would have for this."""
    return 1 + sum(map(_values, value)) if isinstance(value, (list, tuple)) else 1


def _right_results(exercise: Exercise, case: Case) -> list[Any]:
    """What is expected; where that is judged by a function, what a right answer gives."""
    if not any(_has_a_judge(each) for each in case.expected):
        return [_in_full(each) for each in case.expected]
    names = {exercise.function: function_of(next(each for each in RIGHT if each.exercise_id == exercise.id))}
    exec(exercise.stand_ins, names)
    return run_case(exercise, case, names[exercise.function]).values


def _has_a_judge(expected: Any) -> bool:
    if isinstance(expected, (list, tuple)):
        return any(map(_has_a_judge, expected))
    return callable(expected)


def _in_full(expected: Any) -> Any:
    """A tensor that has the expected part where it belongs."""
    if not isinstance(expected, Part):
        return expected
    return torch.cat([expected.values.new_full((expected.start,), nan), expected.values])


def _spoiled(value: Any, bad: float) -> Iterator[Any]:
    """The same with this in place of all numbers, and of one number, at one place after the other."""
    places = list(_places(value))
    chosen = [*places[:2], *places[2 :: len(places) // MAX_PLACES + 1]] if isnan(bad) else []
    if places:
        yield _with(value, bad, places)
    for place in chosen:
        yield _with(value, bad, [place])


def _places(value: Any, place: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Where its finite numbers are; of a tensor the first of them and the last."""
    if isinstance(value, torch.Tensor):
        finite = value.reshape(-1).isfinite().nonzero().reshape(-1).tolist()
        yield from sorted({(*place, number) for number in finite[:1] + finite[-1:]})
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _places(item, (*place, number))
    elif isinstance(value, (int, float)) and isfinite(value):
        yield place


def _with(value: Any, bad: float, places: list[tuple[int, ...]]) -> Any:
    if isinstance(value, torch.Tensor):
        spoiled = value.double().reshape(-1).clone()
        spoiled[[place[0] for place in places]] = bad
        return spoiled.reshape(value.shape)
    if not isinstance(value, (list, tuple)):
        return bad
    inside = {number: [place[1:] for place in places if place[0] == number] for number in range(len(value))}
    return [_with(item, bad, inside[number]) if inside[number] else item for number, item in enumerate(value)]
