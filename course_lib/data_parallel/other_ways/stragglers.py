"""Stragglers: load balancing gives a slow worker fewer examples, redundancy lets several workers compute each part.

Load balancing, a rank's mean weighed by its examples:

equal parts        rank 0 ▕ 8 ▏ waits                  by speed    rank 0 ▕ 12  ▏
                   rank 1 ▕ 8 ▏ waits                              rank 1 ▕ 12  ▏
3 times slower     rank 2 ▕       8       ▏                        rank 2 ▕  4  ▏   weights 12 : 12 : 4

Redundancy, where the first gradient of each part counts:

    second            0   1   2   3   4   5   6   7
    part 0  worker 0  ▕   0   ▏   ▕       1       ✗  waits for part 1; step 1 comes too late
            worker 1  ▕         0         ✗ 1 ▏      late for step 0, first in step 1
    part 1  worker 2  ▕       0       ✗   1   ▏
            worker 3  ▕     0     ▏       1       ✗

The collector, rank 0, takes the step as soon as it has one gradient of each part (here at 3 and 6 seconds). What comes
later for the same part (✗) is received and dropped, and that worker goes on with the step that is due by then.

    message to the collector   [step, gradient of the part]         the first one: [-1, zeros]
    answer                     [step that is due, parameters]       the last one: [-1, parameters]

The step travels as the bits of a whole number: a bfloat16 could not tell step 257 from 256.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_lib.checks import at_least, positive
from course_lib.collectives import all_gather
from course_lib.comm import Communicator
from course_lib.data_parallel.averaging import average_gradients_in_buckets
from course_lib.data_parallel.sharding import part_lengths, split_batch
from course_lib.tasks import random_batches


class BalancedStep(NamedTuple):
    """One step of a training: how many examples each rank had, and the seconds until the slowest was done."""

    lengths: tuple[int, ...]
    seconds: float


def slowest_rank_s(lengths: Sequence[int], speeds: Sequence[float]) -> float:
    """Seconds until the last rank has computed its part: what a synchronous step takes, without its messages.

    Raises:
        ValueError: if a rank that has examples has no speed.

    >>> slowest_rank_s((8, 8, 8), speeds=[3, 3, 1]), slowest_rank_s((10, 10, 4), speeds=[3, 3, 1])
    (8.0, 4.0)
    """
    pairs = [(length, speed) for length, speed in zip(lengths, speeds, strict=True) if length]
    if any(speed <= 0 for _, speed in pairs):
        raise ValueError(f"who has examples must have a speed of more than 0, got {lengths} and {speeds}")
    return max((length / speed for length, speed in pairs), default=0.0)


def train_balanced(
    comm: Communicator,
    model: nn.Module,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    *,
    batch_size: int,
    steps: int,
    adapt: bool = True,
    weighted: bool = True,
    seconds_per_example: float = 1.0,
    rate: float = 0.1,
) -> tuple[list[BalancedStep], nn.Module]:
    """What each step of a training took, and the trained model.

    The first step has equal parts. Every rank then tells all how many examples per second it did, and with `adapt` the
    next parts are in proportion to that.

    Args:
        weighted: False averages the ranks' means as if each were of equally many examples, which is wrong.
        seconds_per_example: what an example costs a rank at full speed; `network.stragglers` says who is slower, on
            virtual time (`simulate`) and on real processes that sleep for it (`run` with a network, emulated).

    Raises:
        ValueError: if `batch_size` is less than the number of ranks, for the speed of each must be seen, or an example
            costs nothing.
    """
    positive(seconds_per_example=seconds_per_example)
    if batch_size < comm.world_size:
        raise ValueError(f"batch_size must be at least the {comm.world_size} ranks, got {batch_size}")
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    lengths, done = part_lengths(batch_size, [1] * comm.world_size), []
    speeds = [torch.ones(1, dtype=torch.float64) for _ in range(comm.world_size)]
    for batch in islice(random_batches(len(labels), batch_size), steps):
        part = batch.split(lengths)[comm.rank]
        comm.barrier()
        began_s = comm.now()
        comm.compute(seconds_per_example * len(part))
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs[part]), labels[part]).backward()
        speed = torch.tensor([len(part) / (comm.now() - began_s)]).double() if len(part) else speeds[comm.rank].clone()
        average_gradients_in_buckets(comm, model, examples=len(part) if weighted else None)
        optimizer.step()
        done.append(BalancedStep(tuple(lengths), comm.now() - began_s))
        all_gather(comm, speeds, speed)
        if adapt:
            lengths = part_lengths(batch_size, [speed.item() for speed in speeds])
    return done, model


_NO_STEP = -1


class RedundantRun(NamedTuple):
    """What the collector, rank 0, saw of a redundant training.

    Attributes:
        step_ends_s: when each step's last part came.
        dropped: gradients that came too late to count.
        parameters: the trained ones, in one row.
    """

    step_ends_s: list[float]
    dropped: int
    parameters: torch.Tensor


def expected_step_s(parts: int, copies: int, mean_s: float = 1.0) -> float:
    """Mean seconds of a step that all workers begin together: the slowest part's fastest copy.

    A worker takes an exponentially distributed time of `mean_s`. The fastest of c is then exponential
    with mean / c, and the slowest of p such takes 1 + 1/2 + ... + 1/p as long. In a training a worker that lost ends
    its old step before it begins the next one, so that steps take somewhat longer.

    Raises:
        ValueError: if `copies` is less than 1.

    Source: W. Feller, An Introduction to Probability Theory and Its Applications, volume 2, 1971, section I.6.

    >>> expected_step_s(parts=4, copies=1), expected_step_s(parts=4, copies=2)
    (2.083..., 1.041...)
    """
    at_least(1, copies=copies)
    return mean_s / copies * sum(1 / number for number in range(1, parts + 1))


def random_seconds(worker: int, step: int, mean_s: float = 1.0, seed: int = 0) -> float:
    """How long a worker takes for a step: the same for the same numbers, wherever it is asked."""
    return random.Random(f"{seed} {worker} {step}").expovariate(1 / mean_s)


def train_redundantly(
    comm: Communicator,
    model: nn.Module,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    *,
    copies: int,
    steps: int,
    batch_size: int = 32,
    rate: float = 0.2,
    seconds: Callable[[int, int], float] = random_seconds,
) -> RedundantRun | None:
    """Train with every part of a batch on `copies` workers; rank 0 collects and returns what it saw, the others None.

    Workers are the ranks from 1, and `copies` neighbors have the same part. The parameters are to the last bit those
    of `copies=1` with as many parts, whoever was first.

    Args:
        seconds: how long (worker, step) takes; workers count from 0.

    Raises:
        ValueError: unless `copies` divides the number of workers.

    Cost: each worker gets the parameters and sends a gradient for every step that it takes part in.
    """
    workers = comm.world_size - 1
    if not 1 <= copies <= workers or workers % copies:
        raise ValueError(f"copies must divide the {workers} workers, got {copies}")
    plan = _Plan(workers // copies, copies, steps, batch_size, len(labels))
    if comm.rank == 0:
        return _collect(comm, model, plan, rate)
    _work(comm, model, plan, inputs, labels, seconds)
    return None


class _Plan(NamedTuple):
    parts: int
    copies: int
    steps: int
    batch_size: int
    examples: int

    def part_of(self, rank: int) -> int:
        return (rank - 1) // self.copies

    def batch_parts(self, step: int) -> list[torch.Tensor]:
        """The examples of each part of a step's batch, the same wherever it is asked."""
        return split_batch(next(random_batches(self.examples, self.batch_size, seed=step)), self.parts)


