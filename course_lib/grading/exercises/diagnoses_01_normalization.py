"""What a wrong number of chapter 1 was made of: batch normalization, and the rounding of float32."""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.diagnoses_01 import Mistakes, mistaken

__all__ = ["in_float32", "wrong_backward", "wrong_statistics"]


def in_float32(case: Case, outcome: Outcome) -> str | None:
    """Right to the rounding of float32, where float64 was asked for."""
    if outcome.failure is not None:
        return None
    for rank, (came, right) in enumerate(zip(outcome.values, case.expected, strict=True)):
        if came.shape != right.shape or not torch.allclose(came.double(), right, rtol=1e-4, atol=1e-4):
            return None
        if not torch.allclose(came.double(), right, rtol=1e-6, atol=1e-9):
            return (
                f"rank {rank} is off by {(came - right).abs().max().item():.1g}: that is rounding, of float32. The "
                "numbers are float64; torch.zeros and torch.tensor make float32 unless told dtype=torch.float64"
            )
    return None


# Batch normalization


def _means(case: Case) -> Mistakes:
    parts, size = [inputs[0].double() for inputs in case.inputs], case.world_size
    total = torch.cat(parts).sum(0)
    some = [part for part in parts if len(part)]
    average = sum(part.mean(0) for part in some)
    yield "took the mean of the ranks' means, as if their parts were equally long", [average / len(some)] * size
    yield "took the mean of the ranks' means, as if their parts were equally long", [average / size] * size
    yield (
        "divided the sum of all examples by the number of its own, times the ranks: add up the numbers, too, in the "
        "same all-reduce",
        [total / max(len(part), 1) / size for part in parts],
    )
    yield (
        "divided the sum of all examples by the number of its own: add up the numbers, too, in the same all-reduce",
        [total / max(len(part), 1) for part in parts],
    )
    numbers = total / torch.cat(parts).numel()
    yield "divided by the number of all numbers, not by that of examples: a row is one example", [numbers] * size
    variance = torch.cat(parts).var(0, correction=0)
    yield "gave the variance first: return mean, variance, in this order", [variance] * size
    yield "holds its own mean: nothing was added between the ranks", [part.mean(0) for part in parts]


def _variances(case: Case) -> Mistakes:
    parts, size = [inputs[0].double() for inputs in case.inputs], case.world_size
    batch, some = torch.cat(parts), [part for part in parts if len(part)]
    count = len(batch)
    biased = batch.var(0, correction=0)
    own = [part.var(0, correction=0) for part in some]
    inside = sum(len(part) * each for part, each in zip(some, own, strict=True)) / count
    blind = (
        "That is the variance inside the parts. What the parts' means differ by belongs to the variance of the joined "
        "batch, too"
    )
    yield (
        "holds the unbiased variance, divided by N - 1. Batch normalization divides by N here (and keeps the unbiased "
        "one for its running statistics)",
        [biased * count / (count - 1)] * size,
    )
    yield f"holds the mean of the ranks' variances. {blind}", [sum(own) / len(own)] * size
    yield f"holds the mean of the ranks' variances. {blind}", [sum(own) / size] * size
    yield f"holds the ranks' variances, each weighed by its examples. {blind}", [inside] * size
    yield (
        "holds the mean of the squares: take the square of the mean away from it",
        [(batch * batch).mean(0)] * size,
    )
    yield (
        "holds the mean of the squares less the mean: take the square of the mean",
        [(batch * batch).mean(0) - batch.mean(0)] * size,
    )
    yield "holds the standard deviation; the variance was asked for", [biased.sqrt()] * size
    yield "holds the variance with the wrong sign: mean of the squares less square of the mean", [-biased] * size
    yield (
        "added up the squares of the ranks' sums, where the squares of the examples belong: square first, add then",
        [sum(part.sum(0) ** 2 for part in parts) / count - batch.mean(0) ** 2] * size,
    )


_wrong_mean, _wrong_variance = mistaken(_means, item=0), mistaken(_variances, item=1)


def wrong_statistics(case: Case, outcome: Outcome) -> str | None:
    """The mean, or else the variance, of something else than the joined batch."""
    text = _wrong_mean(case, outcome)
    if text:
        return f"the mean is wrong: {text}"
    text = _wrong_variance(case, outcome)
    return f"the mean is right, the variance is not: {text}" if text else None


