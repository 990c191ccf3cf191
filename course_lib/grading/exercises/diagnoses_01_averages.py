"""What a wrong average of chapter 1 was made of: uneven parts, ranks without examples, micro-batches."""

from __future__ import annotations

import torch

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.diagnoses_01 import Mistakes, mistaken

__all__ = ["not_a_number", "still_its_own", "wrong_accumulation", "wrong_average"]


def not_a_number(case: Case, outcome: Outcome) -> str | None:
    """Not a number, from a rank that has no examples."""
    counts = case.about.get("counts", ())
    if outcome.failure is not None or 0 not in counts:
        return None
    for rank, value in enumerate(outcome.values):
        if any(torch.isnan(each).any() for each in (value if isinstance(value, (list, tuple)) else [value])):
            return (
                f"rank {rank} holds nan: rank {counts.index(0)} has no examples, the mean of nothing is 0/0, and 0 × "
                "nan is nan as well. What it must contribute is zeros"
            )
    return None


def still_its_own(case: Case, outcome: Outcome) -> str | None:
    """Every rank holds what it began with."""
    if outcome.failure is not None or case.world_size == 1:
        return None
    own = [torch.equal(value, inputs[0]) for inputs, value in zip(case.inputs, outcome.values, strict=True)]
    if all(own):
        if not outcome.trace.messages:
            return (
                "no message crossed the wire, and every rank still holds its own gradient: what others have is needed"
            )
        return (
            f"{len(outcome.trace.messages)} messages crossed the wire, and every rank still holds its own gradient. "
            "Write the result into `gradient` itself, with copy_(...), mul_(...) or /=: `gradient = ...` makes a new "
            "tensor"
        )
    if sum(own) == case.world_size - 1:
        done, waiting = own.index(False), own.index(True)
        return f"rank {done} has a result, rank {waiting} still holds its own gradient: who hands the result round?"
    return None


def _averages(case: Case) -> Mistakes:
    size, counts = case.world_size, case.about["counts"]
    means = [torch.nan_to_num(inputs[0]) for inputs in case.inputs]
    weighted = sum(n * mean for n, mean in zip(counts, means, strict=True))
    largest, total = max(counts), sum(counts)

    def everywhere(tensor: torch.Tensor) -> list[torch.Tensor]:
        return [tensor] * size

    of_whom = ", ".join(map(str, counts))
    yield (
        f"holds the mean of the ranks' means, as if all of them had equally many examples; they have {of_whom}",
        everywhere(sum(means) / size),
    )
    yield from _slips_with_numbers(case, weighted)
    some = sum(n > 0 for n in counts)
    yield (
        f"holds the mean of the means of those who have examples, each counted alike; they have {of_whom}",
        everywhere(sum(means) / some),
    )
    yield "holds the sum over all examples: divide it by their number", everywhere(weighted)
    yield (
        f"holds the sum over all {total} examples divided by {size}, the number of ranks; divide by that of examples",
        everywhere(weighted / size),
    )
    yield "holds the sum of the ranks' means; neither weights nor a division", everywhere(sum(means))
    yield f"weighs by the largest part ({largest}), not by all examples", everywhere(weighted / largest)
    yield (
        "divided by its own number of examples: the number must be added up over the ranks, too",
        [weighted / max(n, 1) for n in counts],
    )


def _slips_with_numbers(case: Case, weighted: torch.Tensor) -> Mistakes:
    size, total = case.world_size, sum(case.about["counts"])
    yield f"divided by {total + 1}, one more than there are examples ({total})", [weighted / (total + 1)] * size
    yield f"divided by {total - 1}, one less than there are examples ({total})", [weighted / max(total - 1, 0.5)] * size
    yield (
        f"divided by {size * total}, the number of all examples counted by each of the {size} ranks: their number is "
        f"{total}, it must be added up once",
        [weighted / total / size] * size,
    )
    yield "rounded down to whole numbers: a whole-number dtype, or //", [(weighted / total).floor()] * size
    if 0 in case.about["counts"]:
        yield (
            "holds zeros: rank "
            f"{case.about['counts'].index(0)} has no examples and a gradient of nan, nan in the sum makes all of the "
            "sum nan, and zeros in place of that come too late. Replace it before you add",
            [torch.zeros_like(weighted)] * size,
        )


wrong_average = mistaken(_averages)


def _accumulations(case: Case) -> Mistakes:
    size = case.world_size
    plan = [inputs[1] for inputs in case.inputs]
    means = [inputs[0] for inputs in case.inputs]
    local = [sum(n * m for n, m in zip(c, g, strict=True)) / sum(c) for c, g in zip(plan, means, strict=True)]
    every = sum(map(len, plan))
    total = sum(map(sum, plan))
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
        (
            "divided the sum of the last micro-batches by all examples: each overwrote the one before. Add them up",
            sum(c[-1] * g[-1] for c, g in zip(plan, means, strict=True)) / total,
        ),
    ]
    for text, tensor in texts:
        yield text, [tensor] * size
    yield from _own_divisions(weighted, local, plan)
    yield from _left_out(plan, means)


def _own_divisions(weighted: torch.Tensor, local: list[torch.Tensor], plan: list) -> Mistakes:
    yield (
        "divided the sum over all ranks by its own number of examples: add up the numbers, too, in the same all-reduce",
        [weighted / sum(counts) for counts in plan],
    )
    yield "holds the mean over its own examples: nothing was added between the ranks", local


def _left_out(plan: list, means: list) -> Mistakes:
    """Sums in which a micro-batch is missing, or is in twice; and sums divided by another number."""
    size, total = len(plan), sum(map(sum, plan))
    sums = [[n * mean for n, mean in zip(c, g, strict=True)] for c, g in zip(plan, means, strict=True)]
    weighted = sum(sum(each) for each in sums)
    last, first = sum(each[-1] for each in sums), sum(each[0] for each in sums)
    if all(len(counts) == 1 for counts in plan):
        yield "left out its only micro-batch: where does the loop begin, and where does it end?", [0 * weighted] * size
    yield "left out the last micro-batch of each rank", [(weighted - last) / total] * size
    yield "left out the first micro-batch of each rank", [(weighted - first) / total] * size
    yield (
        "has the first micro-batch in it once too often: total = gradients[0] is the same tensor, and += changes both. "
        "Begin with zeros",
        [(weighted + sum(each[0] for each in means)) / total] * size,
    )
    yield (
        "divided by the number of micro-batches, and their lengths are not 1: divide by the number of examples",
        [weighted / sum(map(len, plan))] * size,
    )
    yield (
        "divided by its own number of examples, and by that of ranks: add up the numbers, too, in the same all-reduce",
        [weighted / size / sum(counts) for counts in plan],
    )


wrong_accumulation = mistaken(_accumulations)
