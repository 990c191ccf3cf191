"""Four ways to train on the same machines, measured alike: central or decentralized, synchronous or asynchronous."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from course_lib.checks import positive
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator, Trace, simulate
from course_lib.data_parallel.other_ways.gossip import SharedRow, keep_averaging
from course_lib.parameter_server.experiments.training import Setting, settings_of, train
from course_lib.parameter_server.policies import Policy, asynchronous
from course_lib.tasks import digit_batches, load_digits


class Corner(NamedTuple):
    """One way to train, simulated. A round is as many gradients as there are workers.

    `busiest_bytes` is what the busiest rank sends and receives in a round; `staleness` is the mean over all gradients;
    `loss` is on all training images after a fixed virtual time (decentralized: of the mean of all ranks' parameters).
    """

    place: str
    time: str
    name: str
    seconds_per_round: float
    busiest_bytes: float
    staleness: float
    loss: float


@dataclass(frozen=True)
class PeerSetting(Setting):
    """A `Setting` without servers; what it says of them is not looked at.

    Args:
        pause_s: how long half of the ranks rest between two averagings of gossip.
    """

    policy: Policy = field(default_factory=asynchronous)
    seconds: float = 3.0
    pause_s: float = 0.05


@settings_of(Setting)
def central_corner(setting: Setting) -> Corner:
    """Train with a parameter server for so many virtual seconds. Arguments are those of `Setting`.

    >>> from course_lib.parameter_server import synchronous
    >>> corner = central_corner(synchronous(4), seconds=1.0)
    >>> corner.place, corner.time, corner.staleness, corner.loss < 2
    ('centralized', 'synchronous', 0.0, True)
    """
    positive(seconds=setting.seconds)
    policy, seconds = setting.policy, setting.seconds
    history = train(**(vars(setting) | {"updates": math.inf}))
    rounds = history.gradients[-1] / setting.workers
    return Corner(
        place="centralized",
        time="synchronous" if policy.waits_for_update else "asynchronous",
        name=policy.name,
        seconds_per_round=history.time_s[-1] / rounds,
        busiest_bytes=_busiest_bytes(history.trace) / rounds,
        staleness=history.mean_staleness,
        loss=history.loss_at(seconds),
    )


@settings_of(PeerSetting)
def decentralized_corner(setting: PeerSetting) -> Corner:
    """Train without a server: each rank steps down its own gradient, and a ring all-reduce averages the parameters.

    From common parameters that is one step of all down the mean gradient. Workers draw the same batches and take the
    same times as with a server. Arguments are those of `PeerSetting`.
    """
    shortest_s = setting.speeds.gradient_s * (1 - setting.speeds.spread)
    rounds = math.ceil(setting.seconds / shortest_s) + 1  # enough for the fastest
    report = simulate(
        _decentralized, setting.workers, (setting, rounds), network=setting.network, ranks="greenlets", device="cpu"
    )
    rows = [[row for at_s, row in steps if at_s <= setting.seconds][-1] for steps in report.results]
    mean = torch.stack(rows).mean(0)
    return Corner(
        place="decentralized",
        time="synchronous",
        name="ring all-reduce",
        seconds_per_round=report.seconds / rounds,
        busiest_bytes=_busiest_bytes(report.trace) / rounds,
        staleness=0.0,
        loss=setting.task.loss(mean, load_digits().train_inputs, load_digits().train_labels),
    )


def _decentralized(comm: Communicator, setting: PeerSetting, rounds: int) -> list[tuple[float, torch.Tensor]]:
    """One rank's parameters after each round, and when."""
    row = setting.task.initial(setting.seed)
    examples = digit_batches(setting.batch_size, rank=comm.rank, seed=setting.seed)
    times = setting.speeds.of_worker(comm.rank, setting.seed)
    steps = [(0.0, row.clone())]
    for _ in range(rounds):
        comm.compute(next(times), "gradient")
        row -= setting.rate * setting.task.gradient(row, *next(examples))
        ring_all_reduce(comm, row, "mean")
        steps.append((comm.now(), row.clone()))
    return steps


@settings_of(PeerSetting)
def gossip_corner(setting: PeerSetting) -> Corner:
    """Train without a server and without a common clock: each rank at its own pace, averaging with one neighbor at a
    time beside its training. The number of workers must be even.

    Staleness is how often a gradient's parameters were averaged while it was computed.

    Arguments are those of `PeerSetting`.

    Source: X. Lian et al., "Asynchronous decentralized parallel stochastic gradient descent", ICML 2018.
    """
    report = simulate(_gossip, setting.workers, (setting,), network=setting.network, ranks="greenlets", device="cpu")
    mean = torch.stack([row for row, _ in report.results]).mean(0)
    stale = [value for _, values in report.results for value in values]
    rounds, data = len(stale) / setting.workers, load_digits()
    return Corner(
        place="decentralized",
        time="asynchronous",
        name="gossip",
        seconds_per_round=report.seconds / rounds,
        busiest_bytes=_busiest_bytes(report.trace) / rounds,
        staleness=sum(stale) / max(len(stale), 1),
        loss=setting.task.loss(mean, data.train_inputs, data.train_labels),
    )


def _gossip(comm: Communicator, setting: PeerSetting) -> tuple[torch.Tensor, list[int]]:
    """One rank's parameters at the end, and the staleness of its gradients."""
    shared, stale = SharedRow(setting.task.initial(setting.seed)), []
    examples = digit_batches(setting.batch_size, rank=comm.rank, seed=setting.seed)
    times = setting.speeds.of_worker(comm.rank, setting.seed)
    averaging = comm.start(keep_averaging, shared, setting.pause_s, setting.seed)
    while comm.now() < setting.seconds:
        before, gradient = shared.averagings, setting.task.gradient(shared.read(), *next(examples))
        comm.compute(next(times), "gradient")
        shared.move(-setting.rate * gradient)
        stale.append(shared.averagings - before)
    shared.over = True
    averaging.wait()
    return shared.read(), stale


def _busiest_bytes(trace: Trace) -> int:
    """The most that one rank sent and received, together."""
    return max(sent + received for sent, received in zip(trace.bytes_sent, trace.bytes_received, strict=True))
