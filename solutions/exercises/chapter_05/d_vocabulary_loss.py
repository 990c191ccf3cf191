"""Exercise 05d: the cross-entropy of logits that are cut by the vocabulary."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.exercises.common import FAILURES, Mistakes, given_nothing, mistaken

__all__ = ["EXERCISE"]


# Cases

# Ranks, tokens, vocabulary, added. More words than numbers are allowed: p (3p - 1) a token.
SHAPES = ((1, 3, 5, 0), (2, 3, 24, 0), (3, 4, 48, 200), (4, 5, 92, -200))


def texts(rng: np.random.Generator) -> Iterator[Case]:
    """Logits of which no target's is the largest, so that no loss is near 0; some so large that exp overflows."""
    for world_size, tokens, vocabulary, added in SHAPES:
        drawn = [rng.permutation(100)[:vocabulary] / 2 - 25 + added for _ in range(tokens)]
        logits = torch.tensor(np.stack(drawn), dtype=torch.float32)
        order, place = logits.argsort(1), rng.integers(0, vocabulary - 1, tokens)
        targets = order[torch.arange(tokens), torch.tensor(place)]
        _at_a_border(logits, targets, 0, math.ceil(vocabulary / world_size))
        _at_a_border(logits, targets, 1, 0)
        losses = torch.nn.functional.cross_entropy(logits.double(), targets, reduction="none").float()
        parts, firsts = logits.tensor_split(world_size, 1), torch.arange(vocabulary).tensor_split(world_size)
        given = [(part.contiguous(), targets, int(first[0])) for part, first in zip(parts, firsts, strict=True)]
        label = f"world_size {world_size}, {tokens} tokens, vocabulary {vocabulary}, logits around {added}"
        yield Case(world_size, given, [losses] * world_size, label=label, about={"logits": logits})


def _at_a_border(logits: torch.Tensor, targets: torch.Tensor, token: int, first: int) -> None:
    """Let a token's target be the first word of a rank, such as that of rank 1, which rank 0 just lacks; in place."""
    if first < logits.shape[1]:
        word = int(targets[token])
        logits[token, [word, first]] = logits[token, [first, word]]
        targets[token] = first


# Diagnoses


def overflow(case: Case, outcome: Outcome) -> str | None:
    """A loss that is no finite number."""
    for rank, value in enumerate(outcome.values if outcome.failure is None else ()):
        if isinstance(value, torch.Tensor) and not value.isfinite().all():
            return (
                f"rank {rank} has a loss of {value[~value.isfinite()][0]}: exp of a logit of 200 is beyond float32, "
                'and exp of -200 is 0. Subtract the largest logit of all ranks first (op="max")'
            )
    return None


def slips(case: Case) -> Mistakes:
    logits, targets = case.about["logits"], case.inputs[0][1]
    whole, losses, size = logits.logsumexp(1), case.expected[0], case.world_size
    found = []
    for part, _, first in case.inputs:
        found.append(whole - torch.where(_mine(part, targets, first), whole - losses, 0.0))
    yield "has no logit for targets of other ranks: that logit must cross, too", found
    own_sums = [(part - logits.amax(1, keepdim=True)).exp().sum(1) for part, *_ in case.inputs]
    lonely = [sums.log() + logits.amax(1) - (whole - losses) for sums in own_sums]
    yield "has only its own sum of exponentials: the sums of all ranks belong together", lonely
    yield (
        "has a logit of every rank for the target: a rank that does not have the target's word adds 0",
        [whole - sum(_nearest(part, targets - first) for part, _, first in case.inputs)] * size,
    )
    unmasked = [_nearest(part, (targets - first) * _mine(part, targets, first)) for part, _, first in case.inputs]
    yield "added its first word's logit where the target is another rank's: add 0 there", [whole - sum(unmasked)] * size
    local = [_nearest(part, targets) * _mine(part, targets, 0) for part, *_ in case.inputs]
    yield "took the target's number for a place in its own part: subtract `first`", [whole - sum(local)] * size
    yield "forgot the target: that is the logarithm of the sum of exponentials", [whole] * size
    yield "forgot to add the largest logit back", [losses - logits.amax(1)] * size
    sums = torch.stack([(part - part.amax(1, keepdim=True)).exp().sum(1) for part, *_ in case.inputs]).sum(0)
    mixed = [sums.log() + part.amax(1) - (whole - losses) for part, *_ in case.inputs]
    yield "subtracted the largest of its own logits: all ranks must subtract the same number", mixed
    yield "returned the mean; asked for is the loss of each token", [losses.mean()] * size
    yield "has the wrong sign: the loss is the logarithm minus the target's logit", [-losses] * size


def _mine(part: torch.Tensor, targets: torch.Tensor, first: int) -> torch.Tensor:
    return (targets >= first) & (targets < first + part.shape[1])


def _nearest(part: torch.Tensor, word: torch.Tensor) -> torch.Tensor:
    """This rank's logit for each token, of the word nearest to the target that it has."""
    return part.gather(1, word.clamp(0, part.shape[1] - 1).unsqueeze(1)).squeeze(1)


# The exercise

EXERCISE = Exercise(
    id="05d",
    title="The loss of a cut vocabulary",
    function="vocabulary_loss",
    points=6,
    answer="return",
    cases=texts,
    tolerance=1e-4,
    rules=(
        rules.total_bytes(
            lambda case: 3 * 4 * len(case.tensor) * case.world_size * (case.world_size - 1),
            "three numbers a token: its largest logit, its sum of exponentials, its target's logit",
        ),
        rules.most_messages(lambda case: 12 * case.world_size * (case.world_size - 1)),
    ),
    diagnoses=(*FAILURES, given_nothing, overflow, mistaken(slips, 1e-4)),
    perturbation=None,  # a largest logit that is off cancels out
    hints=(
        "The loss of a token is log(sum of exp(logits)) minus the logit of its target. What does a rank know of it?",
        'Three all-reduces: the largest logit (op="max"), the sum of exp(logits - largest), and the target\'s logit, '
        "where all ranks but one have 0.",
        "mine = (targets >= first) & (targets < first + logits.shape[1]); own = logits.gather(1, (targets - first)"
        ".where(mine, 0).unsqueeze(1)).squeeze(1) * mine; after all three: sums.log() + largest - own.",
    ),
)
