"""Exercise 12f: what is left of an epoch after restarts with other numbers of ranks, and who gets it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

Runs = list[list[int]]  # ranks, steps


# Cases


def epochs(rng: np.random.Generator) -> Iterator[Case]:
    """One death and several; deaths before the first checkpoint and right at one; fewer examples left than ranks."""
    shapes: list[tuple[int, int, int, Runs, int]] = [
        (10, 1, 2, [[3, 3]], 2),
        (24, 2, 2, [[4, 1]], 3),
        (60, 2, 3, [[4, 4], [3, 6], [2, 2]], 3),
        (50, 3, 2, [[4, 3], [2, 1], [3, 2]], 1),
        (26, 2, 1, [[4, 3]], 4),
        (40, 1, 4, [[5, 7], [4, 5]], 6),
        (16, 1, 1, [[4, 4]], 3),
        (31, 2, 5, [], 4),
    ]
    calls: list[tuple] = []
    for length, batch, every, runs, ranks in shapes:
        order = rng.permutation(length).tolist() if calls else [7, 2, 5, 0, 9, 1, 4, 8, 3, 6]
        calls.append((order, batch, every, runs, ranks))
    yield Case(1, calls, [_dealt(*call) for call in calls], label="eight epochs")


def _dealt(order: list[int], batch: int, every: int, runs: Runs, ranks: int) -> list[list[int]]:
    taken = sum(steps // every * every * number * batch for number, steps in runs)
    return [order[taken + rank :: ranks] for rank in range(ranks)]


# Diagnoses


def reasons(order: list[int], batch: int, every: int, runs: Runs, ranks: int) -> Reasons:
    def after(taken: int) -> list[list[int]]:
        return [order[taken + rank :: ranks] for rank in range(ranks)]

    taken = len(order) - sum(map(len, _dealt(order, batch, every, runs, ranks)))
    kept = [(number, steps // every * every) for number, steps in runs]
    rest = order[taken:]
    trained = sum(steps * number * batch for number, steps in runs)
    yield "What was trained on after the last checkpoint is lost with the weights: it comes again", after(trained)
    yield "An epoch that has begun goes on: what is in the checkpoint does not come again", after(0)
    yield "A step takes `batch` examples on *each* rank of its run", after(sum(steps * batch for _, steps in kept))
    yield "A step takes `batch` examples on each rank", after(sum(steps * number for number, steps in kept))
    yield "A checkpoint stands for `every` steps", after(sum(steps // every * number * batch for number, steps in runs))
    reached = [sum(steps for _, steps in runs[:run]) // every * every for run in range(len(runs) + 1)]
    all_in_a_row = sum((reached[i + 1] - reached[i]) * number * batch for i, (number, _) in enumerate(runs))
    yield "Each run begins at a checkpoint, and counts its steps from there", after(all_in_a_row)
    of_now = after(sum(steps * ranks * batch for _, steps in kept))
    yield "Every run had its own number of ranks, and it was not that of now", of_now
    last = after(kept[-1][0] * kept[-1][1] * batch if runs else 0)
    yield "All runs since the epoch began count, not the last one alone", last
    stacks = [[each for at, each in enumerate(rest) if at // batch % ranks == rank] for rank in range(ranks)]
    yield "The rest is dealt one by one, like cards, whatever the batch is", stacks
    given = [hand for hand in after(taken) if hand]
    yield "Each rank of now gets a list, an empty one if nothing is left for it", given
    size = -(-len(rest) // ranks)
    blocks = [rest[rank * size : (rank + 1) * size] for rank in range(ranks)]
    yield "The rest is dealt like cards, one to each rank in turn, not in blocks", blocks
    padded, cut = rest + rest[: -len(rest) % ranks], rest[: len(rest) // ranks * ranks]
    yield "Each example once: the lists need not be equally long", [padded[rank::ranks] for rank in range(ranks)]
    yield "None may be left out: the lists need not be equally long", [cut[rank::ranks] for rank in range(ranks)]
    if runs:
        before, done = runs[-1][0], kept[-1][1] * batch
        shares = [order[rank::before][done:] for rank in range(ranks)]
        yield "The old shares of ranks that are gone go to nobody: put the rest together, and deal it anew", shares


# The exercise

EXERCISE = function_exercise(
    id="12f",
    title="The rest of the epoch",
    function="dealt",
    points=4,
    cases=epochs,
    reasons=reasons,
    hints=(
        "How many steps of a run are in its last checkpoint? And how many examples are that?",
        "steps // every * every steps, each of ranks * batch examples. Add up all runs: so many of `order` are done.",
        "rest = order[taken:], and rank r gets rest[r::ranks].",
    ),
)
