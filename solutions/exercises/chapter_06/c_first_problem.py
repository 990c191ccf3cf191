"""Exercise 06c: whether a schedule can be carried out."""

from course_lib.grading.exercises.chapter_06.shared import MANY, TWO_DIGITS, drawn_order, taken_apart, words_of
from course_lib.grading.exercises.common import function_exercise
from course_lib.pipeline.schedules import one_forward_one_backward


def schedules(rng):
    """Right ones, usual and unusual, and one of each problem; then some orders drawn at random."""
    number, usual = int(rng.integers(4)), words_of(one_forward_one_backward(3, 4))
    swapped = [f"B{number}" if word == f"B{(number + 1) % 4}" else word for word in usual[1]]
    crossed, forth = ["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]
    yield usual, 4
    yield [forth, crossed, crossed], 2  # nobody's schedule, and yet it can be done
    yield [crossed, forth], 2
    yield [["F0", "B0"], ["B0", "F0"]], 1
    yield [forth], 2
    yield [[word for word in usual[0] if word != f"F{number}"], *usual[1:]], 4
    yield [*usual[:2], [*usual[2], f"B{number}"]], 4
    yield [usual[0], swapped, usual[2]], 4
    yield [[*crossed, "B1"], forth], 2
    yield [["F0", *forth], crossed[:-1]], 2
    begun = [f"{kind}{each}" for each in range(MANY - 2) for kind in "FB"]
    yield [[*begun, "F10", "B10", "F11", "B11"], [*begun, "F10", "F11", "B10", "B11"]], MANY
    for _ in range(3):
        yield [rng.permutation(forth).tolist() for _ in range(2)], 2
    for _ in range(8):
        yield _drawn(rng)


def _drawn(rng):
    """An order that can be carried out, as it is, or with two words in each other's place, without one, or one more."""
    micro_batches = int(rng.integers(3, 6))
    words = drawn_order(rng, int(rng.integers(2, 5)), micro_batches)
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


MISTAKES = rf"""
A rank also waits for its neighbors: all ranks together must get to their ends
    0 <= neighbor < len(schedule) -> False
B needs F of the same stage, too: on the last rank nothing else holds it back
    if kind == "B" else set() -> if False else set()
One look at each rank is not enough: what waits for a later rank can go on afterwards
    moved = True -> moved = False
What is missing or doubled is told first: a gap makes others wait, too
    wanted = -> first, wanted = "ok",
    return "missing"\n    if -> first = "missing"\n    elif
    return "doubled" -> first = "doubled"
    "ok" if -> first if
Missing before doubled, of the whole schedule: a later rank may miss something
    if any(set(words) != wanted for words in schedule):\n        return "missing" -> for words in schedule:\n        if set(words) != wanted:\n            return "missing"\n        if len(words) != len(wanted):\n            return "doubled"
{TWO_DIGITS}
    parts(words[place[rank]]) -> words[place[rank]][:2]
    done.add((rank, words[place[rank]])) -> done.add((rank, kind + number))
or
    parts(words[place[rank]]) -> words[place[rank]]
On the last rank B waits for no other rank: nobody comes after it
    neighbor < len(schedule) -> neighbor
As many operations as there must be, and yet one is missing and another is doubled
    set(words) != wanted -> len(words) < len(wanted)
Missing is told before doubled, where a schedule has both
    return "missing" -> return "doubled" if any(len(set(words)) < len(words) for words in schedule) else "missing"
Micro-batches may go in any order: only who waits for ever is a deadlock
    done, place -> numbers = range(micro_batches)\n    done, place
    return "ok" if all( -> in_order = all([w for w in words if w[0] == kind] == [f"{{kind}}{{i}}" for i in numbers] for words in schedule for kind in "FB")\n    return "ok" if in_order and all(
"""

EXERCISE = function_exercise(
    __name__,
    calls=schedules,
    label="what is wrong with schedules",
    before=(taken_apart,),
    mistakes=MISTAKES,
    hints="""
Missing and doubled are a matter of counting. For a deadlock you must play the schedule: who can go on?
F needs F of the stage before it. B needs F of its own stage and B of the one after it. Keep a set of what is done, and a place in each rank's list.
Let each rank go as far as it can; repeat that until nobody moves. If somebody is not at the end: deadlock.
""",
)
