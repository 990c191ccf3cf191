"""Exercise 07e: a plan for residual blocks, whose sums need nothing to go back."""

from collections import Counter

from course_lib.checkpointing.plan import Node
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_07.shared import within
from course_lib.grading.exercises.common import function_exercise


def networks(rng):
    """How many blocks; what a plan may take grows by one value and five runs a block."""
    calls = [(3,), (1,), (2,), *((int(blocks),) for blocks in rng.integers(4, 20, 3))]
    limits = [within(_graph(blocks), blocks + 3, 5 * blocks - 2, _explain) for (blocks,) in calls]
    yield Case(1, calls, limits, label="plans for residual blocks")


def _graph(blocks):
    """Block i: layers ia and ib, and the sum i of value i - 1 and value ib."""
    graph = {0: Node()}
    for i in range(1, blocks + 1):
        first, second = f"{i}a", f"{i}b"
        graph |= {first: Node((i - 1,), (i - 1,)), second: Node((first,), (first,)), i: Node((i - 1, second))}
    return graph


def _explain(moments):
    """What a plan does that takes too much."""
    blocks = max(int(str(moment.action.node).rstrip("ab")) for moment in moments)
    again = Counter(str(moment.action.node) for moment in moments if moment.again)
    if not again:
        return "That runs everything once: keep only what lies between blocks, and recompute what lies inside"
    if max(again.values()) > 1:
        node, times = again.most_common(1)[0]
        return f"{node} is run {times + 1} times: keep the value between two blocks until the block behind it is done"
    sums = [node for node in again if node.isdecimal()]
    if sums:
        return (
            f"The sum {sums[0]} is run again, and need not be: its way back needs no value at all, so storing it keeps "
            "nothing. Store it the first time"
        )
    if f"{blocks}a" in again:
        return f"Block {blocks} goes back first: store its layers at once, instead of running them twice"
    if not any(moment.action.kind == "free" for moment in moments):
        return "Nothing is freed"
    return "Which of the values that are held are not needed any more?"


MISTAKES = r"""
... Which of the values that are held
    f"free {i}a", f"store {i}" -> f"store {i}"
... keep the value between two blocks
    answer from_the_input
... That runs everything once
    range(1, blocks) -> range(1, blocks + 1)
    [f"run {i}a", f"run {i}b", f"free {i}a", f"store {i}", f"free {i}b"] -> [f"store {i}a", f"store {i}b", f"store {i}", f"free {i - 1}", f"free {i}a", f"free {i}b"]
    plan += [f"store {i}a", f"store {i}b"] -> pass
    i == blocks -> False
    f"free {i - 1}", f"free {i}a", f"free {i}b", f"back {i}", -> f"back {i}",
... goes back first: store its layers at once
    range(1, blocks) -> range(1, blocks + 1)
    [f"store {i}a", f"store {i}b"] -> [f"free {i}", f"store {i}a", f"store {i}b"]
    i == blocks -> False
    [f"free {i - 1}", -> [
... is not held
    f"run {i}b", f"free {i}a" -> f"free {i - 1}", f"run {i}b", f"free {i}a"
... which takes its value, was not propagated back yet
    f"back {i}", f"back {i}b", f"back {i}a" -> f"back {i}b", f"back {i}a", f"back {i}"
... is run again, and need not be
    f"store {i}", f"free {i}b" -> f"run {i}", f"free {i}b"
    i == blocks -> True
... what it needs is not stored
    f"store {i}", f"free {i}b" -> f"run {i}", f"free {i}b"
"""

EXERCISE = function_exercise(
    __name__,
    cases=networks,
    mistakes=MISTAKES,
    hints="""
Inside a block two values live side by side, between two blocks there is one: keep those. In which of three steps is something stored: the first way through a block, the second way, the way back?
Storing a sum keeps nothing, so store it on the first way: then only a and b are run again. The last block needs no first way: its layers are stored at once.
Block i for the first time: run ia, run ib, free ia, store i, free ib. Back through it: store ia, free i - 1, store ib, free ia, free ib, back i, back ib, back ia. In the last block the sum comes in between, and it needs value i - 1 held.
""",
)
