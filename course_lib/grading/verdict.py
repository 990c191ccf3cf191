"""From what a program did to what the student reads and gets: the same for the judge and for the notebook's check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from course_lib.comm.trace import Trace
from course_lib.grading.exercise import ANYTHING, Case, Exercise, Failure, Outcome, Part
from course_lib.grading.judge import as_plain

SHOWN = 6  # elements of a tensor in a message
SHOWN_ARGUMENTS = 8  # elements of a tensor in a call
SHOWN_NUMBERS = 20  # numbers of a list in a call
NO_ORDER = " (which has no order: sorted(...) makes a list of it)"
MORE_OF = {"coroutine": " (async def in place of def)", "set": NO_ORDER, "frozenset": NO_ORDER}  # types


@dataclass(frozen=True)
class Finding:
    """Something wrong: on which case, what, how many points it costs (None: all), and which rule it breaks."""

    case: str
    text: str
    costs: float | None = None
    kind: str = "value"

    def __str__(self) -> str:
        return f"{self.case}: {self.text}" if self.case else self.text


def findings(exercise: Exercise, case: Case, outcome: Outcome) -> list[Finding]:
    """What is wrong with this outcome of this case; empty if nothing is.

    Where something failed or a value is wrong, the first diagnosis of the exercise that has something to say speaks.
    """
    outcome = replace(outcome, values=list(map(_in_form, case.expected, outcome.values)))
    wrong = _failed(exercise, case, outcome.failure) if outcome.failure else _wrong_values(exercise, case, outcome)
    if wrong and outcome.failure:
        outcome = replace(outcome, failure=replace(outcome.failure, text=wrong))
    if wrong:
        kind = outcome.failure.kind if outcome.failure else ""
        text = _diagnosis(exercise, case, outcome) or wrong
        if kind == "timeout":  # which clock it was, and then what may be the reason
            text = f"{wrong}. {text.replace(wrong, '')}".strip(". ")
        return [Finding("" if kind in ("not attempted", "no function") else str(case), text)]
    return broken_rules(exercise, case, outcome.trace)


def broken_rules(exercise: Exercise, case: Case, trace: Trace) -> list[Finding]:
    """The rules about the wire that this trace breaks."""
    broken = [(number, rule, rule.check(case, trace)) for number, rule in enumerate(exercise.rules)]
    return [Finding(str(case), text, rule.costs, f"rule {number}") for number, rule, text in broken if text]


def _in_form(expected: Any, value: Any) -> Any:
    """A list of numbers as the tensor that is expected, and lists among expected values likewise; the rest as it is."""
    value = as_plain(value)
    if not isinstance(value, (list, tuple)):
        return value
    if isinstance(expected, (list, tuple)):
        return list(map(_in_form, expected, value)) if len(expected) == len(value) else value
    if not isinstance(expected, (Part, torch.Tensor)):
        return value
    try:
        came = torch.tensor(_plain(value), dtype=torch.float64)
        wanted = expected.values if isinstance(expected, Part) else expected
        return came if len(value) or wanted.numel() else came.reshape(wanted.shape)  # [] is also (0, 5)
    except (ArithmeticError, RuntimeError, TypeError, ValueError):
        return value


def _plain(value: Any) -> Any:
    """Lists of lists of plain numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else float(value)


def _diagnosis(exercise: Exercise, case: Case, outcome: Outcome) -> str | None:
    """What the exercise makes of it. A student's values may have any type and shape, so a diagnosis may stumble."""
    for diagnose in exercise.diagnoses:
        try:
            text = diagnose(case, outcome)
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
            continue
        if text:
            return text
    return None


def points_left(points: float, found: Sequence[Finding]) -> float:
    """What remains of the points: nothing after a fatal finding, else each rule's cost is taken once."""
    if any(finding.costs is None for finding in found):
        return 0.0
    return max(0.0, points - sum(finding.costs or 0.0 for finding in found))


def _failed(exercise: Exercise, case: Case, failure: Failure) -> str:
    """What a failure says. A function that is called without ranks is named with its arguments, not as a rank."""
    if exercise.mode == "ranks" or failure.kind not in ("exception", "timeout") or failure.call >= len(case.inputs):
        return failure.text
    return failure.text.replace("rank 0", exercise.function + _arguments(case.inputs[failure.call]), 1)


