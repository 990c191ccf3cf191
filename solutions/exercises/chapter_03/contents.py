"""What is in the parameters that somebody got in chapter 3: whose gradients are missing, too early, or count wrongly.

Every gradient is a row of random numbers, so the parameters can be taken apart: `held_by` says which gradients have
been subtracted from them, and how often. The other functions take a case and its outcome, and give a text or None.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.chapter_03.schedules import Held, Push

__all__ = ["name_of", "readings", "wrong_contents"]

EPSILON = 1e-3


def held_by(case: Case, value: torch.Tensor) -> Held | None:
    """How much of each gradient was subtracted from the initial parameters; None if `value` is something else."""
    gradients: dict[int, torch.Tensor] = case.about["gradients"]
    pushes = [(rank, number) for rank, rows in gradients.items() for number in range(len(rows))]
    if len(pushes) >= value.numel() or not value.isfinite().all():
        return None  # of what is no number LAPACK would print its complaint, past Python
    rows = torch.stack([gradients[rank][number] for rank, number in pushes], dim=1).double()
    missing = (case.tensor - value).double()
    amounts = torch.linalg.lstsq(rows, missing.unsqueeze(1)).solution
    if not torch.allclose(rows @ amounts, missing.unsqueeze(1), atol=0.05):
        return None
    found = zip(pushes, amounts.reshape(-1).tolist(), strict=True)
    return {push: round(amount, 4) for push, amount in found if abs(amount) > EPSILON}


class Found(NamedTuple):
    """Parameters that are not as they should be: where they were, what is in them, and what belongs in."""

    rank: int
    number: int | None  # of the answer; None: what the server ended with
    came: Held
    right: Held

    def __str__(self) -> str:
        if self.number is None:
            return "the server ends with parameters"
        return f"the answer to gradient {self.number} of rank {self.rank} shows parameters"


def readings(case: Case, outcome: Outcome) -> Iterator[Found]:
    """What is wrong: the answers in order of arrival first, the server's last parameters after them."""
    if outcome.failure is not None:
        return
    held = case.about["held"]
    seen: dict[int, int] = {}
    for arrival in case.about["schedule"].arrivals:
        for rank in arrival.answered:
            number = seen[rank] = seen.get(rank, -1) + 1
            answers = outcome.values[rank] if number < len(held[rank]) else []
            came = held_by(case, answers[number]) if number < len(answers) else None
            if came is not None and came != held[rank][number]:
                yield Found(rank, number, came, held[rank][number])
    last = outcome.values[0]
    last = last[0] if isinstance(last, list | tuple) else last
    came = held_by(case, last)
    if came is not None and came != held[0][0]:
        yield Found(0, None, came, held[0][0])


def wrong_contents(case: Case, outcome: Outcome) -> str | None:
    """Whose gradient is missing, too early, or counted wrongly."""
    for found in readings(case, outcome):
        came, right = found.came, found.right
        scaled = [push for push in right if push in came and came[push] != right[push]]
        missing = [push for push in right if push not in came]
        early = [push for push in came if push not in right]
        if scaled:
            amount, wanted = came[scaled[0]], right[scaled[0]]
            if amount == -wanted:
                return f"{found} to which {name_of(scaled[0])} was added: a step goes against the gradient, so subtract"
            return f"{found} in which {name_of(scaled[0])} was subtracted {amount:g} times; {wanted:g} is right"
        if (found.rank, found.number) in missing:
            return f"{found} without that gradient: apply it first, answer then"
        if missing and early:
            return f"{found} with {name_of(early[0])} in place of {name_of(missing[0])}, which had come earlier"
        if missing:
            return f"{found} without {name_of(missing[0])}, which had come before: it is lost, or still waits"
        if early:
            return f"{found} with {name_of(early[0])}, which should not be in it yet: the server kept somebody waiting"
    return None


def name_of(push: Push) -> str:
    return f"gradient {push[1]} of rank {push[0]}"
