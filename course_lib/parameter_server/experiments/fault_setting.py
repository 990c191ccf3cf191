"""What is tried in a trial with faults: who works on what, who is killed when."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from course_lib.parameter_server.server import Optimizer, Sgd
from course_lib.parameter_server.shards import Shard, shard_plan
from course_lib.parameter_server.worker import Gradient

__all__ = ["DISPATCHER", "FaultSetting", "Kill", "kill_plan", "whole_numbers"]

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
class FaultSetting:
    """Who works, and what befalls them. Addresses: 0 is the dispatcher, then come the servers, then the workers.

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


def kill_plan(setting: FaultSetting) -> list[Kill]:
    """Who is killed when, in order; the same for the same seed.

    >>> [kill.victim for kill in kill_plan(FaultSetting(kills=3, victims="servers"))]
    ['server', 'server', 'server']
    """
    draw = random.Random(setting.seed)
    moments = sorted(draw.sample(range(setting.portions), setting.kills))
    return [Kill(m, draw.uniform(0, 2 * setting.portion_s), draw.choice(_VICTIMS[setting.victims])) for m in moments]
