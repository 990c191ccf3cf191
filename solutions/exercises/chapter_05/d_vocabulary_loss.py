"""Exercise 05d: the cross-entropy of logits that are cut by the vocabulary."""

import math

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, given_nothing, rank_exercise
from course_lib.grading.verdict import difference

# Ranks, tokens, vocabulary, added, from a logit to the next. More words than numbers are allowed: p (3p - 1) a token.
SHAPES = ((1, 3, 5, 0, 0.5), (2, 3, 24, 0, 0.5), (3, 4, 48, 200, 0.5), (4, 5, 92, -200, 2.0))


def texts(rng):
    """Logits of which no target's is the largest, so that no loss is near 0; some so large that exp overflows, and some
    so far apart that exp of the difference does."""
    for world_size, tokens, vocabulary, added, apart in SHAPES:
        drawn = [(rng.permutation(100)[:vocabulary] - 50) * apart + added for _ in range(tokens)]
        logits = torch.tensor(np.stack(drawn), dtype=torch.float32)
        order, place = logits.argsort(1), rng.integers(0, vocabulary - 1, tokens)
        targets = order[torch.arange(tokens), torch.tensor(place)]
        _at_a_border(logits, targets, 0, math.ceil(vocabulary / world_size))
        _at_a_border(logits, targets, 1, 0)
        parts, firsts = logits.tensor_split(world_size, 1), torch.arange(vocabulary).tensor_split(world_size)
        inputs = [(part.contiguous(), targets, int(first[0])) for part, first in zip(parts, firsts, strict=True)]
        label = f"world_size {world_size}, {tokens} tokens, vocabulary {vocabulary}, logits around {added}"
        yield Case(world_size, inputs, [], label=label)


def _at_a_border(logits, targets, token, first):
    """Let a token's target be the first word of a rank, such as that of rank 1, which rank 0 just lacks; in place."""
    if first < logits.shape[1]:
        word = int(targets[token])
        logits[token, [word, first]] = logits[token, [first, word]]
        targets[token] = first


def overflow(case, outcome):
    """A loss that is no finite number."""
    for rank, value in enumerate(outcome.values if outcome.failure is None else ()):
        if isinstance(value, torch.Tensor) and not value.isfinite().all():
            return (
                f"rank {rank} has a loss of {value[~value.isfinite()][0]}: exp of a logit of 200 is beyond float32, "
                'and exp of -200 is 0. Subtract the largest logit of all ranks first (op="max")'
            )
    return None


MISTAKES = r"""
has no logit for targets of other ranks: that logit must cross, too
    all_reduce(comm, own) ->
has only its own sum of exponentials: the sums of all ranks belong together
    all_reduce(comm, sums) ->
has a logit of every rank for the target: a rank that does not have the target's word adds 0
    .where(mine, 0) -> .clamp(0, logits.shape[1] - 1)
    .squeeze(1) * mine -> .squeeze(1)
added its first word's logit where the target is another rank's: add 0 there
    .squeeze(1) * mine -> .squeeze(1)
took the target's number for a place in its own part: subtract `first`
    (targets >= first) & (targets < first + logits.shape[1]) -> targets < logits.shape[1]
    (targets - first) -> targets
or
    (targets - first) -> targets
forgot the target: that is the logarithm of the sum of exponentials
    largest - own -> largest
forgot to add the largest logit back
    + largest - own -> - own
subtracted the largest of its own logits: all ranks must subtract the same number
    all_reduce(comm, largest, "max") ->
added logarithms: first the sums of exponentials of all ranks are added, then comes the logarithm
    .exp().sum(1) -> .exp().sum(1).log()
    sums.log() -> sums
or
    (logits - largest.unsqueeze(1)).exp().sum(1) -> logits.logsumexp(1)
    sums.log() + largest -> sums
returned the mean; asked for is the loss of each token
    sums.log() + largest - own -> (sums.log() + largest - own).mean()
has the wrong sign: the loss is the logarithm minus the target's logit
    sums.log() + largest - own -> own - largest - sums.log()
... Subtract the largest logit of all ranks first
    logits.amax(1) -> torch.zeros(len(targets))
or
    largest, "max" -> largest
... three numbers a token: its largest logit, its sum of exponentials, its target's logit
    largest = logits.amax(1) -> all_reduce(comm, logits.clone())\n    largest = logits.amax(1)
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=texts,
    tolerance=1e-4,
    rules=(
        rules.total_bytes(
            lambda case: 3 * 4 * len(case.tensor) * case.world_size * (case.world_size - 1),
            "three numbers a token: its largest logit, its sum of exponentials, its target's logit",
        ),
        rules.max_messages(lambda case: 12 * case.world_size * (case.world_size - 1)),
    ),
    before=(*FAILURES, given_nothing, overflow),
    mistakes=MISTAKES,
    alike=lambda one, other: difference(one, other, 1e-4) is None,
    perturbation=None,  # a largest logit that is off cancels out
    hints="""
The loss of a token is log(sum of exp(logits)) minus the logit of its target. What does a rank know of it?
Three all-reduces: the largest logit (op="max"), the sum of exp(logits - largest), and the target's logit, where all ranks but one have 0.
mine = (targets >= first) & (targets < first + logits.shape[1]); own = logits.gather(1, (targets - first).where(mine, 0).unsqueeze(1)).squeeze(1) * mine; after all three: sums.log() + largest - own.
""",
)