def _wrong_values(exercise: Exercise, case: Case, outcome: Outcome) -> str | None:
    who = "rank" if exercise.mode == "ranks" else "call"
    for number, (expected, value) in enumerate(zip(case.expected, outcome.values, strict=True)):
        text = difference(expected, value, exercise.tolerance)
        if text:
            name = f"rank {number}" if who == "rank" else f"{exercise.function}{_arguments(case.inputs[number])}"
            if who == "rank" and "nan" in text:
                text += "; nan is what a buffer holds until its irecv has been waited for"
            forgotten = ": its `return` is missing" if value is None and exercise.answer == "return" else ""
            return f"{name} {text}{forgotten}"
    return None


def difference(expected: Any, value: Any, tolerance: float = 0.0) -> str | None:
    """What came where something else was expected, or None if they agree.

    >>> difference(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))
    'holds [1, 5] where [1, 2] is right; the first difference is at element 1'
    >>> difference(3, 3.0) is None, difference(torch.tensor([3.0]), 3.0) is None
    (True, True)
    >>> difference(["F0", "B0"], ["F0", "B1"])
    "gave 'B1' where 'B0' is right (value 1 of those returned)"
    """
    both_numbers = type(expected) in (int, float) and type(value) in (int, float)
    if expected is ANYTHING or (both_numbers and expected == value):
        return None
    if callable(expected):
        try:
            return expected(value)
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
            return f"gave {_name(value)}, which has not the right form"
    if isinstance(expected, (list, tuple)):
        return _list_difference(expected, value, tolerance)
    if isinstance(expected, str):
        came_text = repr(value) if isinstance(value, str) else _name(value)
        return None if value == expected else f"gave {came_text} where {expected!r} is right"
    came = as_number_or_tensor(value)
    if came is None:
        return f"gave {_name(value)} where {_what(expected)} is right"
    if isinstance(expected, bool) and came.numel() == 1 and came.item() != expected:
        return f"gave {value if isinstance(value, bool) else came.item()} where {expected} is right"
    if isinstance(expected, Part):
        expected, came = expected.values, came.reshape(-1)[expected.start : expected.start + expected.values.numel()]
    wanted = as_number_or_tensor(expected)
    assert wanted is not None, f"an exercise expects {expected!r}, which is neither a tensor nor a number"
    if wanted.numel() == came.numel() == 1 and not (wanted.dim() and came.dim()):
        came = came.reshape(wanted.shape)  # one element is a number, and a number is one element
    if came.shape != wanted.shape:
        return f"holds a tensor of shape {tuple(came.shape)}, expected was {tuple(wanted.shape)}"
    return _element_difference(wanted, came, tolerance)


def _list_difference(expected: Sequence[Any], value: Any, tolerance: float) -> str | None:
    items = _items(value)
    if items is None:
        return f"gave {_name(value)} where {len(expected)} values are right"
    if len(items) != len(expected):
        came = f"{len(items)} values" if isinstance(value, (list, tuple)) else f"a tensor of shape {tuple(value.shape)}"
        return f"gave {came} where {len(expected)} {'values ' if came[:1] == 'a' else ''}are right"
    for number, (one, other) in enumerate(zip(expected, items, strict=True)):
        text = difference(one, other, tolerance)
        if text:
            return f"{text} (value {number} of those returned)"
    return None


def _items(value: Any) -> list[Any] | None:
    """The values in a list, a tuple, or the rows of a tensor or array; None if it is nothing of that."""
    if isinstance(value, (list, tuple)) or (isinstance(value, (torch.Tensor, np.ndarray)) and value.ndim):
        return list(value)
    return None


def _apart(wanted: torch.Tensor, came: torch.Tensor, tolerance: float) -> torch.Tensor:
    """Where two tensors differ: only infinity is near infinity, and what is not a number is near nothing."""
    near = wanted.isfinite() & ((wanted - came).abs() <= tolerance * wanted.abs())
    return ~(near | (wanted == came))


