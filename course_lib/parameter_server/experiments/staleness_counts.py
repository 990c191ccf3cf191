"""Staleness counted on versions alone, without parameters, and the learning rate at which asynchronous SGD diverges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from itertools import count

import torch

from course_lib.checks import at_least
from course_lib.parameter_server.actor import Actor
from course_lib.parameter_server.experiments.training import Speeds
from course_lib.parameter_server.messages import Message
from course_lib.parameter_server.policies import Policy
from course_lib.parameter_server.server import Server
from course_lib.parameter_server.staleness import Staleness
from course_lib.parameter_server.worker import Worker
from course_lib.tasks import load_digits


def largest_stable_rate(curvature: float, staleness: int) -> float:
    """The learning rate above which gradient descent diverges when every gradient is `staleness` updates old.

    x(t + 1) = x(t) - rate × curvature × x(t - τ) goes to 0 while 0 < rate × curvature < 2 sin(π / (4τ + 2)). Fresh
    gradients bear 2 / curvature, gradients that are τ old about π / 2τ as much.

    Source: S. Levin and R. May, "A note on difference-delay equations", Theoretical Population Biology 9(2), 1976.

    >>> [round(largest_stable_rate(1.0, staleness), 3) for staleness in (0, 1, 7)]
    [2.0, 1.0, 0.209]
    """
    if curvature <= 0 or staleness < 0:
        raise ValueError(f"curvature must be positive and staleness 0 or more, got {curvature} and {staleness}")
    return 2 * math.sin(math.pi / (4 * staleness + 2)) / curvature


def largest_curvature() -> float:
    """The largest curvature of the squared loss on the training digits: that of its steepest direction.

    It is the largest eigenvalue of the inputs' second moments, the bias's constant input among them.
    """
    inputs = load_digits().train_inputs
    with_bias = torch.cat([inputs, torch.ones(len(inputs), 1)], dim=1).double()
    return float(torch.linalg.eigvalsh(with_bias.T @ with_bias / len(inputs))[-1])


def measure_staleness(
    policy: Policy, *, workers: int, updates: int, speeds: Speeds | None = None, seed: int = 0
) -> Staleness:
    """Count the staleness of every gradient in so many updates of one server. Gradients take time, messages none.

    Raises:
        ValueError: if there is no worker.

    Cost: about 0.03 ms for each gradient.

    >>> from course_lib.parameter_server import softsync, synchronous
    >>> measure_staleness(synchronous(4), workers=4, updates=10).counts
    {0: 40}
    >>> sorted(measure_staleness(softsync(30, 1), workers=30, updates=20).counts)
    [0, 1, 2]
    """
    at_least(1, workers=workers)
    speeds, crew = speeds or Speeds(), range(1, workers + 1)
    server = Server(0, None, policy, crew, updates=updates)
    seconds = {rank: speeds.of_worker(rank - 1, seed) for rank in crew}
    actors: dict[int, Actor] = {rank: Worker(rank, {0: None}, lambda parameters, clock: None) for rank in crew}
    _deliver({0: server} | actors, lambda rank, message: next(seconds[rank]) if message.kind == "parameters" else 0.0)
    return Staleness.of(value for update in server.log for value in update.staleness)


def _deliver(actors: Mapping[int, Actor], busy_s: Callable[[int, Message], float]) -> None:
    """Hand out messages in the order of their times until there are none; `busy_s` says what handling one takes."""
    on_the_way: list[tuple[float, int, int, Message]] = []
    numbers = count()
    for actor in actors.values():
        for dst, message in actor.begin():
            heappush(on_the_way, (0.0, next(numbers), dst, message))
    while on_the_way:
        now_s, _, rank, message = heappop(on_the_way)
        done_s = now_s + busy_s(rank, message)
        for dst, answer in actors[rank].handle(message, now_s):
            heappush(on_the_way, (done_s, next(numbers), dst, answer))
