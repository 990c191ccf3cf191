"""Exercise 01c: micro-batches of unequally many tokens are added up on the rank; communication comes once a step."""

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import NUMBERS, Case, Outcome, whole_numbers
from course_lib.grading.exercises.chapter_01.shared import FAILURES, PERTURBED, all_reduces, some_messages
from course_lib.grading.exercises.common import rank_exercise

PADDING = -100

# The tokens of each sequence, of each micro-batch, of each rank.
PLANS = (
    (((2,),),),
    (((3, 1), (2,)),),
    (((1, 2, 1), (4,)), ((4, 3), (6,))),
    (((2,), (2, 1), (1,)), ((4, 1), (1,), (1, 1)), ((2,), (1, 5), (3,))),
    (((3,), (1, 1)), ((0, 0), (0,)), ((5, 2), (1,)), ((1,), (3, 3))),
)


def accumulated_gradients(rng: np.random.Generator) -> Iterator[Case]:
    """Several micro-batches a rank: sequences padded beyond the longest, and the mean gradient over their tokens."""
    for number, plan in enumerate(PLANS):
        length = (5, 7, 8, 40, 23)[number]
        total, count, inputs = torch.zeros(length), 0, []
        for micro_batches in plan:
            gradients = []
            for tokens in map(sum, micro_batches):
                mean = whole_numbers(rng, length).abs()
                total, count = (total + tokens * mean, count + tokens) if tokens else (total, count)
                gradients.append(mean if tokens else torch.full((length,), torch.nan))
            inputs.append((gradients, [_targets(rng, lengths) for lengths in micro_batches]))
        words = "; ".join(", ".join(str(sum(each)) for each in micro_batches) for micro_batches in plan)
        label = f"world_size {len(plan)}, micro-batches of {words} tokens"
        about = {"length": length, "counts": tuple(sum(map(sum, micro_batches)) for micro_batches in plan)}
        perturbed = int(number in PERTURBED)
        yield Case(len(plan), inputs, [total / count] * len(plan), perturbed, label, about)


def _targets(rng: np.random.Generator, lengths: tuple[int, ...]) -> torch.Tensor:
    """Drawn tokens, of which the first is 0, and padding behind: [sequences, positions].

    No other is 0, or else who takes 0 for padding may count what another mistake counts.
    """
    targets = torch.full((len(lengths), max(lengths) + 1), PADDING)
    for row, length in zip(targets, lengths, strict=True):
        row[:length] = torch.from_numpy(rng.integers(1, 50, length))
        row[: min(length, 1)] = 0
    return targets


def padding_only(case: Case, outcome: Outcome) -> str | None:
    """0/0, from a micro-batch without a token."""
    if outcome.failure is not None:
        return None
    lost = [rank for rank, value in enumerate(outcome.values) if torch.isnan(value).any()]
    empty = [
        (rank, place)
        for rank, (_, targets) in enumerate(case.inputs)
        for place, each in enumerate(targets)
        if not (each != PADDING).any()
    ]
    if not lost or not empty:
        return None
    rank, place = empty[0]
    return (
        f"rank {lost[0]} holds nan: micro-batch {place} of rank {rank} is padding only, the mean of nothing is 0/0, and "
        "0 × nan is nan as well. Leave its gradient out; its rank still takes part"
    )


MISTAKES = r"""
... is padding only, the mean of nothing is 0/0
    if n: -> if True:
counts the padding, too; a token is where the target is not -100
    (each != -100).sum() -> torch.tensor(each.numel())
counts sequences; the loss is a mean over tokens
    (each != -100).sum() -> torch.tensor(len(each))
takes token 0 for padding; padding is -100
    (each != -100).sum() -> (each > 0).sum()
holds the mean of all micro-batches' means, as if all had equally many tokens; weigh each by its tokens
    n * gradient -> gradient
    float(sum(tokens)) -> float(len(tokens))
or
    n * gradient -> gradient
    float(sum(tokens)) -> float(sum(map(bool, tokens)))
weighs inside each rank as it should, and then takes the mean over ranks, as if each had equally many tokens
    message = torch.cat([total, -> message = torch.cat([total / max(1, sum(tokens)),
    float(sum(tokens)) -> 1.0
divided the sum over all ranks by its own number of tokens: add up the numbers, too, in the same all-reduce
    message[:-1] / message[-1] -> message[:-1] / sum(tokens)
[1] ... steps on the wire, one all-reduce takes
    answer every_micro_batch
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=accumulated_gradients,
    dtypes=NUMBERS,
    rules=(
        some_messages(lambda case: max(len(inputs[0]) for inputs in case.inputs)),
        all_reduces(
            lambda case: case.about["length"] + 1,
            "add up the micro-batches on the rank first, that costs nothing; communicate once per step, gradients and "
            "number of tokens in one message",
        ),
    ),
    mistakes=MISTAKES,
    diagnoses=(*FAILURES, padding_only),
    perturbation="receiver",
    whole_multiples=False,
    tolerance=1e-5,
    hints="""
What is the sum over all tokens of one micro-batch? (targets != -100).sum() is how many there are.
Add those sums up, over micro-batches and then over ranks; pass over a micro-batch without a token. The rest is exercise b.
""",
)
