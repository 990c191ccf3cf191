"""Revolve: the fewest forward runs for a chain of equal layers and a number of slots, in closed form and as a plan.

A slot holds one value; the input has one of them. Storing is put off until the gradient is there (a stored layer may
weigh far more than its value), so every layer is stored once, right before its gradient passes.
"""

from __future__ import annotations

from math import comb

from course_lib.checkpointing.plan import Action
from course_lib.checkpointing.plans import advance, keep_nothing

__all__ = ["revolve", "revolve_closed_form", "revolve_split"]


def revolve_closed_form(length: int, slots: int) -> int:
    """The fewest runs, beside the one in which each layer is stored: r·l - C(c + r, r - 1).

    r is the smallest with C(c + r, r) ≥ l: no layer is then run more than r times before it is stored.

    Source: A. Griewank and A. Walther, "Algorithm 799: Revolve", ACM TOMS 26(1), 2000.

    >>> revolve_closed_form(100, 5)
    316
    """
    r = _max_runs(length, slots)
    return r * length - comb(slots + r, r - 1) if r else 0


def _max_runs(length: int, slots: int) -> int:
    if length < 1 or slots < 1:
        raise ValueError(f"there must be a layer and a slot, got {length} and {slots}")
    r = 0
    while comb(slots + r, r) < length:
        r += 1
    return r


def revolve_split(length: int, slots: int) -> int:
    """How many layers on the next value is kept, for two slots or more."""
    r = _max_runs(length, slots)
    least = comb(slots + r - 2, slots) if r > 1 else 1
    return max(1, least, length - comb(slots - 1 + r, r))


def revolve(length: int, slots: int) -> list[Action]:
    """The plan with the fewest runs that holds no more than `slots` values to start from.

    Beside these live the value that a run gives and, behind the last slot, the one that it takes.

    Cost: length + revolve_closed_form(length, slots) forward runs.
    """
    _max_runs(length, slots)
    return _revolve(0, length, slots)


def _revolve(start: int, end: int, slots: int) -> list[Action]:
    if end - start == 1 or slots == 1:
        return keep_nothing(start, end)
    middle = start + revolve_split(end - start, slots)
    return advance(start, middle) + _revolve(middle, end, slots - 1) + _revolve(start, middle, slots)
