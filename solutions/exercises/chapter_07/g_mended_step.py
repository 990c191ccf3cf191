"""Exercise 07g: blocks with dropout, recomputed with other masks; to be mended."""

import torch

from course_lib.grading.exercises.common import function_exercise
from course_lib.grading.exercises.counted import counting, judges_counter, judges_watch
from course_lib.grading.exercises.mistakes import by_call, right_results
from course_lib.grading.verdict import difference


def steps(rng):
    """Whole numbers, a seed, and how many blocks; in the first call no two mistakes give the same."""
    for blocks in (2, 1, 3, 5):
        x = torch.from_numpy(rng.integers(1, 9, 6)).float()
        seeds = iter(rng.integers(1, 10**6, 1000).tolist())
        yield x, next(seed for seed in seeds if blocks != 2 or _tells_apart(x, seed, blocks)), blocks


def _tells_apart(*call):
    """Whether a value shows which mistake it comes from, if from any."""
    found = {str(right_results(EXERCISE, [call])[0][1:]): ""}
    return all(found.setdefault(str(value[1:]), text) == text for text, _, value in by_call(EXERCISE, call))


def judged_masks(answer):
    """The same step, or words if it drew masks once only, kept several blocks for their way back, or went back
    without the masks that it drew last: once more, those are empty."""

    def with_empty_masks(x, seed, blocks, first):
        drawn = []

        def seen(operator, args, result):
            if operator.overloadpacket.__name__.removesuffix("_") == "bernoulli":
                drawn.append(None)
                if len(drawn) > first:
                    result.zero_()

        with judges_watch(seen):
            return answer(x, seed, blocks)

    def on_the_way_back(came, x, seed, blocks, count):
        """Whether the gradient depends on what is drawn when y is done; with one block, on what is drawn last."""
        if bool((came[1] == 1).all()):  # as without dropout, which is told as that
            return True
        for first in range(1, count):
            other = with_empty_masks(x, seed, blocks, first)
            if blocks == 1 or bool((other[0] == came[0]).all()):
                return not bool((other[1] == came[1]).all())
        return False

    def step(x, seed, blocks):
        with judges_counter("bernoulli") as masks:
            came = answer(x, seed, blocks)
        if len(masks.alive) < 2 * blocks:
            return f"draws {len(masks.alive)} masks"
        most = max(masks.alive)
        if most > 2:
            return f"keeps {most} masks at once"
        try:
            used = on_the_way_back(came, x, seed, blocks, len(masks.alive))
        except Exception:  # what came is no list of three tensors
            return came
        return came if used else "goes back without the masks that it draws when y is there"

    return step


def another_network(case, outcome):
    """An output that seed and blocks do not give."""
    if outcome.failure is not None:
        return None
    for (_, seed, blocks), right, came in zip(case.inputs, case.expected, outcome.values, strict=True):
        if isinstance(came, (list, tuple)) and len(came) == 3 and difference(right[0], came[0]):
            return (
                f"mended_step with seed {seed} and {blocks} blocks gives another y than the colleague's step: on the "
                "way forward nothing was wrong. Set the seed once, and let only the blocks draw"
            )
    return None


def kept_a_graph(case, outcome):
    """The given block refuses gradients of a run that is the only one, and the judge counts masks."""
    if outcome.failure is not None:
        told = outcome.failure.text if "ran only once" in outcome.failure.text else ""
    else:
        texts = zip(case.inputs, outcome.values, strict=True)
        told = next((f"with {call[2]} blocks it {came}" for call, came in texts if isinstance(came, str)), "")
    return told and (
        "without recomputing there are no two masks, but then autograd keeps everything. Run the blocks forward under "
        f"torch.no_grad(), and each of them again on the way back: {told}"
    )


MISTAKES = r"""
That is what it gave before: a block that runs again draws another mask
    torch.set_rng_state(state) ->
or
    torch.set_rng_state(state) ->
    torch.set_rng_state(after) ->
With the seed once more every block gets the first one's mask
    torch.set_rng_state(state) -> torch.manual_seed(seed)
or
    torch.set_rng_state(state) -> torch.manual_seed(seed)
    torch.set_rng_state(after) ->
Each block has a state of its own: one place for all keeps only the last
    torch.set_rng_state(state) -> torch.set_rng_state(inputs[-1][1])
or
    torch.set_rng_state(state) -> torch.set_rng_state(inputs[-1][1])
    torch.set_rng_state(after) ->
Keep the state before the block draws, not after
    inputs.append((x, torch.get_rng_state()))\n            x = block(x) -> y = block(x)\n            inputs.append((x, torch.get_rng_state()))\n            x = y
or
    inputs.append((x, torch.get_rng_state()))\n            x = block(x) -> y = block(x)\n            inputs.append((x, torch.get_rng_state()))\n            x = y
    torch.set_rng_state(after) ->
Blocks go back in reverse, so take their states in reverse, too
    for x, state in reversed(inputs) -> for (x, _), (_, state) in zip(reversed(inputs), inputs, strict=True)
or
    for x, state in reversed(inputs) -> for (x, _), (_, state) in zip(reversed(inputs), inputs, strict=True)
    torch.set_rng_state(after) ->
The gradient is right. But the numbers drawn afterwards repeat old ones: put the state back to where it was
    torch.set_rng_state(after) ->
or
    after = torch.get_rng_state() -> after = inputs[0][1]
That is the gradient without dropout: it must pass the same masks
    [y, gradient, -> [y, torch.ones_like(x),
... Set the seed once
    inputs.append( -> torch.manual_seed(seed + len(inputs))\n            inputs.append(
... without recomputing there are no two masks
    torch.manual_seed(seed)\n -> torch.manual_seed(seed)\n    x = y = x.clone().requires_grad_()\n    for _ in range(blocks):\n        y = block(y)\n    y.sum().backward()\n    return [y, x.grad, torch.rand(1)]\n
or
    torch.manual_seed(seed)\n -> torch.manual_seed(seed)\n    x = y = x.clone().requires_grad_()\n    for _ in range(blocks):\n        y = y.roll(1) + torch.nn.functional.dropout(y, 0.5)\n    y.sum().backward()\n    return [y, x.grad, torch.rand(1)]\n
or
    torch.manual_seed(seed)\n -> torch.manual_seed(seed)\n    x = y = x.clone().requires_grad_()\n    for _ in range(blocks):\n        state = torch.get_rng_state()\n        with torch.no_grad():\n            block(y)\n        torch.set_rng_state(state)\n        y = block(y)\n    y.sum().backward()\n    return [y, x.grad, torch.rand(1)]\n
or
    answer masks_copied
"""

EXERCISE = function_exercise(
    __name__,
    calls=steps,
    label="steps of blocks with dropout",
    mistakes=MISTAKES,
    before=(kept_a_graph, another_network),
    stand_ins=counting(judged_masks, "mended_step"),
    hints="""
A block draws its mask when it runs. Which mask does it draw when it runs again?
torch.get_rng_state() before a block runs for the first time; torch.set_rng_state(...) before it runs again.
Keep (x, torch.get_rng_state()) for each block. Before the way back begins, note the state too, and set it again at the end: torch.random.fork_rng() around the way back does the same.
""",
)
