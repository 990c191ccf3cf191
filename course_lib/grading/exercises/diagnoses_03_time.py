"""What goes wrong with time in chapter 3: who was kept waiting, who went too far ahead, whose read was torn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import inf
from typing import NamedTuple

from course_lib.comm.trace import Message
from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.diagnoses_03_values import name_of, readings
from course_lib.grading.exercises.rules_03 import PATIENCE_S, answers_to, gradients_of

__all__ = ["came_too_early", "held_back", "kept_waiting", "torn", "went_too_far"]


class Late(NamedTuple):
    """An answer that left later than it could have, in order of when it was due."""

    due_s: float
    rank: int
    number: int
    answer: Message
    released_by: int


def _late(case: Case, outcome: Outcome) -> Iterator[Late]:
    schedule, seen = case.about["schedule"], dict.fromkeys(range(case.world_size), 0)
    answers = {rank: list(answers_to(case, outcome.trace, rank)) for rank in range(1, case.world_size)}
    for due_s, arrival in zip(schedule.arrival_s(), schedule.arrivals, strict=True):
        for rank in arrival.answered:
            number = seen[rank]
            seen[rank] += 1
            if number < len(answers[rank]) and answers[rank][number].start_s > due_s + PATIENCE_S:
                yield Late(due_s, rank, number, answers[rank][number], arrival.worker)


def kept_waiting(case: Case, outcome: Outcome) -> str | None:
    """Somebody was answered late: because nobody listened to it, or because its answer was kept."""
    late = next(_late(case, outcome), None) if outcome.failure is None else None
    if late is None:
        return None
    gradient = list(gradients_of(case, outcome.trace, late.rank))[late.number]
    text = f"the answer to {name_of((late.rank, late.number))}"
    if gradient.start_s > late.due_s + PATIENCE_S:
        return (
            f"{text} came late: it knocked at {late.due_s:.3g} s, and the server listened at {gradient.start_s:.3g} s. "
            "Do not wait for one rank by name: recv without a source takes whoever comes first"
        )
    return (
        f"{text} could have left at {late.due_s:.3g} s and left at {late.answer.start_s:.3g} s: the gradient was "
        "there, and its worker sat idle until others had come"
    )


def came_too_early(case: Case, outcome: Outcome) -> str | None:
    """A gradient was sent before there was time to compute it."""
    if outcome.failure is not None:
        return None
    schedule = case.about["schedule"]
    gradients = {rank: list(gradients_of(case, outcome.trace, rank)) for rank in range(1, case.world_size)}
    for (rank, number), at_s in zip(schedule.pushes(), schedule.arrival_s(), strict=True):
        if number < len(gradients[rank]) and gradients[rank][number].start_s < at_s - PATIENCE_S:
            return (
                f"{name_of((rank, number))} left at {gradients[rank][number].start_s:.3g} s; to compute it takes until "
                f"{at_s:.3g} s. comm.compute(pause) comes before each push"
            )
    return None


def held_back(case: Case, outcome: Outcome) -> str | None:
    """Somebody within the slack was kept waiting."""
    late = next(_late(case, outcome), None) if outcome.failure is None else None
    if late is None:
        return None
    clocks = _clocks(case, late.due_s)
    ahead = clocks[late.rank] - min(clocks.values())
    text = f"rank {late.rank} waited from {late.due_s:.3g} s to {late.answer.start_s:.3g} s without need: it was "
    text += f"{ahead} ahead of the slowest, which slack {case.inputs[0][3]} allows"
    if late.released_by != late.rank:
        return text + f", once rank {late.released_by}'s gradient had come. Look at all who wait, whoever comes"
    return text + ". Exactly slack ahead may go on" * (ahead == case.inputs[0][3])


def _clocks(case: Case, at_s: float) -> dict[int, float]:
    """How many gradients each worker has pushed by then; those that have left are not in it."""
    schedule, made = case.about["schedule"], {rank: len(rows) for rank, rows in case.about["gradients"].items() if rank}
    clocks = dict.fromkeys(made, 0)
    for time_s, arrival in zip(schedule.arrival_s(), schedule.arrivals, strict=True):
        clocks[arrival.worker] += time_s <= at_s
    answered = {rank: sum(time_s < at_s for time_s in times) for rank, times in schedule.answer_s().items()}
    return {rank: clock for rank, clock in clocks.items() if answered[rank] < made[rank]}


def went_too_far(case: Case, outcome: Outcome) -> str | None:
    """Someone was answered before the slowest had come after."""
    if outcome.failure is not None:
        return None
    answers = {rank: list(answers_to(case, outcome.trace, rank)) for rank in range(1, case.world_size)}
    gradients = {rank: list(gradients_of(case, outcome.trace, rank)) for rank in answers}
    late = next(_late(case, outcome), None)
    for found in readings(case, outcome):
        missing = [push for push in found.right if push not in found.came]
        if found.number is None or not missing:
            continue
        answer = answers[found.rank][found.number]
        if late and late.due_s <= case.about["schedule"].answer_s()[found.rank][found.number]:
            return None  # somebody was held back before that, and everything shifted
        if answer.start_s < max(gradients[rank][number].end_s for rank, number in missing):
            at_once = all(_at_once(gradients[rank], answers[rank]) for rank in answers)
            slack, slowest = case.inputs[0][3], missing[-1][0]
            text = f"{name_of((found.rank, found.number))} was answered before {name_of(missing[-1])} had come"
            text += f": with slack {slack}, rank {found.rank} has to wait for rank {slowest} there"
            return text + (". You answer everybody at once: where is the slack?" if at_once else ". Count once more")
    return None


def _at_once(gradients: list[Message], answers: list[Message]) -> bool:
    return all(b.start_s < a.end_s + PATIENCE_S for a, b in zip(gradients, answers, strict=False))


def torn(case: Case, outcome: Outcome) -> str | None:
    """What is wrong with a row, and what its reader had asked for if it is torn."""
    if outcome.failure is not None:
        return None
    for rank in range(3, case.world_size):
        times, looks, rows = case.inputs[rank][2], case.expected[rank], outcome.values[rank]
        for (at_s, end_s), look, row in zip(pairwise([*times, inf]), looks, rows, strict=True):
            text = look(row)
            if text:
                asked = [m.dst for m in outcome.trace.messages if m.src == rank and at_s <= m.start_s < end_s]
                return f"a row of rank {rank} {text}" + f". {_how_it_asked(asked)}" * ("torn" in text)
    return None


def _how_it_asked(asked: list[int]) -> str:
    named = ", ".join(map(str, asked[:8])) + ", ..." * (len(asked) > 8)
    text = f"It asked servers {named}, in this order"
    if len(asked) == 2:
        return f"{text}: look at the two versions before you trust them"
    if asked[:4] == [0, 0, 1, 1]:
        return f"{text}: each server agrees with itself; they have to agree with each other"
    return f"{text}: what you ask for last may be newer again. Look at the versions once more"
