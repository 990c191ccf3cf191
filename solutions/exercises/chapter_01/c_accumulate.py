"""Exercise 01c: micro-batches are added up on the rank, and communication comes once a step."""

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import NUMBERS, Case, Outcome, whole_numbers
from course_lib.grading.exercises.chapter_01.shared import (
    FAILURES,
    PERTURBED,
    all_reduces,
    some_messages,
    words_of,
)
from course_lib.grading.exercises.common import Mistakes, mistaken, rank_exercise


def accumulated_gradients(rng: np.random.Generator) -> Iterator[Case]:
    """Several micro-batches a rank, of unequal length: each gradient is the mean over its micro-batch."""
    plans = (((1,),), ((1, 2, 1), (4, 3, 6)), ((2, 2, 1), (4, 1, 1), (2, 1, 3)), ((3, 1), (2, 2), (5, 1), (1, 3)))
    for number, plan in enumerate(plans):
        world_size, length = len(plan), (5, 8, 40, 67)[number]
        means = [[whole_numbers(rng, length).abs() for _ in counts] for counts in plan]
        pairs = [pair for each, counts in zip(means, plan, strict=True) for pair in zip(counts, each, strict=True)]
        joined = sum(n * mean for n, mean in pairs) / sum(n for n, _ in pairs)
        label = f"world_size {world_size}, micro-batches of {'; '.join(words_of(counts) for counts in plan)} examples"
        inputs = [(each, list(counts)) for each, counts in zip(means, plan, strict=True)]
        yield Case(world_size, inputs, [joined] * world_size, int(number in PERTURBED), label, {"length": length})


def _accumulations(case: Case) -> Mistakes:
    size = case.world_size
    plan = [inputs[1] for inputs in case.inputs]
    means = [inputs[0] for inputs in case.inputs]
    local = [sum(n * m for n, m in zip(c, g, strict=True)) / sum(c) for c, g in zip(plan, means, strict=True)]
    every = sum(map(len, plan))
    everything = sum(sum(each) for each in means)
    weighted = sum(sum(n * m for n, m in zip(c, g, strict=True)) for c, g in zip(plan, means, strict=True))
    texts = [
        (
            "holds the mean of all micro-batches' means, as if all were equally long; weigh each by its examples",
            everything / every,
        ),
        ("holds the sum of all micro-batches' means: neither weights nor a division", everything),
        (
            f"divided by {size}, the number of ranks, and not by that of micro-batches or examples: adding up .grad "
            "adds up means, and the step gets longer with every micro-batch",
            everything / size,
        ),
        ("holds the sum over all examples: divide it by their number", weighted),
        (
            "weighs inside each rank as it should, and then takes the mean over ranks, as if each had equally many "
            "examples",
            sum(local) / size,
        ),
        (
            "holds what the last micro-batches give: each overwrote the one before. Add them up",
            sum(c[-1] * g[-1] for c, g in zip(plan, means, strict=True)) / sum(c[-1] for c in plan),
        ),
    ]
    for text, tensor in texts:
        yield text, [tensor] * size
    yield from _own_divisions(weighted, local, plan)
    yield (
        "has the first micro-batch in it once too often: total = gradients[0] is the same tensor, and += changes both. "
        "Begin with zeros",
        [(weighted + sum(each[0] for each in means)) / sum(map(sum, plan))] * size,
    )


def _own_divisions(weighted: torch.Tensor, local: list[torch.Tensor], plan: list) -> Mistakes:
    yield (
        "divided the sum over all ranks by its own number of examples: add up the numbers, too, in the same all-reduce",
        [weighted / sum(counts) for counts in plan],
    )
    yield "holds the mean over its own examples: nothing was added between the ranks", local


def no_micro_batch(case: Case, outcome: Outcome) -> str | None:
    """0/0, where a rank has a single micro-batch and left it out."""
    if outcome.failure is not None or not any(len(inputs[1]) == 1 for inputs in case.inputs):
        return None
    lost = [rank for rank, value in enumerate(outcome.values) if torch.isnan(value).any()]
    if not lost or case.world_size > 1:
        return None
    return f"rank {lost[0]} holds nan, as if it had no examples at all: is the only micro-batch, the last one, in it?"


wrong_accumulation = mistaken(_accumulations, tolerance=1e-4)


MISTAKES = r"""
... is the only micro-batch, the last one, in it
    zip(examples, gradients, strict=True)) -> zip(examples[:-1], gradients[:-1], strict=True)) + torch.zeros(len(gradients[0]))
    sum(examples))]) -> sum(examples[:-1]))])
... the step gets longer with every micro-batch
    total = sum(n * gradient for n, gradient in zip(examples, gradients, strict=True)) -> total = sum(gradients)
    float(sum(examples)) -> 1.0
[1] ... steps on the wire, one all-reduce takes
    file every_micro_batch
... as if all were equally long
    total = sum(n * gradient for n, gradient in zip(examples, gradients, strict=True)) -> total = sum(gradients)
    float(sum(examples)) -> float(len(gradients))
... divided the sum over all ranks by its own number
    message[:-1] / message[-1] -> message[:-1] / sum(examples)
... weighs inside each rank as it should
    strict=True)) -> strict=True)) / sum(examples)
    float(sum(examples)) -> 1.0
... the first micro-batch in it once too often
    total = sum( -> total = gradients[0] + sum(
[1] ... bytes, 144 are plenty
    file sends_every_micro_batch
"""

EXERCISE = rank_exercise(
    id="01c",
    title="Gradient accumulation",
    function="accumulate",
    points=2,
    answer="return",
    cases=accumulated_gradients,
    dtypes=NUMBERS,
    rules=(
        some_messages(lambda case: max(len(inputs[0]) for inputs in case.inputs)),
        all_reduces(
            lambda case: case.about["length"] + 1,
            "add up the micro-batches on the rank first, that costs nothing; communicate once per step, gradients and "
            "number of examples in one message",
        ),
    ),
    mistakes=MISTAKES,
    diagnoses=(*FAILURES, no_micro_batch, wrong_accumulation),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-5,
    hints="""
What is the sum over all examples of one micro-batch? Add those up, over micro-batches and then over ranks.
sum(n * gradient for n, gradient in zip(examples, gradients)) is a rank's sum. The rest is exercise b.
""",
)
