"""Exercise 01j: the seconds of a step with and without overlap, by calculation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from course_lib.grading.exercise import Case, Exercise, Outcome

__all__ = ["EXERCISE"]

TOLERANCE = 1e-6  # seconds in float32 are right, too


# Cases


def timed_steps(rng: np.random.Generator) -> Iterator[Case]:
    """Seconds of the backward pass and of the exchange, layer by layer; the wire takes one exchange at a time."""
    fixed = [([4.0, 1.0, 3.0], [2.0, 7.0, 3.0]), ([5.0], [2.0]), ([1.0, 2.0, 4.0], [8.0, 1.0, 1.0])]
    fixed.append(([1.0, 9.0, 1.0, 1.0], [2.0, 1.0, 1.0, 9.0]))  # the wire is late by two, and then it waits
    drawn = [(rng.integers(1, 20, n).tolist(), rng.integers(1, 20, n).tolist()) for n in (4, 7, 12)]
    calls = fixed + [([float(b) for b in back], [float(e) for e in wire]) for back, wire in drawn]
    yield Case(1, calls, [_step_seconds(*call) for call in calls], label="the seconds of a step")


def _step_seconds(backward_s: list[float], exchange_s: list[float]) -> list[float]:
    """Event by event: whenever the wire is free, it takes the next gradient that is ready."""
    ready = list(accumulate(reversed(backward_s)))
    wire_free_s = 0.0
    for ready_s, seconds in zip(ready, reversed(exchange_s), strict=True):
        wire_free_s = max(wire_free_s, ready_s) + seconds
    return [ready[-1] + sum(exchange_s), wire_free_s]


# Diagnoses


def wrong_seconds(case: Case, outcome: Outcome) -> str | None:
    """Which other reckoning of a step the numbers belong to."""
    if outcome.failure is not None:
        return None
    carried = 0.0  # what the call before gave
    for call, expected, came in zip(case.inputs, case.expected, outcome.values, strict=True):
        if len(came) != 2:
            return f"step_seconds returns two numbers, without overlap and with it; yours gave {len(came)}"
        came = [float(value) for value in came]
        backward_s, exchange_s = call
        reasons = _others(backward_s, exchange_s, carried)
        for name, right, value, others in zip(("without", "with"), expected, came, reasons, strict=True):
            if abs(value - right) <= TOLERANCE * right:
                continue
            if abs(came[0] - expected[1]) + abs(came[1] - expected[0]) <= TOLERANCE * sum(expected):
                return f"step_seconds{call} gave {came[0]:g}, {came[1]:g}: first without overlap, then with it"
            reason = next((text for text, number in others if abs(value - number) <= TOLERANCE * max(number, 1)), "")
            where = f"step_seconds{call} {name} overlap"
            return f"{where} gave {value:g}, {right:g} is right" + f": {reason}" * bool(reason)
        carried = came[1]
    return None


def _others(backward_s: list[float], exchange_s: list[float], carried_s: float) -> tuple[list, list]:
    """(reason, seconds) of plausible mistakes without overlap, and with it; the call before ended at `carried_s`."""
    plain, overlapped = _other_seconds(backward_s, exchange_s)
    compute, wire = sum(backward_s), sum(exchange_s)
    clocks = {"all": _overlapped(backward_s, exchange_s), "no first layer": 0.0, "no last layer": 0.0}
    if len(backward_s) > 1:
        clocks["no first layer"] = _overlapped(backward_s[1:], exchange_s[1:])
        clocks["no last layer"] = _overlapped(backward_s[:-1], exchange_s[:-1])
    neighbors = sum(max(pair) for pair in zip(backward_s, exchange_s[1:], strict=False))
    more = [
        ("that is what overlap saves; asked for are the seconds with it", compute + wire - clocks["all"]),
        ("layer 0 is missing, its exchange comes last", clocks["no first layer"]),
        ("the last layer is missing, with which the backward pass begins", clocks["no last layer"]),
        (
            "with you a layer waits for the exchange before it, and no longer; the wire may be late by several",
            backward_s[-1] + neighbors + exchange_s[0],
        ),
        (
            "a clock of yours lives on from the call before, a global or a default argument",
            _overlapped(backward_s, exchange_s, carried_s),
        ),
    ]
    return plain, overlapped + more


def _overlapped(backward_s: list[float], exchange_s: list[float], free_s: float = 0.0) -> float:
    """When the wire is done, if it was busy until `free_s`."""
    for ready_s, seconds in zip(accumulate(reversed(backward_s)), reversed(exchange_s), strict=True):
        free_s = max(free_s, ready_s) + seconds
    return free_s


def _other_seconds(backward_s: list[float], exchange_s: list[float]) -> tuple[list, list]:
    """(reason, seconds) of plausible mistakes without overlap, and with it."""
    compute, wire = sum(backward_s), sum(exchange_s)
    forward_order, free = 0.0, 0.0
    for ready_s, seconds in zip(accumulate(backward_s), exchange_s, strict=True):
        forward_order = max(forward_order, ready_s) + seconds
    ready = list(accumulate(reversed(backward_s)))
    alone = max(r + e for r, e in zip(ready, reversed(exchange_s), strict=True))
    for back, seconds in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        free += max(back, seconds)
    plain = [
        ("that is with overlap at its best; here the wire waits for the backward pass", max(compute, wire)),
        ("the exchanges come on top", compute),
        ("only one exchange is in it, and the wire takes one after the other", compute + max(exchange_s)),
    ]
    overlapped = [
        ("that is the longer of the two, but the wire has nothing to do before the first gradient", max(compute, wire)),
        ("that is the backward pass and the last exchange; the wire may still be busy", compute + exchange_s[0]),
        ("the lists run from the first layer to the last, the backward pass from the last to the first", forward_order),
        ("the wire takes one exchange at a time, yours run beside each other", alone),
        ("the wire in yours never waits for a gradient, once it has the first", backward_s[-1] + wire),
        ("a layer's exchange overlaps with its own backward pass in yours; it starts after that", free),
        ("nothing overlaps in that", compute + wire),
    ]
    return plain, overlapped


# The exercise

EXERCISE = Exercise(
    id="01j",
    title="What overlap buys",
    function="step_seconds",
    points=3,
    cases=timed_steps,
    mode="function",
    answer="return",
    tolerance=TOLERANCE,
    diagnoses=(wrong_seconds,),
    hints=(
        "Draw two rows, compute and wire, and go through the layers in the order of the backward pass: the last first.",
        "An exchange starts when two things are true: its gradient is ready, and the wire is free.",
        "Keep two clocks: ready += backward of this layer; free = max(free, ready) + exchange of this layer.",
    ),
)
