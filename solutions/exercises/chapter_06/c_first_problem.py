"""Exercise 06c: whether a schedule can be carried out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_06.shared import MANY, TWO_DIGITS, Words, as_schedule, taken_apart, words_of
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.pipeline.schedule import Operation, ScheduleError, check_order, inputs_of
from course_lib.pipeline.schedules import one_forward_one_backward

__all__ = ["EXERCISE"]


# Cases


def schedules(rng: np.random.Generator) -> Iterator[Case]:
    """Right ones, usual and unusual, and one of each problem; then some orders drawn at random."""
    number, usual = int(rng.integers(4)), words_of(one_forward_one_backward(3, 4))
    gap = [[word for word in usual[0] if word != f"F{number}"], *usual[1:]]
    swapped = [usual[0], [f"B{number}" if word == f"B{(number + 1) % 4}" else word for word in usual[1]], usual[2]]
    crossed, forth = ["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]
    calls: list[tuple[Words, int]] = [
        (usual, 4),
        ([forth, crossed, crossed], 2),  # nobody's schedule, and yet it can be done
        ([crossed, forth], 2),
        ([["F0", "B0"], ["B0", "F0"]], 1),
        ([forth], 2),
        (gap, 4),
        ([*usual[:2], [*usual[2], f"B{number}"]], 4),
        (swapped, 4),
        ([[*crossed, "B1"], forth], 2),
        ([["F0", *forth], crossed[:-1]], 2),
    ]
    begun = [f"{kind}{each}" for each in range(MANY - 2) for kind in "FB"]
    ends = (["F10", "B10", "F11", "B11"], ["F10", "F11", "B10", "B11"])
    calls.append(([[*begun, *end] for end in ends], MANY))
    calls += [([rng.permutation(forth).tolist() for _ in range(2)], 2) for _ in range(3)]
    calls += [_drawn(rng) for _ in range(8)]
    yield Case(1, calls, [_problem(*call) for call in calls], label="what is wrong with schedules")


def _drawn(rng: np.random.Generator) -> tuple[Words, int]:
    """An order that can be carried out, as it is, or with two words in each other's place, without one, or one more."""
    micro_batches = int(rng.integers(3, 6))
    words: Words = [[] for _ in range(int(rng.integers(2, 5)))]
    left = [[f"{kind}{number}" for kind in "FB" for number in range(micro_batches)] for _ in words]
    while any(left):
        rank = int(rng.choice([rank for rank, each in enumerate(left) if each]))
        word = str(rng.choice(left[rank]))
        kind, stage = word[0], rank + (1 if word[0] == "B" else -1)
        needs_other = 0 <= stage < len(words) and word not in words[stage]
        if not needs_other and (kind == "F" or f"F{word[1:]}" in words[rank]):
            left[rank].remove(word)
            words[rank].append(word)
    mine = words[int(rng.integers(len(words)))]
    one, other = rng.choice(len(mine), 2, replace=False).tolist()
    change = str(rng.choice(["none", "exchanged", "missing", "doubled"]))
    if change == "exchanged":
        mine[one], mine[other] = mine[other], mine[one]
    elif change == "missing":
        del mine[one]
    elif change == "doubled":
        mine.append(mine[one])
    return words, micro_batches


def _problem(words: Words, micro_batches: int) -> str:
    """What is counted first, then the library's check of the order."""
    return _counted(words, micro_batches) or _order(words, micro_batches)


def _counted(words: Words, micro_batches: int) -> str:
    counts = [Counter(rank)[f"{kind}{number}"] for rank in words for kind in "FB" for number in range(micro_batches)]
    return "missing" if min(counts) == 0 else "doubled" if max(counts) > 1 else ""


def _order(words: Words, micro_batches: int) -> str:
    try:
        check_order(as_schedule(words, micro_batches))
    except ScheduleError:
        return "deadlock"
    return "ok"


# Diagnoses

Needs = Callable[[Operation, int], list[Operation]]  # (operation, stages) -> what must be done before it


def _played(words: Words, micro_batches: int, needs: Needs = inputs_of, rounds: int = 99) -> str:
    """Whether all can be done, if these were the needs, and every rank is looked at so many times."""
    ranks = [list(each) for each in as_schedule(words, micro_batches).ranks]
    done: set[Operation] = set()
    for _ in range(rounds):
        for left in ranks:
            while left and done.issuperset(needs(left[0], len(ranks))):
                done.add(left.pop(0))
    return "deadlock" if any(ranks) else "ok"


def reasons(words: Words, micro_batches: int) -> Reasons:
    call = words, micro_batches
    first, deadlock = _counted(*call), _order(*call) == "deadlock"

    def own(operation: Operation, stages: int) -> list[Operation]:
        return [each for each in inputs_of(operation, stages) if each.stage == operation.stage]

    def others(operation: Operation, stages: int) -> list[Operation]:
        return [each for each in inputs_of(operation, stages) if each.stage != operation.stage]

    yield (
        "A rank also waits for its neighbors: all ranks together must get to their ends",
        first or _played(words, micro_batches, own),
    )
    yield (
        "B needs F of the same stage, too: on the last rank nothing else holds it back",
        first or _played(words, micro_batches, others),
    )
    yield (
        "One look at each rank is not enough: what waits for a later rank can go on afterwards",
        first or _played(words, micro_batches, rounds=1),
    )
    yield (
        "What is missing or doubled is told first: a gap makes others wait, too",
        "deadlock" if deadlock else first or "ok",
    )
    problems = [_counted([rank], micro_batches) for rank in words]
    yield (
        "Missing before doubled, of the whole schedule: a later rank may miss something",
        next(filter(None, problems), _order(words, micro_batches)),
    )
    short = [[word[:2] for word in rank] for rank in words]
    yield TWO_DIGITS, first or _played(short, micro_batches)
    yield "On the last rank B waits for no other rank: nobody comes after it", first or "deadlock"
    yield from _other_reasons(*call)


def _other_reasons(words: Words, micro_batches: int) -> Reasons:
    first, order = _counted(words, micro_batches), _order(words, micro_batches)
    sizes = {len(rank) - 2 * micro_batches for rank in words}
    number = "missing" if min(sizes) < 0 else "doubled" if max(sizes) > 0 else ""
    yield (
        "As many operations as there must be, and yet one is missing and another is doubled",
        number or order,
    )
    doubled = any(count > 1 for rank in words for count in Counter(rank).values())
    yield "Missing is told before doubled, where a schedule has both", "doubled" if doubled else first or order
    numbers = [[[int(word[1:]) for word in rank if word[0] == kind] for kind in "FB"] for rank in words]
    odd = first or ("deadlock" if any(each != sorted(each) for rank in numbers for each in rank) else order)
    yield "Micro-batches may go in any order: only who waits for ever is a deadlock", odd


# The exercise

EXERCISE = function_exercise(
    id="06c",
    title="Can it be done?",
    function="first_problem",
    points=5,
    cases=schedules,
    reasons=reasons,
    before=(taken_apart,),
    hints=(
        "Missing and doubled are a matter of counting. For a deadlock you must play the schedule: who can go on?",
        "F needs F of the stage before it. B needs F of its own stage and B of the one after it. Keep a set of what is "
        "done, and a place in each rank's list.",
        "Let each rank go as far as it can; repeat that until nobody moves. If somebody is not at the end: deadlock.",
    ),
)
