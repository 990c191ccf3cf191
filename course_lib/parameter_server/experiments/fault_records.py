"""Fault injection as data: who works on what and is killed when, and the account of every update afterwards."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from course_lib.parameter_server.server import Optimizer, Sgd
from course_lib.parameter_server.shards import Shard, shard_plan
from course_lib.parameter_server.worker import Gradient

DISPATCHER = 0  # its address
Progress = Callable[[int, int], None]
_VICTIMS = {"workers": ("worker",), "servers": ("server",), "both": ("worker", "server")}


def whole_numbers(parameters: torch.Tensor | None, portion: int) -> torch.Tensor:
    """A gradient of whole numbers, another one for each portion: sums are exact in any order.

    >>> whole_numbers(torch.zeros(3), portion=4)
    tensor([ 5., 10., 15.])
    """
    assert parameters is not None
    return (portion + 1) * torch.arange(1, len(parameters) + 1, dtype=parameters.dtype)


@dataclass(frozen=True)
class FaultTrialSetting:
    """Settings of a trial with killed processes. Addresses: 0 is the dispatcher, then the servers, then the workers.

    Args:
        gradient: called with all the parameters and the number of a portion, in the workers' processes.
        progress: called with the portions done and all portions.
        portions: gradients to be made; each is an update on every server.
        kills: how many processes are killed, at moments drawn from `seed`.
        victims: "workers", "servers" or "both".
        initial: the parameters to begin with.
        optimizer: what a server does with a gradient; the default adds it.
        portion_s: what a worker computes takes at least so long.
        silence_s: a worker repeats what a server has not answered for so long.
        keep_every: a server keeps its state after so many messages, and begins a new log.
        logs: False: servers write down no messages between states, to see what is lost.
        remembers: False: servers apply a portion as often as it comes, to see what is applied twice.
        fsync: servers also survive a loss of power.
        timeout_s: give up after so long.
    """

    gradient: Gradient = whole_numbers
    workers: int = 3
    servers: int = 2
    portions: int = 200
    kills: int = 4
    victims: str = "both"
    initial: torch.Tensor = field(default_factory=lambda: torch.zeros(1000, dtype=torch.float64))
    optimizer: Optimizer = field(default_factory=lambda: Sgd(-1.0))
    portion_s: float = 0.002
    silence_s: float = 0.05
    keep_every: int = 40
    logs: bool = True
    remembers: bool = True
    fsync: bool = False
    timeout_s: float = 60.0
    seed: int = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.victims not in _VICTIMS:
            raise ValueError(f"victims must be one of {', '.join(_VICTIMS)}, got {self.victims!r}")
        if min(self.workers, self.servers) < 1 or not 0 <= self.kills <= self.portions:
            raise ValueError(f"a trial needs a worker, a server and at most one kill for each portion, got {self}")

    @property
    def held(self) -> dict[int, Shard]:
        """What each server holds, by address."""
        return dict(enumerate(shard_plan([len(self.initial)], self.servers), start=1))


class Kill(NamedTuple):
    """Kill a "worker" or a "server" so long after so many portions were done."""

    after_done: int
    delay_s: float
    victim: str


def kill_plan(setting: FaultTrialSetting) -> list[Kill]:
    """Who is killed when, in order; the same for the same seed.

    >>> [kill.victim for kill in kill_plan(FaultTrialSetting(kills=3, victims="servers"))]
    ['server', 'server', 'server']
    """
    draw = random.Random(setting.seed)
    moments = sorted(draw.sample(range(setting.portions), setting.kills))
    return [Kill(m, draw.uniform(0, 2 * setting.portion_s), draw.choice(_VICTIMS[setting.victims])) for m in moments]


class Event(NamedTuple):
    """Something that happened: at `at_s` of the real clock, to `who` ("worker 2", "server 0").

    `what` is one of: "back": it is there, for the first time or again (`number`: the updates that a server has);
    "portion" and "done": a worker was given, and has done, this one; "kill" and "death": by us, and by itself;
    "hand over": the portion that was taken from a dead worker; "torn record": a server that came back found the last
    record of its log cut off, so many bytes of it there.
    """

    at_s: float
    who: str
    what: str
    number: int = -1


class Audit(NamedTuple):
    """Audit of a killed server's log: what is on the disk against what was acknowledged until then.

    `missing` must be 0: acknowledged and not present. `extra` are present and not acknowledged yet: under way.
    """

    at_s: float
    server: int
    acknowledged: int
    present: int
    missing: int
    extra: int


@dataclass(frozen=True)
class FaultReport:
    """Result of a trial on real processes: lost and duplicated updates, each of one portion's gradient on one server.

    Attributes:
        done: portions in the order in which they were reported done: acknowledged by every server.
        applied: by server, how often each portion is present, read from the disk after all had been killed.
        parameters: read from the disk as well.
        expected: the sum of exactly what was applied; None unless gradients are whole numbers.
        workers_killed, servers_killed: by us; `deaths` are those that nobody planned.
        handed_over: portions taken from dead workers and given to others.
        repeated: pushes that came again and were recognized, counted by the last server processes.
        audits: one for each server that was killed.
        events: in order of time.
    """

    done: list[int]
    applied: list[Counter[int]]
    parameters: torch.Tensor
    expected: torch.Tensor | None
    workers_killed: int
    servers_killed: int
    deaths: int
    handed_over: int
    repeated: int
    audits: list[Audit]
    events: list[Event]
    seconds: float
    origin: str = "measured"

    @property
    def kills(self) -> int:
        """Workers and servers that we killed."""
        return self.workers_killed + self.servers_killed

    @property
    def acknowledged(self) -> int:
        """Updates that were acknowledged to their worker."""
        return len(self.done) * len(self.applied)

    @property
    def present(self) -> int:
        """Updates that are in the parameters at the end, each counted once."""
        return sum(len(applied) for applied in self.applied)

    @property
    def lost(self) -> int:
        """Updates that were acknowledged and are not present."""
        return sum(len(set(self.done) - applied.keys()) for applied in self.applied)

    @property
    def duplicated(self) -> int:
        """Updates that were applied a second time, or more often."""
        return sum(applied.total() - len(applied) for applied in self.applied)

    @property
    def exact(self) -> bool:
        """True if the parameters are the sum of exactly what was applied."""
        return self.expected is not None and torch.equal(self.parameters, self.expected)
