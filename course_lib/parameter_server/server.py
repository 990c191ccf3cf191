"""Parameter servers: one in thirty lines, and the hardened one, which holds a shard and checks what it gets.

A server takes gradients and answers pulls, as its policy says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from course_lib.parameter_server.actor import Actor, Message, Outbox
from course_lib.parameter_server.policies import Policy, admits, takes
from course_lib.parameter_server.staleness import FULL_WEIGHT, StalenessWeight


class SimpleServer(Actor):
    """A minimal parameter server at address 0: `updates` steps of plain gradient descent, and no check of messages."""

    def __init__(self, parameters: torch.Tensor, policy: Policy, workers: Iterable[int], rate: float, updates: int):
        self.parameters = parameters
        self.policy = policy
        self.rate = rate
        self.updates = updates
        self.version = 0
        self.clocks = dict.fromkeys(workers, 0)  # gradients that each worker has pushed
        self.gradients: list[Any] = []  # for the next update
        self.pulls: dict[int, Message] = {}  # not yet answered, by worker

    @property
    def finished(self) -> bool:
        return not self.clocks

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a push, a pull or a goodbye; update if there are gradients enough; answer whom the policy admits."""
        if message.kind == "push":
            self.clocks[message.sender] = message.clock
            if takes(self.policy, message.version, self.version):
                self.gradients.append(message.payload)
        elif message.kind == "pull":
            self.pulls[message.sender] = message
        elif message.kind == "goodbye":
            del self.clocks[message.sender]
        if len(self.gradients) == self.policy.gradients_per_update and self.version < self.updates:
            self.parameters = self.parameters - self.rate * sum(self.gradients) / len(self.gradients)
            self.version, self.gradients = self.version + 1, []
        return self.answers()

    def answers(self) -> Outbox:
        """Parameters for whom the policy admits; once all updates are made, a stop for everybody."""
        slowest, outbox = min(self.clocks.values(), default=0), []
        for pull in list(self.pulls.values()):
            asked = {"has_version": pull.version, "clock": pull.clock}
            over = self.version == self.updates
            if over or admits(self.policy, **asked, version=self.version, slowest_clock=slowest):
                del self.pulls[pull.sender]
                row = Message("parameters", 0, version=self.version, payload=self.parameters)
                outbox.append((pull.sender, Message("stop", 0) if over else row))
        return outbox


