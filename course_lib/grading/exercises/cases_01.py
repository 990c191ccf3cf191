"""Cases of chapter 1: every rank's examples, gradients or statistics, and what one process makes of all of them.

What is expected is a plain sum over all examples, or a formula on the joined batch. Sums are of whole numbers, exact in
any order; what is averaged with rounding is positive, so that a relative tolerance is fair.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np
import torch

from course_lib.grading.exercise import Case, whole_numbers
from course_lib.grading.exercises.parts_01 import EpochParts, moves_the_wrong_way

__all__ = [
    "accumulated_gradients",
    "averaged_gradients",
    "joined_statistics",
    "layers_becoming_ready",
    "normalized_batches",
    "parts_of_epochs",
    "runs_with_adagrad",
    "sharded_steps",
    "timed_steps",
    "wrong_ways",
]

# Examples of each rank: no sum is a power of two, so that 16 bits do not give the right quotient by luck; and for
# statistics each sum is one, so that no digits are lost in float32.
UNEVEN = ((1,), (3, 4), (2, 1, 4), (1, 4, 0, 6), (6, 0, 1))
COUNTS = ((4,), (3, 5), (2, 1, 5), (1, 4, 0, 3), (6, 0, 2))
EPSILON = 1e-5  # what batch normalization adds to a variance
PERTURBED = (2, 3)  # the numbers of the cases in which messages are changed


def parts_of_epochs(rng: np.random.Generator) -> Iterator[Case]:
    """Every rank's part of several shuffled epochs; no example's number is a place in the order."""
    sizes = [(0, 1), (1, 1), (6, 1), (6, 2), (6, 3), (7, 3), (3, 5), (0, 4), (5, 4), (int(rng.integers(40, 99)), 7)]
    calls, judges = [], []
    before: set[int] = set()
    for length, world_size in sizes:
        order = torch.from_numpy(100 + rng.choice(900, length, replace=False))
        epoch = EpochParts(order, world_size, before)
        before |= set(order.tolist())
        for rank in range(world_size):
            calls.append((order, rank, world_size))
            judges.append(epoch.judge(rank))
    yield Case(1, calls, judges, label="the parts of an epoch")


def averaged_gradients(rng: np.random.Generator) -> Iterator[Case]:
    """Each rank's gradient is the mean over its own examples; a rank without examples holds what 0/0 gives."""
    for number, counts in enumerate(UNEVEN):
        world_size, length = len(counts), (5, 8, 40, 67, 33)[number]
        means = [whole_numbers(rng, length).abs() if n else torch.full((length,), float("nan")) for n in counts]
        joined = sum(n * mean for n, mean in zip(counts, means, strict=True) if n) / sum(counts)
        label = f"world_size {world_size}, {length} elements, {_words(counts)} examples"
        inputs = list(zip(means, counts, strict=True))
        yield Case(world_size, inputs, [joined] * world_size, int(number in PERTURBED), label, {"counts": counts})


def accumulated_gradients(rng: np.random.Generator) -> Iterator[Case]:
    """Several micro-batches a rank, of unequal length: each gradient is the mean over its micro-batch."""
    plans = (((1,),), ((1, 2, 1), (4, 3, 6)), ((2, 2, 1), (4, 1, 1), (2, 1, 3)), ((3, 1), (2, 2), (5, 1), (1, 3)))
    for number, plan in enumerate(plans):
        world_size, length = len(plan), (5, 8, 40, 67)[number]
        means = [[whole_numbers(rng, length).abs() for _ in counts] for counts in plan]
        pairs = [pair for each, counts in zip(means, plan, strict=True) for pair in zip(counts, each, strict=True)]
        joined = sum(n * mean for n, mean in pairs) / sum(n for n, _ in pairs)
        label = f"world_size {world_size}, micro-batches of {'; '.join(_words(counts) for counts in plan)} examples"
        inputs = [(each, list(counts)) for each, counts in zip(means, plan, strict=True)]
        yield Case(world_size, inputs, [joined] * world_size, int(number in PERTURBED), label, {"length": length})


def layers_becoming_ready(rng: np.random.Generator) -> Iterator[Case]:
    """Gradients of several layers, and the milliseconds that each takes in the backward pass of each rank."""
    sizes = ((5, 3), (20, 7, 12), (30, 64, 40), (90, 64, 110, 7))
    for number, lengths in enumerate(sizes):
        world_size = number + 1
        layers = [[whole_numbers(rng, length) for length in lengths] for _ in range(world_size)]
        seconds = [[float(rng.integers(2, 9)) * 1e-3 for _ in lengths] for _ in range(world_size)]
        sums = [sum(each) for each in zip(*layers, strict=True)]
        ready = [list(accumulate(reversed(each)))[::-1] for each in seconds]
        about = {"lengths": lengths, "ready_s": ready}
        label = f"world_size {world_size}, layers of {_words(lengths)} elements"
        yield Case(
            world_size,
            list(zip(layers, seconds, strict=True)),
            [sums] * world_size,
            int(number in PERTURBED),
            label,
            about,
        )


def joined_statistics(rng: np.random.Generator) -> Iterator[Case]:
    """Parts of a batch of positive numbers; mean and biased variance of the joined batch."""
    for number, counts in enumerate(COUNTS):
        world_size, features = len(counts), (3, 4, 20, 33, 5)[number]
        parts = [torch.from_numpy(rng.integers(1, 100, (n, features))).float() for n in counts]
        joined = torch.cat(parts).double()
        expected = [joined.mean(0), joined.var(0, correction=0)]
        label = f"world_size {world_size}, {features} features, {_words(counts)} examples"
        inputs = [(part,) for part in parts]
        yield Case(world_size, inputs, [expected] * world_size, int(number in PERTURBED), label, {"counts": counts})