def _element_difference(wanted: torch.Tensor, came: torch.Tensor, tolerance: float) -> str | None:
    left, right = wanted.double().reshape(-1), came.double().reshape(-1)
    off = _apart(left, right, tolerance)
    if not off.any():
        return None
    if not wanted.dim():
        return f"gave {right.item():.10g} where {left.item():.10g} is right"
    first = int(off.nonzero()[0])
    start = max(0, min(first - SHOWN // 2, len(left) - SHOWN))
    place = f"; the first difference is at element {first}"
    return f"holds {_show(right, start)} where {_show(left, start)} is right{place}"


def _show(flat: torch.Tensor, start: int) -> str:
    numbers = ", ".join(_number(number) for number in flat[start : start + SHOWN].tolist())
    return f"[{'..., ' if start > 0 else ''}{numbers}{', ...' if start + SHOWN < len(flat) else ''}]"


def _number(number: float) -> str:
    """Whole numbers in full, others to six digits.

    >>> _number(4194304.0), _number(1 / 3), _number(float("nan"))
    ('4194304', '0.333333', 'nan')
    """
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else f"{number:g}"


def as_number_or_tensor(value: Any) -> torch.Tensor | None:
    """The value as a real tensor, or None if it is neither tensor, array nor number."""
    try:
        if isinstance(value, (int, float, Fraction, Decimal)):
            return torch.tensor(float(value), dtype=torch.float64)
        tensor = torch.as_tensor(value) if not isinstance(value, (str, list, tuple, type(None))) else None
        if tensor is None or tensor.is_complex():
            return None
        tensor.double()  # can its elements be read?
        return tensor.detach()
    except (OverflowError, TypeError, ValueError, RuntimeError):  # a whole number may be larger than any float
        return None


def _what(expected: Any) -> str:
    if isinstance(expected, (Part, torch.Tensor)):
        values = expected.values if isinstance(expected, Part) else expected
        return _show(values.double().reshape(-1), 0) if values.dim() else f"{values.item():.10g}"
    is_number = isinstance(expected, (int, float)) and not isinstance(expected, bool)
    return f"{expected:.10g}" if is_number else str(expected)


def _name(value: Any) -> str:
    name = "nothing (None)" if value is None else str(getattr(value, "type_name", type(value).__name__))
    return name + MORE_OF.get(name, "")


def _arguments(arguments: Sequence[Any]) -> str:
    return "(" + ", ".join(shown_argument(each) for each in arguments) + ")"


def shown_argument(value: Any) -> str:
    """An argument as a message names it: a tensor by its size, unless it is a short row; of many numbers the first few.

    >>> shown_argument([torch.ones(1, 2, 3), torch.ones(2)])
    '[tensor of 1 × 2 × 3, tensor([1, 1])]'
    >>> shown_argument([[7, 8], list(range(300))])
    '[[7, 8], [0, 1, 2, 3, ... 300 in all]]'
    """
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, (torch.Tensor, list, tuple)) for item in value):
            return f"[{', '.join(map(shown_argument, value))}]"
        if len(value) > SHOWN_NUMBERS:
            return f"[{', '.join(map(repr, value[:4]))}, ... {len(value)} in all]"
    if not isinstance(value, torch.Tensor):
        return f"{value!r}"
    if value.dim() == 1 and value.numel() <= SHOWN_ARGUMENTS:
        return f"tensor([{', '.join(f'{number:g}' for number in value.tolist())}])"
    size = f"{value.numel()} elements" if value.dim() < 2 else " × ".join(map(str, value.shape))
    return f"tensor of {size}"


def flat_differences(case: Case, values: Sequence[Any], tolerance: float = 0.0) -> Iterator[torch.Tensor]:
    """For each rank its result minus the expected one, as one flat tensor (empty where it is not looked at).

    What is within the tolerance counts as equal.
    """
    for expected, value in zip(case.expected, map(_in_form, case.expected, values), strict=True):
        yield torch.cat([torch.zeros(0, dtype=torch.float64), *_flat_difference(expected, value, tolerance)])


def _flat_difference(expected: Any, value: Any, tolerance: float) -> Iterator[torch.Tensor]:
    if isinstance(expected, (list, tuple)):
        for one, other in zip(expected, _items(value) or [], strict=False):
            yield from _flat_difference(one, other, tolerance)
        return
    came = as_number_or_tensor(value)
    if came is None or expected is ANYTHING or callable(expected):
        return
    came = came.double().reshape(-1)
    if isinstance(expected, Part):
        came, expected = came[expected.start : expected.start + expected.values.numel()], expected.values
    wanted = as_number_or_tensor(expected)
    if wanted is not None and came.numel() == wanted.numel():
        right = wanted.double().reshape(-1)
        yield torch.where((came - right).abs() <= tolerance * right.abs(), 0.0, came - right)
