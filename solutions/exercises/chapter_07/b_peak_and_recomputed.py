"""Exercise 07b: what a plan for a chain holds at its peak, and how much it runs again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.checkpointing.binomial import revolve
from course_lib.checkpointing.plan import plan_cost, plan_peak, read_plan
from course_lib.checkpointing.plans import halving, keep_nothing, segment_plan, store_segment
from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.exercises.chapter_07.shared import chain, words_of
from course_lib.grading.exercises.common import other_call

__all__ = ["EXERCISE"]


# Cases


def plans(rng: np.random.Generator) -> Iterator[Case]:
    """Plans of every kind, for values of different sizes; one holds most where it recomputes, beside a value of use
    to nobody, and one has layers of two digits."""
    again = "run 1, run 2, free 1, store 3, free 2, free 3, back 3, run 1, store 2, free 1, free 2, back 2"
    useless = "run 1, run 2, free 1, run 3, free 2, store 4, free 4, back 4, run 1, run 2, free 1, free 3, store 3"
    written: list[tuple[list[int], list[str]]] = [
        ([4, 2, 3, 1], words_of(store_segment(0, 3))),
        ([4, 2, 3, 1], words_of(read_plan(again + ", store 1, free 1, back 1"))),
        ([1, 6, 2, 3, 1], words_of(segment_plan([0, 2, 4]))),
        ([2, 5, 3, 4, 1], words_of(read_plan(useless + ", free 2, free 3, back 3, store 1, store 2, back 2, back 1"))),
        ([4, 8, 9, 3, 2, 6, 7, 7, 6, 7, 9, 9, 9], words_of(segment_plan([0, 5, 10, 12]))),
    ]
    drawn = (store_segment(0, 4), segment_plan([0, 2, 4, 5]), halving(0, 5), revolve(5, 2), keep_nothing(0, 3))
    for plan in drawn:
        length = max(int(str(action.node)) for action in plan)
        written.append((rng.integers(1, 30, length + 1).tolist(), words_of(plan)))
    yield Case(1, written, [_counts(*call) for call in written], label="plans for a chain")


def _counts(sizes: list[int], words: list[str]) -> list[int]:
    plan, graph = read_plan(", ".join(words)), chain(len(sizes) - 1, sizes)
    return [plan_peak(plan, graph), int(plan_cost(plan, graph)) - len(sizes) + 1]


# Diagnoses


def _slip(
    sizes: list[int],
    words: list[str],
    *,
    stored: bool = True,
    twice: bool = False,
    back: bool = True,
    given: bool = True,
    frees: bool = False,
    first: bool = False,
) -> int:
    """The peak, if something of what counts was left out or counted twice."""
    held: set[int] = {0} if given else set()
    needed: set[int] = set()
    ran: set[int] = set()
    peak = 0
    for kind, node in ((word.split()[0], int(word.split()[1])) for word in words):
        held |= {node} if kind in ("run", "store") else set()
        needed |= {node - 1} if kind == "store" and stored else set()
        now = [*held, *needed] if twice else held | needed
        if not (first and node in ran):
            peak = max(peak, sum(sizes[each] for each in now))
        ran |= {node} if kind in ("run", "store") else set()
        held -= {node} if kind == "free" else set()
        needed -= {node - 1} if kind == "back" and back else set()
        held -= {node - 1} if kind == "back" and frees else set()
    return peak


def reasons(sizes: list[int], words: list[str]) -> Iterator[tuple[str, object]]:
    peak, recomputed = _counts(sizes, words)
    call, runs = (sizes, words), [word for word in words if word[0] in "rs"]
    yield (
        "A value that is no longer held still lives while a stored layer needs it: store i keeps value i - 1",
        [_slip(*call, stored=False), recomputed],
    )
    yield "A value that is held and needed by a stored layer lives once", [_slip(*call, twice=True), recomputed]
    yield "After back i the stored layer i is gone, and needs nothing any more", [_slip(*call, back=False), recomputed]
    yield "back i frees nothing: value i - 1 lives on if it is held", [_slip(*call, frees=True), recomputed]
    yield "The peak may come where a layer is run again: look there, too", [_slip(*call, first=True), recomputed]
    yield "Value 0, the input, is held from the beginning", [_slip(*call, given=False), recomputed]
    yield "Values differ in size: add up sizes[i]", [_slip([1] * len(sizes), words), recomputed]
    yield "A layer's first run is not recomputed, whether it is run or stored", [peak, len(runs)]
    run = [word for word in words if word[0] == "r"]
    yield "To store a layer runs it: a layer that ran before is recomputed then, too", [peak, len(run) - len(set(run))]
    short = [f"{word.split()[0]} {word[-1]}" for word in words]
    again = len(runs) - len({word[-1] for word in runs})
    yield "A layer may have a number of two digits: take all of it", [_slip(sizes, short), again]
    yield "First the peak, then the number of recomputed layers", [recomputed, peak]


# The exercise

EXERCISE = Exercise(
    id="07b",
    title="The peak of a plan",
    function="peak_and_recomputed",
    points=4,
    cases=plans,
    mode="function",
    answer="return",
    diagnoses=(other_call("peak_and_recomputed", reasons),),
    hints=(
        "Keep two sets: the values that the plan holds, and the layers that are stored. Which values live?",
        "Those that are held, and i - 1 for every stored layer i. A value that is both counts once. Look after each "
        "run and store: only these add something.",
        "alive = held | {i - 1 for i in stored}; a layer is recomputed if `run` or `store` comes to it and it ran "
        "before.",
    ),
)
