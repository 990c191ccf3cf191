"""Exercise 01b: the mean over all examples, of a gradient or an accuracy, of parts unequally long, some of them empty."""

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import NUMBERS, Case, whole_numbers
from course_lib.grading.exercises.chapter_01.shared import (
    FAILURES,
    PERTURBED,
    all_reduces,
    not_a_number,
    some_messages,
    words_of,
)
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.verdict import difference

# Examples of each rank: no sum is a power of two, so that 16 bits do not give the right quotient by luck.
UNEVEN = ((1,), (3, 4), (2, 1, 4), (1, 4, 2, 6), (6, 0, 1), (0, 5, 1))
LENGTHS = (5, 8, 40, 67, 33, 1)


def averaged_gradients(rng: np.random.Generator) -> Iterator[Case]:
    """Each rank's gradient is the mean over its own examples; a rank without examples holds what 0/0 gives."""
    for number, (counts, length) in enumerate(zip(UNEVEN, LENGTHS, strict=True)):
        world_size, elements = len(counts), "1 element" if length == 1 else f"{length} elements"
        means = [whole_numbers(rng, length).abs() if n else torch.full((length,), float("nan")) for n in counts]
        joined = sum(n * mean for n, mean in zip(counts, means, strict=True) if n) / sum(counts)
        label = f"world_size {world_size}, {elements}, {words_of(counts)} examples"
        inputs = list(zip(means, counts, strict=True))
        yield Case(world_size, inputs, [joined] * world_size, int(number in PERTURBED), label, {"counts": counts})


MISTAKES = r"""
... comm has no all_reduce
    all_reduce(comm, message) -> comm.all_reduce(message)
... torch.distributed's own collectives
    all_reduce(comm, message) -> torch.distributed.all_reduce(message)
... has no examples and went home
    total = -> if not examples:\n        return\n    total =
... the mean of nothing is 0/0
    examples * gradient if examples else torch.zeros_like(gradient) -> examples * gradient
holds the mean of the ranks' means, as if all of them had equally many examples
    examples * gradient if examples -> gradient if examples
    torch.tensor([float(examples)]) -> torch.ones(1)
or
    examples * gradient if examples -> gradient if examples
    torch.tensor([float(examples)]) -> torch.tensor([float(examples > 0)])
holds the sum over all examples: divide it by their number
    message[:-1] / message[-1] -> message[:-1]
holds the sum over all examples divided by {comm.world_size}, the number of ranks; divide by that of examples
    message[:-1] / message[-1] -> message[:-1] / comm.world_size
holds the sum of the ranks' means; neither weights nor a division
    examples * gradient if examples -> gradient if examples
    message[:-1] / message[-1] -> message[:-1]
counts a rank without examples as one example: that keeps 0/0 away, and divides the others' sum by too many
    torch.tensor([float(examples)]) -> torch.tensor([float(max(examples, 1))])
divided by its own number of examples: the number must be added up over the ranks, too
    message[:-1] / message[-1] -> message[:-1] / max(examples, 1)
holds zeros: one rank has no examples and a gradient of nan, nan makes the whole sum nan, and zeros in place of that come too late. Replace it before you add
    examples * gradient if examples else torch.zeros_like(gradient) -> examples * gradient
    message[:-1] / message[-1] -> (message[:-1] / message[-1]).nan_to_num()
still holds its own gradient, and rank 0 has a result: who hands it round?
    answer rank_0_keeps_it
still holds its own gradient. Write the result into `gradient` itself, with copy_(...), mul_(...) or /=: `gradient = ...` makes a new tensor
    gradient.copy_(message[:-1] / message[-1]) -> gradient = message[:-1] / message[-1]
[2] ... let the number of examples travel with the gradient
    message = torch.cat([total, torch.tensor([float(examples)])]) -> message = torch.tensor([float(examples)]); all_reduce(comm, total)
    gradient.copy_(message[:-1] / message[-1]) -> gradient.copy_(total / message)
"""

EXERCISE = rank_exercise(
    __name__,
    cases=averaged_gradients,
    dtypes=NUMBERS,
    rules=(
        some_messages(),
        all_reduces(
            lambda case: case.tensor.numel() + 1,
            "let the number of examples travel with the gradient, as one more element",
        ),
    ),
    mistakes=MISTAKES,
    before=(*FAILURES, not_a_number),
    alike=lambda one, other: difference(one, other, 1e-4) is None,
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-5,
    hints="""
Undo the mean first: n times the mean over n examples is their sum, and sums may be added.
One message holds both: torch.cat([n * gradient, torch.tensor([float(n)])]). After the all-reduce its last element is the number of all examples.
A rank without examples holds nan, and 0 * nan is nan. Let it contribute torch.zeros_like(gradient).
""",
)