def normalized_batches(rng: np.random.Generator) -> Iterator[Case]:
    """What the forward pass left on each rank, and the gradient from above; the formula on the joined batch."""
    for number, counts in enumerate(((4,), (3, 2), (2, 1, 4), (1, 4, 2, 3), (3, 0, 2))):
        world_size, features = len(counts), (3, 4, 20, 33, 5)[number]
        batch = torch.from_numpy(rng.integers(1, 100, (sum(counts), features))).double()
        upstream = whole_numbers(rng, batch.numel(), torch.float64).reshape(batch.shape)
        deviation = (batch.var(0, correction=0) + EPSILON).sqrt()
        normalized = (batch - batch.mean(0)) / deviation
        expected = (upstream - upstream.mean(0) - normalized * (upstream * normalized).mean(0)) / deviation
        rows = zip(upstream.split(counts), normalized.split(counts), strict=True)
        inputs = [(above, hat, deviation, sum(counts)) for above, hat in rows]
        label = f"world_size {world_size}, {features} features, {_words(counts)} examples"
        about = {"features": features, "batch": batch, "counts": counts}
        yield Case(world_size, inputs, expected.split(counts), int(number in PERTURBED), label, about)


def sharded_steps(rng: np.random.Generator) -> Iterator[Case]:
    """One step of SGD with momentum from the mean gradient; rank r's shard of the momentum is chunk r.

    All numbers are positive, and none comes near zero: whoever multiplies by 1/3 rounds, and that must not count.
    """
    for world_size, length, perturb in ((1, 5, 0), (2, 8, 0), (3, 40, 1), (4, 67, 1), (3, 2, 0), (4, 9, 0)):
        parameters, before = 100 + whole_numbers(rng, length).abs(), whole_numbers(rng, length).abs()
        gradients = [whole_numbers(rng, length).abs() * world_size for _ in range(world_size)]
        after = 0.5 * before + sum(gradients) / world_size
        shards, updated = before.tensor_split(world_size), after.tensor_split(world_size)
        inputs = [(parameters, gradient, shard, 0.25, 0.5) for gradient, shard in zip(gradients, shards, strict=True)]
        expected = [[parameters - 0.25 * after, shard] for shard in updated]
        yield Case(world_size, inputs, expected, perturb, about={"before": before, "after": after})


def wrong_ways(rng: np.random.Generator) -> Iterator[Case]:
    """Any gradients that move averaged parameters against the step of the joined batch."""
    sizes = [3, 4, 5, int(rng.integers(6, 40)), 3]
    yield Case(1, [(size,) for size in sizes], [moves_the_wrong_way(size) for size in sizes], label="the wrong way")


def runs_with_adagrad(rng: np.random.Generator) -> Iterator[Case]:
    """Linear regression on each rank's part of every batch; Adagrad on the joined batches, from rank 0's weights.

    Three steps at least: two steps of an Adagrad that forgets can lead four weights back to where they began.
    """
    for world_size, steps, length, perturb in ((1, 3, 4, 0), (2, 3, 5, 0), (3, 4, 40, 1), (4, 3, 67, 1)):
        weights = [torch.from_numpy(rng.normal(size=length)) for _ in range(world_size)]
        inputs = [torch.from_numpy(rng.normal(size=(steps, 3, length))) for _ in range(world_size)]
        targets = [torch.from_numpy(rng.normal(size=(steps, 3))) for _ in range(world_size)]
        expected = _adagrad(weights[0], torch.cat(inputs, 1), torch.cat(targets, 1), rate=0.5)
        arguments = [(*each, 0.5) for each in zip(weights, inputs, targets, strict=True)]
        label = f"world_size {world_size}, {length} weights, steps: {steps}"
        about = {"steps": steps, "length": length}
        yield Case(world_size, arguments, [expected] * world_size, perturb, label, about)


def _adagrad(weights: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor, rate: float) -> torch.Tensor:
    trained, squares = weights.clone(), torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        gradient = 2 * (rows @ trained - wanted) @ rows / len(wanted)
        squares = squares + gradient**2
        trained = trained - rate * gradient / (squares.sqrt() + 1e-10)
    return trained


def timed_steps(rng: np.random.Generator) -> Iterator[Case]:
    """Seconds of the backward pass and of the exchange, layer by layer; the wire takes one exchange at a time."""
    fixed = [([4.0, 1.0, 3.0], [2.0, 7.0, 3.0]), ([5.0], [2.0]), ([1.0, 2.0, 4.0], [8.0, 1.0, 1.0])]
    fixed.append(([1.0, 9.0, 1.0, 1.0], [2.0, 1.0, 1.0, 9.0]))  # the wire is late by two, and then it waits
    drawn = [(rng.integers(1, 20, n).tolist(), rng.integers(1, 20, n).tolist()) for n in (4, 7, 12)]
    calls = fixed + [([float(b) for b in back], [float(e) for e in wire]) for back, wire in drawn]
    yield Case(1, calls, [_step_seconds(*call) for call in calls], label="the seconds of a step")


def _step_seconds(backward_s: list[float], exchange_s: list[float]) -> list[float]:
    """Event by event: whenever the wire is free, it takes the next gradient that is ready."""
    ready = list(accumulate(reversed(backward_s)))
    wire_free_s = 0.0
    for ready_s, seconds in zip(ready, reversed(exchange_s), strict=True):
        wire_free_s = max(wire_free_s, ready_s) + seconds
    return [ready[-1] + sum(exchange_s), wire_free_s]


def _words(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))