def _collect(comm: Communicator, model: nn.Module, plan: _Plan, rate: float) -> RedundantRun:
    """Rank 0: take gradients from whoever is done, step when each part is there, answer with the step that is due."""
    parameters = parameters_to_vector(model.parameters()).detach()
    letter = torch.empty_like(_letter(_NO_STEP, parameters))
    gradients: dict[int, torch.Tensor] = {}  # of the step that is due, by part
    waiting: list[int] = []  # workers without an answer: their part of that step is there already
    step_ends_s: list[float] = []
    running = comm.world_size - 1
    due = 0
    dropped = 0
    while running:
        worker = comm.recv(letter)
        (step, gradient), part = _read(letter, len(parameters)), plan.part_of(worker)
        if step == due and part not in gradients:
            gradients[part] = gradient.clone()
        elif step != _NO_STEP:
            dropped += 1
        if len(gradients) == plan.parts:
            parameters -= rate * torch.stack([gradients.pop(part) for part in range(plan.parts)]).sum(0)
            step_ends_s.append(comm.now())
            due += 1
        waiting.append(worker)
        for rank in [rank for rank in waiting if plan.part_of(rank) not in gradients]:
            waiting.remove(rank)
            comm.send(_letter(due if due < plan.steps else _NO_STEP, parameters), rank)
            running -= due == plan.steps
    return RedundantRun(step_ends_s, dropped, parameters)


def _work(
    comm: Communicator,
    model: nn.Module,
    plan: _Plan,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    seconds: Callable[[int, int], float],
) -> None:
    """A worker: compute its part of whatever step is due, until none is."""
    gradient = torch.zeros_like(parameters_to_vector(model.parameters()).detach())
    step = _NO_STEP
    while True:
        letter = _letter(step, gradient)
        comm.send(letter, 0)
        comm.recv(letter, src=0)
        step, parameters = _read(letter, len(gradient))
        if step == _NO_STEP:
            return
        vector_to_parameters(parameters.clone(), model.parameters())
        part = plan.batch_parts(step)[plan.part_of(comm.rank)]
        model.zero_grad()
        loss = functional.cross_entropy(model(inputs[part]), labels[part], reduction="sum") / plan.batch_size
        loss.backward()
        gradient = torch.cat([_gradient_of(parameter) for parameter in model.parameters()])
        comm.compute(seconds(comm.rank - 1, step), label=f"step {step}")


def _gradient_of(parameter: nn.Parameter) -> torch.Tensor:
    """In one row; zeros where the parameter is frozen, or was not used."""
    return (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad).flatten()


def _letter(step: int, content: torch.Tensor) -> torch.Tensor:
    """A whole number's bits and the content, in the content's dtype."""
    whole = torch.int32 if content.element_size() <= 4 else torch.int64
    return torch.cat([torch.tensor([step], dtype=whole, device=content.device).view(content.dtype), content])


def _read(letter: torch.Tensor, length: int) -> tuple[int, torch.Tensor]:
    """The step, and a view of the content."""
    bits, content = letter[: len(letter) - length], letter[len(letter) - length :]
    return int(bits.view(torch.int32 if letter.element_size() <= 4 else torch.int64)), content