Optimizer = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Sgd:
    """The parameters one step down the gradient, as a new tensor."""

    rate: float

    def __call__(self, parameters: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        return torch.sub(parameters, gradient, alpha=self.rate)


class Update(NamedTuple):
    """One update: when it was made, of which gradients, and the parameters after it if they were to be kept.

    `staleness` and `weights` have an entry for each push: the server's version less the version that the gradient was
    computed on, and how much the staleness_weight let it count.
    """

    at_s: float
    staleness: tuple[int, ...]
    weights: tuple[float, ...]
    parameters: torch.Tensor | None


class Server(Actor):
    """A parameter server that holds one shard. It never changes parameters in place: each version is a new tensor.

    Args:
        rank: its own address.
        parameters: its shard, one row; None: messages carry no payload and only versions are counted.
        workers: addresses of those who push and pull.
        optimizer: gives the new parameters for the old ones and a gradient.
        staleness_weight: how much a stale gradient counts.
        updates: stop after so many. Workers leave when the first server stops them: where servers drop gradients, each
            for itself, the others may then have made fewer.
        seconds: stop at the first message after so many.
        keep_every: keep the parameters of version k, 2k, ... in `log`, where k is this number.
        acknowledges: answer each push that is in. One that comes twice (same sender and clock) counts once, with or
            without.
    """

    def __init__(
        self,
        rank: int,
        parameters: torch.Tensor | None,
        policy: Policy,
        workers: Iterable[int],
        optimizer: Optimizer = Sgd(0.1),
        *,
        staleness_weight: StalenessWeight = FULL_WEIGHT,
        updates: float = math.inf,
        seconds: float = math.inf,
        keep_every: int = 0,
        acknowledges: bool = False,
    ) -> None:
        self.rank = rank
        self.parameters = parameters
        self.version = 0
        self.policy = policy
        self.optimizer = optimizer
        self.staleness_weight = staleness_weight
        self.clocks = dict.fromkeys(workers, 0)  # gradients that each worker still here has pushed
        self.log: list[Update] = []
        self.dropped: list[int] = []  # staleness of the gradients that were thrown away
        self._updates = updates
        self._seconds = seconds
        self._keep_every = keep_every
        self._acknowledges = acknowledges
        self._pulls: dict[int, Message] = {}  # those not yet answered, by sender
        self._sum: torch.Tensor | None = None
        self._count = 0
        self._pushes: list[tuple[int, float]] = []  # staleness and weight of what is in the sum
        self._over = updates < 1

    @property
    def finished(self) -> bool:
        return not self.clocks

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a push, a pull or a goodbye; return the answers that the policy allows now.

        Raises:
            ValueError: if the message is of another kind, or a gradient is not as long as the shard.
        """
        self.check(message)
        answers: Outbox = []
        self._over = self._over or now_s >= self._seconds
        if message.kind == "push":
            self._take(message)
            if self._acknowledges and not self._over:
                answers.append((message.sender, Message("acknowledge", self.rank, message.clock, self.version)))
        elif message.kind == "pull":
            self._pulls[message.sender] = message
        else:
            self.clocks.pop(message.sender, None)
            if self._pulls.pop(message.sender, None) is not None:
                answers.append((message.sender, Message("stop", self.rank)))
        if self._is_due() and not self._over:
            self._update(now_s)
        return answers + self._answer_pulls()

    def check(self, message: Message) -> None:
        """Refuse another kind, and a gradient of another length: one number would be added to every parameter.

        Raises:
            ValueError: saying what it holds and what it got.
        """
        if message.kind not in ("push", "pull", "goodbye"):
            raise ValueError(f"server {self.rank} cannot handle a message of kind {message.kind!r}")
        if message.kind != "push" or message.payload is None or self.parameters is None:
            return
        if message.payload.shape != self.parameters.shape:
            held, got = len(self.parameters), len(message.payload)
            raise ValueError(
                f"server {self.rank} holds {held} parameters, worker {message.sender} pushed {got} numbers"
            )

    def _take(self, push: Message) -> None:
        """Add a gradient to the sum, or drop it if it is late; a duplicate is ignored."""
        if self._over or not self._is_new(push):
            return
        self.clocks[push.sender] = push.clock
        staleness = self.version - push.version
        weight = self.staleness_weight.weight(staleness) if takes(self.policy, push.version, self.version) else 0.0
        if weight == 0:
            self.dropped.append(staleness)
            return
        self._pushes.append((staleness, weight))
        self._count += push.count
        if push.payload is not None:
            pushed = push.payload if self.parameters is None else push.payload.to(self.parameters.device)
            weighted = pushed if weight == 1 else pushed * weight
            self._sum = weighted if self._sum is None else self._sum + weighted

    def _is_new(self, push: Message) -> bool:
        """False for a duplicate: the gradient is in already, or its worker has left."""
        return push.clock > self.clocks.get(push.sender, math.inf)

    def _is_due(self) -> bool:
        """True if there are gradients enough, or if all who could still push wait for the update themselves.

        Who pulls for the first time does not wait: it will be answered now, and push.
        """
        wait = {sender for sender, pull in self._pulls.items() if pull.version >= self.version}
        everyone_waits = self.policy.waits_for_update and wait >= self.clocks.keys()
        return self._count >= self.policy.gradients_per_update or (self._count > 0 and everyone_waits)

    def _update(self, now_s: float) -> None:
        """Make the next version from the mean of the gradients."""
        if self._sum is not None and self.parameters is not None:
            self.parameters = self.optimizer(self.parameters, self._sum / self._count)
        self.version += 1
        kept = self.parameters if self._keep_every and self.version % self._keep_every == 0 else None
        staleness, weights = zip(*self._pushes, strict=True)
        self._note(Update(now_s, staleness, weights, kept))
        self._sum = None
        self._count = 0
        self._pushes = []
        self._over = self._over or self.version >= self._updates

    def _note(self, update: Update) -> None:
        self.log.append(update)

    def _answer_pulls(self) -> Outbox:
        """Answer every pull that may be answered now."""
        slowest = min(self.clocks.values(), default=0) if self.policy.slack is not None else 0
        answers: Outbox = []
        for sender, pull in list(self._pulls.items()):
            if self._over:
                answer = Message("stop", self.rank)
            elif self._admits(pull, slowest):
                answer = Message("parameters", self.rank, version=self.version, payload=self.parameters)
            else:
                continue
            del self._pulls[sender]
            answers.append((sender, answer))
        return answers

    def _admits(self, pull: Message, slowest_clock: int) -> bool:
        return admits(
            self.policy,
            has_version=pull.version,
            clock=pull.clock,
            version=self.version,
            slowest_clock=slowest_clock,
        )
