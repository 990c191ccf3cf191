"""Which other reckoning gives the numbers of a step that came: for the exercise on the seconds of overlap."""

from __future__ import annotations

from itertools import accumulate

from course_lib.grading.exercise import Case, Outcome

__all__ = ["wrong_seconds"]


def wrong_seconds(case: Case, outcome: Outcome) -> str | None:
    """Which other reckoning of a step the numbers belong to."""
    if outcome.failure is not None:
        return None
    for call, expected, came in zip(case.inputs, case.expected, outcome.values, strict=True):
        if len(came) != 2:
            return f"step_seconds returns two numbers, without overlap and with it; yours gave {len(came)}"
        for name, right, value, others in zip(("without", "with"), expected, came, _other_seconds(*call), strict=True):
            if abs(value - right) <= 1e-9 * right:
                continue
            if abs(came[0] - expected[1]) + abs(came[1] - expected[0]) <= 1e-9 * sum(expected):
                return f"step_seconds{call} gave {came[0]:g}, {came[1]:g}: first without overlap, then with it"
            reason = next((text for text, number in others if abs(value - number) <= 1e-9 * max(number, 1)), "")
            where = f"step_seconds{call} {name} overlap"
            return f"{where} gave {value:g}, {right:g} is right" + f": {reason}" * bool(reason)
    return None


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
