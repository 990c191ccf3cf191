"""Exercise 07d: recursive halving, as a plan."""

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_07.shared import chain, within
from course_lib.grading.exercises.common import function_exercise


def lengths(rng):
    """Layers: powers of two, and others. Whatever takes no more than halving is right."""
    calls = [(4,), (1,), (2,), (3,), (16,), *((int(length),) for length in rng.integers(5, 48, 4))]
    yield Case(
        1, calls, [within(chain(n), *_limits(n), _explain, tidy=True) for (n,) in calls], label="plans by halving"
    )


def _limits(layers):
    """(values, runs) of halving, wherever the middle of an odd number is."""
    return _peak(layers), layers + _again(layers)


def _peak(layers):
    """Beside the value to start from, that of each half on the way down, and at the end a layer's own."""
    return 2 + (layers - 1).bit_length()


def _again(layers):
    """To come to the middle, about half of the layers are run; rounded up, so that either middle is within."""
    if layers == 1:
        return 0
    down, up = layers // 2, layers - layers // 2
    return up + _again(down) + _again(up)


def _explain(moments):
    """What a plan does that takes too much."""
    layers = max(int(str(moment.action.node)) for moment in moments)
    kept = max(len(moment.stored) for moment in moments)
    if kept == layers and not any(moment.again for moment in moments):
        return "That keeps everything: one layer is stored at a time, right before it goes back"
    starts = [moment for moment in moments if moment.action.kind == "run" and moment.action.node == 1]
    if len(starts) >= layers - 1 > 2:
        return "That begins at the input for every layer: keep the value in the middle while its half goes back"
    if kept > 1:
        return "That stores a whole segment at once: split it again, down to one layer"
    if not any(moment.action.kind == "free" for moment in moments):
        return "Nothing is freed: let go of what was run on the way to the middle, and of what is not needed again"
    return "Which of the values that are held are not needed any more?"


MISTAKES = r"""
... which takes its value, was not propagated back yet
    between(middle, end) + between(start, middle) -> between(start, middle) + between(middle, end)
... That begins at the input for every layer
    (start + end) // 2 -> end - 1
... is not held
    layer - 1 > start -> layer > start
... That keeps everything
    return between(0, layers) -> plan = []\n    for layer in range(1, layers + 1):\n        plan += [f"store {layer}", f"free {layer - 1}"]\n    return plan + [f"back {layer}" for layer in range(layers, 0, -1)]
... Nothing is freed
    f"free {start}", f"free {end}", ->
    plan.append(f"free {layer - 1}") -> pass
... Which of the values that are held are not needed
    f"free {end}", ->
... what it needs is not stored
    f"store {end}" -> f"run {end}"
... That stores a whole segment at once
    end - start == 1 -> end - start <= (layers + 1) // 2
    [f"store {end}", f"free {start}", f"free {end}", f"back {end}"] -> [f"{kind} {i - (kind == 'free')}" for i in range(start + 1, end + 1) for kind in ("store", "free")] + [f"free {end}"] + [f"back {i}" for i in range(end, start, -1)]
... and takes it no more
    f"free {start}", -> *[f"free {start}"] * (start != layers // 2),
"""

EXERCISE = function_exercise(
    id="07d",
    title="Halving",
    function="halving_plan",
    points=4,
    cases=lengths,
    mistakes=MISTAKES,
    hints="""
Write a function for the layers from `start` to `end`, which begins with value `start` held. What is its plan for one layer? What does it do for more, before it calls itself twice?
One layer: store it, free its input and its output, go back. More: run from start to the middle and free all in between; then the second half, then the first.
One layer: ["store end", "free start", "free end", "back end"]. Freeing the start there is right: nobody needs it any more, for all that lies behind it is done.
""",
)
