"""Exercise 07b: what a plan for a chain holds at its peak, and how much it runs again."""

from course_lib.checkpointing.chain_plans import halving, keep_nothing, revolve, segment_plan, store_segment
from course_lib.checkpointing.plan import read_plan
from course_lib.grading.exercises.chapter_07.shared import words_of
from course_lib.grading.exercises.common import function_exercise

AGAIN = "run 1, run 2, free 1, store 3, free 2, free 3, back 3, run 1, store 2, free 1, free 2, back 2"
USELESS = "run 1, run 2, free 1, run 3, free 2, store 4, free 4, back 4, run 1, run 2, free 1, free 3, store 3"


def plans(rng):
    """Plans of every kind, for values of different sizes; one holds most where it recomputes, beside a value of use
    to nobody, and one has layers of two digits."""
    yield [4, 2, 3, 1], words_of(store_segment(0, 3))
    yield [4, 2, 3, 1], words_of(read_plan(AGAIN + ", store 1, free 1, back 1"))
    yield [1, 6, 2, 3, 1], words_of(segment_plan([0, 2, 4]))
    yield [2, 5, 3, 4, 1], words_of(read_plan(USELESS + ", free 2, free 3, back 3, store 1, store 2, back 2, back 1"))
    yield [4, 8, 9, 3, 2, 6, 7, 7, 6, 7, 9, 9, 9], words_of(segment_plan([0, 5, 10, 12]))
    for plan in (store_segment(0, 4), segment_plan([0, 2, 4, 5]), halving(0, 5), revolve(5, 2), keep_nothing(0, 3)):
        length = max(int(str(action.node)) for action in plan)
        yield rng.integers(1, 30, length + 1).tolist(), words_of(plan)


MISTAKES = r"""
A value that is no longer held still lives while a stored layer needs it: store i keeps value i - 1
    held | kept -> held
A value that is held and needed by a stored layer lives once
    held | kept -> [*held, *kept]
After back i the stored layer i is gone, and needs nothing any more
    kept.remove(layer - 1) -> pass
back i frees nothing: value i - 1 lives on if it is held
    held.remove -> held.discard
    kept.remove(layer - 1) -> kept.remove(layer - 1)\n            held.discard(layer - 1)
The peak may come where a layer is run again: look there, too
    recomputed += layer in ran -> before = layer in ran\n            recomputed += before
    peak = max(peak, -> peak = peak if before else max(peak,
Value 0, the input, is held from the beginning
    {0} -> set()
    held.remove -> held.discard
Values differ in size: add up sizes[i]
    sum(sizes[value] for value in held | kept) -> len(held | kept)
A layer's first run is not recomputed, whether it is run or stored
    recomputed += layer in ran -> recomputed += 1
To store a layer runs it: a layer that ran before is recomputed then, too
    += layer in ran -> += kind == "run" and layer in ran
A layer may have a number of two digits: take all of it
    map(parts, plan) -> ((word.split()[0], int(word[-1])) for word in plan)
    .remove( -> .discard(
First the peak, then the number of recomputed layers
    [peak, recomputed] -> [recomputed, peak]
"""

EXERCISE = function_exercise(
    __name__,
    calls=plans,
    label="plans for a chain",
    mistakes=MISTAKES,
    hints="""
Keep two sets: the values that the plan holds, and the layers that are stored. Which values live?
Those that are held, and i - 1 for every stored layer i. A value that is both counts once. Look after each run and store: only these add something.
alive = held | {i - 1 for i in stored}; a layer is recomputed if `run` or `store` comes to it and it ran before.
""",
)