def _input_gradients(case: Case) -> Mistakes:
    rows = [inputs[:3] for inputs in case.inputs]
    count = case.inputs[0][3]
    sums = sum(g.sum(0) for g, _, _ in rows), sum((g * hat).sum(0) for g, hat, _ in rows)

    def made(mean: Callable, product: Callable) -> list[torch.Tensor]:
        return [(g - mean(g) - hat * product(g * hat)) / deviation for g, hat, deviation in rows]

    def joined(number: int) -> Callable:
        return lambda own: sums[number] / count

    def own_mean(own: torch.Tensor) -> torch.Tensor:
        return own.mean(0)

    def nothing(own: torch.Tensor) -> float:
        return 0.0

    yield "treats mean and deviation as constants: they depend on every example as well", made(nothing, nothing)
    yield (
        "takes both means over its own part: they run over the joined batch, for every rank's examples moved the "
        "statistics",
        made(own_mean, own_mean),
    )
    yield "lacks the part that goes through the deviation: x̂ times the mean of g x̂", made(joined(0), nothing)
    yield "lacks the part that goes through the mean: the mean of g", made(nothing, joined(1))
    yield (
        "divided the sums over all ranks by its own number of examples; N is that of the joined batch",
        made(lambda own: sums[0] / len(own), lambda own: sums[1] / len(own)),
    )
    yield "used sums where means belong: divide by N", made(lambda own: sums[0], lambda own: sums[1])
    some = [(g, g * hat) for g, hat, _ in rows if len(g)]
    means = [sum(pair[number].mean(0) for pair in some) / len(some) for number in (0, 1)]
    yield (
        "took the mean of the ranks' means, as if their parts were equally long: add up sums, and divide by N",
        made(lambda own: means[0], lambda own: means[1]),
    )
    yield "swapped the two means: the sums come back in the order in which you joined them", made(joined(1), joined(0))
    yield from _other_means(rows, made, sums, count)
    yield from _slips_in_the_formula(case, (sums[0] + sums[1]) / count)


def _other_means(rows: list, made: Callable, sums: tuple, count: int) -> Mistakes:
    """Means with another divisor, one of them over the own part only, or a product of means."""
    yield (
        "divided by the number of ranks; the means run over examples: divide by N",
        made(lambda own: sums[0] / len(rows), lambda own: sums[1] / len(rows)),
    )
    yield "divided by N twice", made(lambda own: sums[0] / count**2, lambda own: sums[1] / count**2)
    first, second = (lambda own: sums[0] / count), (lambda own: sums[1] / count)
    lonely = "shares one of the two sums only: mean({}) runs over its own examples. Both need all ranks"
    yield lonely.format("g x̂"), made(first, lambda own: own.sum(0) / count)
    yield lonely.format("g"), made(lambda own: own.sum(0) / count, second)
    hats = sum(hat.sum(0) for _, hat, _ in rows) / count
    yield "took mean(g) × mean(x̂) for mean(g x̂): multiply first", made(first, lambda own: sums[0] / count * hats)


def _slips_in_the_formula(case: Case, both: torch.Tensor) -> Mistakes:
    """Right means (both: their sum), wrongly put together."""
    rows = [inputs[:3] for inputs in case.inputs]
    pairs = list(zip(case.expected, rows, strict=True))
    mean = sum(g.sum(0) for g, _, _ in rows) / case.inputs[0][3]
    yield "forgot to divide by the deviation", [right * row[2] for right, row in pairs]
    yield "took the root of the deviation: it is a root already", [right * row[2].sqrt() for right, row in pairs]
    yield "divided by the deviation twice: that is the variance", [right / row[2] for right, row in pairs]
    yield "multiplied by the deviation in place of dividing by it", [right * row[2] ** 2 for right, row in pairs]
    yield (
        "added the part that goes through the deviation, where it must be subtracted",
        [2 * (g - mean) / deviation - right for right, (g, _, deviation) in pairs],
    )
    yield "took mean(g x̂) away without x̂ before it", [(g - both) / deviation for g, _, deviation in rows]


wrong_backward = mistaken(_input_gradients)
