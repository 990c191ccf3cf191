"""Exercise 12g: a training that comes back in the middle of an epoch and goes on in another order, to be mended."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases


def trainings(rng: np.random.Generator) -> Iterator[Case]:
    """Lives that end in the first epoch and in later ones, at a checkpoint, after it, before the first, at an end."""
    calls: list[tuple[int, int, int, list[int]]] = [(4, 1, 2, [3, 6]), (4, 1, 2, [7, 4]), (5, 1, 3, [8])]
    for length, every, lives in ((6, 2, [5, 4]), (7, 3, [2, 10, 8, 9]), (5, 5, [11, 7]), (6, 4, [13, 9, 6])):
        calls.append((length, int(rng.integers(1, 10_000)), every, lives))
    yield Case(1, calls, [_slip(*call) for call in calls], label="seven trainings")


# Diagnoses

FIRST = "in mid-epoch the generator has drawn its order already. Save its state of before the shuffle"
SECOND = "an epoch shuffles what the one before has shuffled, and after a restart there is none. Shuffle 0, 1, 2, ..."
LATE = "save the state from which its order is drawn, and that is there only then"


def reasons(length: int, seed: int, every: int, lives: list[int]) -> Reasons:
    call = length, seed, every, lives
    unmended = _slip(*call, early=False, fresh=False)
    yield "That is what it gave before. Which orders does the generator draw after a restart?", unmended
    yield f"The second mistake is still there: {SECOND}", _slip(*call, fresh=False)
    yield f"The first mistake is still there: {FIRST}", _slip(*call, early=False)
    yield f"A checkpoint at the end of an epoch belongs to the next one: {LATE}", _slip(*call, late=True)
    unstopped = _slip(length, seed, every, [sum(lives)])
    yield "That is the training that never dies: what follows a checkpoint is trained on again", unstopped
    yield "After a restart the epoch goes on behind what was taken of it", _slip(*call, begins=True)
    yield "Seeding anew gives the first epoch's order in every life", _slip(*call, seeds=True)
    carried = _slip(*call, early=False, fresh=False, carries=True)
    yield "Saving the order mends it, too, but shuffled is then not 0, 1, 2, ..., as it was asked for", carried


def _slip(
    length: int,
    seed: int,
    every: int,
    lives: list[int],
    *,
    early: bool = True,
    fresh: bool = True,
    begins: bool = False,
    seeds: bool = False,
    carries: bool = False,
    late: bool = False,
) -> list[int]:
    """The examples in the order of training, or with one mistake (two: as the page gives it)."""
    generator, examples, order = random.Random(seed), list[int](), list[int]()
    first = generator.getstate()
    saved = first, 0, order
    for steps in lives:
        generator.setstate(first if seeds else saved[0])
        taken, order = saved[1] - (saved[1] % length if begins else 0), list(saved[2])
        before = generator.getstate()
        if not carries or not order:
            order = list(range(length))
            generator.shuffle(order)
        for _ in range(steps):
            examples.append(order[taken % length])
            taken += 1
            old = before
            if taken % length == 0:
                before = generator.getstate()
                order = list(range(length)) if fresh else order
                generator.shuffle(order)
            if taken % every == 0:
                kept = old if late else before
                saved = kept if early else generator.getstate(), taken, list(order)
    return examples


# The exercise

EXERCISE = function_exercise(
    id="12g",
    title="Find the bugs",
    function="mended_examples",
    points=3,
    cases=trainings,
    reasons=reasons,
    hints=(
        "Print the order whenever it is drawn. Which epoch's is the one that the second life draws first?",
        "The state to save is the one from which this epoch's order was drawn. And what is shuffled in the second "
        "epoch, before a restart and after one?",
        "Before each shuffle: before = generator.getstate(); order = list(range(length)). Save before and taken.",
    ),
)
