"""Exercise 07h: a layer that is used twice leaves after its first gradient, and ranks drift apart; to be mended."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from course_lib.comm.trace import Trace
from course_lib.grading import rules
from course_lib.grading.exercise import NUMBERS, Case, Rule, whole_numbers
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.diagnoses import alone, deadlocked, global_collective, no_such_method

# Which layer is used, in the order of the forward pass; ranks.
NETWORKS = (((0, 1), 1), ((0, 1, 0), 3), ((0, 1, 2, 1, 1, 0), 2), ((2, 0, 2, 1, 0, 0), 4))


def uses_of_layers(rng: np.random.Generator) -> Iterator[Case]:
    """Gradients of each use on each rank; what is right is what the solution ends with."""
    for number, (layers, world_size) in enumerate(NETWORKS):
        lengths = [3 + 2 * layer for layer in range(max(layers) + 1)]
        inputs = [([(n, whole_numbers(rng, lengths[n]).abs()) for n in layers],) for _ in range(world_size)]
        often = Counter(layers)
        label = f"world_size {world_size}, layers used {', '.join(str(often[n]) for n in sorted(often))} times"
        about = {"layers": len(lengths), "elements": sum(lengths)}
        yield Case(world_size, inputs, [], int(number > 1), label, about)


def one_for_each_layer(case: Case, trace: Trace) -> str | None:
    """At most an all-reduce for each layer: in steps like those through one rank, in bytes like each with each."""
    others = case.world_size - 1
    steps, most_bytes = 2 * others * case.about["layers"], 8 * case.world_size * others * case.about["elements"]
    if trace.steps <= steps and trace.total_bytes <= most_bytes:
        return None
    return (
        f"{trace.steps} steps and {trace.total_bytes} bytes on the wire, {steps} and {most_bytes} are plenty: the numbers "
        "are right, but a layer that is used more than once leaves more than once. Let it leave with its last use"
    )


MISTAKES = r"""
lets a layer leave with its first gradient still; what comes later is this rank's own
    to_come[layer] -= 1 -> to_come[layer] = 0 if to_come[layer] > 0 else -1
holds the sum over ranks of a layer; asked for is the mean
    gradient /= comm.world_size -> pass
waits for two gradients; a layer may be used once, twice or more often. Count its uses
    Counter(layer for layer, _ in uses) -> Counter(2 * [layer for layer in {layer for layer, _ in uses}])
divides a layer once for each time that it is used
    if to_come[layer] == 0: -> gradient /= comm.world_size\n        if to_come[layer] == 0:
    all_reduce(comm, gradient)\n            gradient /= comm.world_size -> all_reduce(comm, gradient)
holds a layer's mean of its uses; a layer's gradient is their sum
    to_come = Counter(layer for layer, _ in uses) -> to_come = Counter(layer for layer, _ in uses)\n    often = Counter(to_come)
    gradient /= comm.world_size -> gradient /= comm.world_size * often[layer]
holds the gradient of a layer's last use alone; those of its other uses belong to it, too
    answer first_gradient_only
[2] ... Let it leave with its last use
    if to_come[layer] == 0: -> if True:
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=uses_of_layers,
    dtypes=NUMBERS,
    rules=(
        rules.max_messages(lambda case: 12 * case.world_size * (case.world_size - 1) * case.about["layers"]),
        Rule(one_for_each_layer, 1),
    ),
    mistakes=MISTAKES,
    diagnoses=(global_collective, no_such_method, alone, deadlocked),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-5,
    hints="""
How often is a layer told that it is ready? The last time is the one that counts.
uses says before the way back begins how often each layer will come: Counter(layer for layer, _ in uses).
""",
)
