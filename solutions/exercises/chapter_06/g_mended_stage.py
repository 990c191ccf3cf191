"""Exercise 06g: a stage whose backward passes use the newest weight, to be mended."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_06.shared import MANY, TWO_DIGITS, taken_apart, words_of
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.pipeline.schedules import one_forward_one_backward

__all__ = ["EXERCISE"]


# Cases


def stages(rng: np.random.Generator) -> Iterator[Case]:
    """A weight, the order of the passes, and for each micro-batch its x and the gradient of its y."""
    calls: list[tuple[int, list[str], list[int], list[int]]] = [
        (10, ["F0", "F1", "F2", "B0", "F3", "B1", "B2", "B3"], [1, 2, 3, 4], [1, 3, 2, 1]),
        (5, ["F0", "B0", "F1", "B1"], [1, 2], [3, 4]),
    ]
    xs, y_grads = ((1 + rng.permutation(8)[:3]).tolist() for _ in range(2))
    calls.append((int(rng.integers(10, 50)), ["F1", "F0", "B0", "F2", "B2", "B1"], xs, y_grads))
    for behind, number in ((2, 4), (3, 6), (4, MANY)):
        order = words_of(one_forward_one_backward(behind, number))[0]
        draws = (rng.integers(1, 9, number).tolist() for _ in range(2))
        calls.append((int(rng.integers(-50, 50)), order, *draws))
    yield Case(1, calls, [_run(*call) for call in calls], label="a stage that stashes its weights")


def _run(
    weight: int, order: list[str], xs: list[int], y_grads: list[int], used: str = "stashed", updated: str = "newest"
) -> list:
    """[ys, x_grads, weight] if B uses this weight, and the update begins with that one."""
    first = before = latest = weight
    ys, x_grads, stash, total = [], [], dict[int, int](), 0
    under_way = list[int]()
    for word in order:
        number = int(word[1:])
        if word[0] == "F":
            stash[number] = latest = weight
            under_way.append(weight)
            ys.append(weight * xs[number])
            continue
        versions = {"stashed": stash[number], "newest": weight, "first": first, "latest": latest, "before": before}
        versions["in turn"] = under_way.pop(0 if used == "in turn" else -1)
        step = xs[number] * y_grads[number]
        x_grads.append(versions[used] * y_grads[number])
        before, total = weight, total + step
        if updated != "end":
            weight = {"newest": weight, "stashed": stash[number]}[updated] - step
    return [ys, x_grads, weight - total * (updated == "end")]


def _numbered(order: list[str], ys: list[int], x_grads: list[int]) -> list[list[int]]:
    """Both lists in the order of the micro-batches' numbers."""
    numbers = ([int(word[1:]) for word in order if word[0] == kind] for kind in "FB")
    return [
        [value for _, value in sorted(zip(each, values, strict=True))]
        for each, values in zip(numbers, (ys, x_grads), strict=True)
    ]


# Diagnoses


def reasons(weight: int, order: list[str], xs: list[int], y_grads: list[int]) -> Reasons:
    call = weight, order, xs, y_grads
    yield "That is what it gave before: B uses the newest weight, F used an older one", _run(*call, used="newest")
    yield "Not every micro-batch saw the first weight: keep the one of its own F", _run(*call, used="first")
    yield "One place is not enough: the next F overwrites what B still needs", _run(*call, used="latest")
    yield "B must not go one version back, but to that of its F: that may be several", _run(*call, used="before")
    yield (
        "The update begins with the newest weight; begun with the stashed one, it loses the updates in between",
        _run(*call, updated="stashed"),
    )
    in_turn = _run(*call, used="in turn")
    yield "Micro-batches may come back in another order: keep the weight by the micro-batch's number", in_turn
    ys, x_grads, last = _run(*call)
    yield (
        "ys stand in the order of the F and x_grads in that of the B, not by number",
        [*_numbered(order, ys, x_grads), last],
    )
    yield TWO_DIGITS, _run(weight, [word[:2] for word in order], xs, y_grads)
    yield "ys come first, then x_grads", [x_grads, ys, last]
    yield "Updates are not put off to the end: then there are no versions", _run(*call, updated="end")


# The exercise

EXERCISE = function_exercise(
    id="06g",
    title="Find the bug",
    function="mended_stage",
    points=4,
    cases=stages,
    reasons=reasons,
    before=(taken_apart,),
    hints=(
        "Follow micro-batch 1 in the example: which weight was in its F, and which one is there at its B?",
        "At its F every micro-batch must put away the weight that it saw; several are under way at once.",
        "stash[number] = weight in F; x_grads.append(stash.pop(number) * y_grads[number]) in B; the update as it is.",
    ),
)
