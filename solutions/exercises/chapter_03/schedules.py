"""Who pushes when in chapter 3, written as a row of letters, and what every rank must hold in the end.

In "a b b a" worker a's first gradient arrives first, then two of worker b's, then a's second. A letter stands for the
answer, too: "a: b:ba" says that a waits for its answer until b's gradient has come. Which rank is a, which b, is drawn
anew each time, so the same row always gives messages of the same sizes in the same order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from course_lib.grading.exercise import WIDE, Case, whole_numbers

__all__ = ["Arrival", "Held", "Push", "Schedule", "case_of", "ranks_of", "waiting_row"]

Push = tuple[int, int]  # rank, and which of its gradients, from 0
Held = dict[Push, float]  # how much of each gradient has been subtracted from the parameters
RUSH_S = 2e-7  # first gradients come closer together than a message takes


class Arrival(NamedTuple):
    """A gradient reaches the server: whose, whose answers leave because of it, and whether it counts."""

    worker: int
    answered: tuple[int, ...]
    taken: bool = True


@dataclass(frozen=True)
class Schedule:
    """What happens, gradient by gradient, among `workers` ranks (1 to `workers`).

    `updates` is the number after which answers are stop signs; None: there are none. `pauses` has for each arrival the
    seconds without any after it, beyond the usual one.
    """

    workers: int
    arrivals: tuple[Arrival, ...]
    updates: int | None = None
    pauses: tuple[int, ...] = ()

    def pushes(self) -> list[Push]:
        """Each gradient in order of arrival."""
        made: Counter[int] = Counter()
        pushes = []
        for worker, _, _ in self.arrivals:
            pushes.append((worker, made[worker]))
            made[worker] += 1
        return pushes

    def held(self, weights: Iterable[float] | None = None) -> tuple[Held, dict[int, list[Held]]]:
        """Which gradients are in the last parameters, and in each of every worker's answers."""
        now: Held = {}
        waiting: Held = {}
        answers: dict[int, list[Held]] = {worker: [] for worker in range(1, self.workers + 1)}
        version = 0
        weights = weights or [1.0] * len(self.arrivals)
        for push, arrival, weight in zip(self.pushes(), self.arrivals, weights, strict=True):
            if arrival.taken:
                waiting[push] = weight
            if arrival.taken and arrival.answered:
                now, waiting, version = {**now, **waiting}, {}, version + 1
            if version != self.updates:
                for worker in arrival.answered:
                    answers[worker].append(now)
        return {**now, **waiting}, answers

    def staleness(self) -> list[int]:
        """For each arrival, how many updates the server made since that worker's last answer."""
        seen: Counter[int] = Counter()
        values = []
        for version, arrival in enumerate(self.arrivals):
            values.append(version - seen[arrival.worker])
            seen[arrival.worker] = version + 1
        return values

    def arrival_s(self) -> list[float]:
        """One a second, but those at the start that are all somebody's first: nearly at once."""
        times: list[float] = []
        seen: set[int] = set()
        rush = True
        for number, arrival in enumerate(self.arrivals):
            rush = rush and arrival.worker not in seen
            seen.add(arrival.worker)
            times.append(1 + number * RUSH_S if rush else 1.0 + number + sum(self.pauses[:number]))
        return times

    def answer_s(self) -> dict[int, list[float]]:
        """When each worker gets its answers."""
        times: dict[int, list[float]] = {worker: [] for worker in range(1, self.workers + 1)}
        for at_s, arrival in zip(self.arrival_s(), self.arrivals, strict=True):
            for worker in arrival.answered:
                times[worker].append(at_s)
        return times


def seconds_of(schedule: Schedule) -> dict[int, list[float]]:
    """How long each worker computes each of its gradients, so that they arrive as planned."""
    began: dict[int, float] = dict.fromkeys(range(1, schedule.workers + 1), 0.0)
    seconds: dict[int, list[float]] = {worker: [] for worker in began}
    for at_s, (worker, answered, _) in zip(schedule.arrival_s(), schedule.arrivals, strict=True):
        seconds[worker].append(at_s - began[worker])
        began.update(dict.fromkeys(answered, at_s))
    return seconds


def waiting_row(row: str, workers: int, rng: np.random.Generator) -> Schedule:
    """The schedule of "a b: ... a:ba!": a letter alone is answered itself, at once; a dot is a second in between, and
    after "!" the next one comes at once, without any."""
    ranks = ranks_of(workers, rng)
    arrivals: list[Arrival] = []
    pauses: list[int] = []
    for word in re.findall(r"[.!]|\w:?\w*", row):
        if word in ".!":
            pauses[-1] += 1 if word == "." else -1
            continue
        worker, colon, answered = word.partition(":")
        arrivals.append(Arrival(ranks[worker], tuple(ranks[other] for other in (answered if colon else worker))))
        pauses.append(0)
    return Schedule(workers, tuple(arrivals), pauses=tuple(pauses))


def ranks_of(workers: int, rng: np.random.Generator) -> dict[str, int]:
    return dict(zip("abcdefgh", (int(rank) + 1 for rank in rng.permutation(workers)), strict=False))


def case_of(
    schedule: Schedule,
    length: int,
    rng: np.random.Generator,
    *,
    perturb: int = 0,
    extra: tuple = (),
    weights: list[float] | None = None,
    multiple: int = 1,
    most: int = WIDE,
    spare: int = 0,
    label: str = "",
) -> Case:
    """A case in which rank 0 serves: every rank begins with the same parameters, workers with gradients and times.

    Rank 0 is to give the last parameters, each worker a list of those it was answered with.

    Args:
        extra: arguments after (parameters, gradients, seconds), the same on every rank.
        weights: how much of each arriving gradient is to be subtracted.
        multiple: gradients are whole multiples of it.
        most: the largest number of the parameters, and of the gradients before that.
        spare: so many more gradients for each worker, which it should not come to.
    """
    initial = whole_numbers(rng, length, most=most)
    seconds = seconds_of(schedule)
    gradients = {0: torch.zeros(0, length)}
    for worker, times in seconds.items():
        rows = [multiple * whole_numbers(rng, length, most=most) for _ in range(len(times) + spare)]
        gradients[worker] = torch.stack(rows) if rows else torch.zeros(0, length)
        times += [1000.0] * spare
    last, answers = schedule.held(weights)
    held = [[last], *answers.values()]
    rows_of = [[_without(initial, gradients, each) for each in rank] for rank in held]
    about: dict[str, Any] = {"schedule": schedule, "held": held, "gradients": gradients}
    return Case(
        schedule.workers + 1,
        [(initial.clone(), gradients[rank], seconds.get(rank, []), *extra) for rank in range(schedule.workers + 1)],
        [rows_of[0][0], *rows_of[1:]],
        perturb,
        f"world_size {schedule.workers + 1}, {length} elements" + f", {label}" * bool(label),
        about,
    )


def _without(initial: torch.Tensor, gradients: dict[int, torch.Tensor], held: Held) -> torch.Tensor:
    """The parameters less these gradients."""
    parameters = initial.clone()
    for (worker, number), weight in held.items():
        parameters -= weight * gradients[worker][number]
    return parameters
