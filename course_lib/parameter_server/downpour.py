"""Downpour SGD: replicas that fetch, compute and push at their own pace, and shards that adapt each parameter's rate.

replica: the WHOLE model               shard 0            shard 1: each a part of the parameters, and of
  | -- pull ----------------------------> |                  |     their sums of squared gradients
  | -- pull ------------------------------------------------> |
  | <------------------- parameters v7 -- |                  |
  | <-------------------------------------- parameters v8 -- |     shards have no common clock
  |   n_fetch gradients                   |                  |
  | -- push after every n_push ---------> |                  |     each push is an update, at once
  | -- push ------------------------------------------------> |

Many summaries say that each replica owns a part of the parameters. It does not: the shards do, and every replica holds
the whole model and computes whole gradients. (A replica of Dean et al. may itself be spread over several machines.)

Source: J. Dean et al., "Large scale distributed deep networks", NIPS 2012, section 4.1 and appendix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from course_lib.parameter_server.actor import Actor, Mailbox, Message, Outbox
from course_lib.parameter_server.server import Server
from course_lib.parameter_server.shards import Shard, put, shard_length, take


@dataclass
class Adagrad:
    """A step down the gradient at a rate of each parameter's own: rate / root of the sum of its squared gradients.

    It keeps that sum, so every shard needs one of its own, and needs nothing from the other shards.

    Source: J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods", JMLR 12, 2011.

    >>> step = Adagrad(rate=1.0)
    >>> step(torch.zeros(2), torch.tensor([3.0, 0.5])).tolist()
    [-1.0, -1.0]
    """

    rate: float
    squares: torch.Tensor | None = None
    epsilon: float = 1e-10  # keeps a parameter that never had a gradient from 0 / 0

    def __call__(self, parameters: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        squares = torch.zeros_like(gradient) if self.squares is None else self.squares
        self.squares = torch.addcmul(squares, gradient, gradient)
        return torch.addcdiv(parameters, gradient, self.squares.sqrt() + self.epsilon, value=-self.rate)


class WarmStart(Actor):
    """A server with a warm start: until `updates` are made only replica `first` is served, other messages wait."""

    def __init__(self, server: Server, first: int, updates: int) -> None:
        self.server = server
        self.first = first
        self.updates = updates
        self._early: list[Message] = []

    @property
    def finished(self) -> bool:
        return self.server.finished

    @property
    def warm(self) -> bool:
        """True once the others may join: `first` has made its updates, or has left."""
        return self.server.version >= self.updates or self.first not in self.server.clocks

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Let the server handle the message, if its time has come, and all that have waited for that."""
        if not self.warm and message.sender != self.first:
            self._early.append(message)
            return []
        outbox = self.server.handle(message, now_s)
        while self.warm and self._early:
            outbox += self.server.handle(self._early.pop(0), now_s)
        return outbox


def replicate(
    mailbox: Mailbox,
    rank: int,
    plan: Sequence[Shard],
    gradient: Callable[[torch.Tensor], torch.Tensor],
    *,
    n_fetch: int = 1,
    n_push: int = 1,
    local_rate: float = 0.1,
) -> int:
    """Run a Downpour replica until a shard says stop; the number of gradients made.

    Dean et al. fetch in the background; here a replica waits for what it fetches. Its pushes wait for nothing.

    Args:
        plan: what each server holds; servers have the ranks from 0 on.
        n_fetch: gradients from one fetch to the next.
        n_push: gradients that it adds up before it pushes their sum.
        local_rate: between fetches it goes down its own gradients at this rate, on its own copy.
    """
    clock, accrued = 0, None
    while True:
        if clock % n_fetch == 0:
            fetched = _fetch(mailbox, rank, plan)
            if fetched is None:
                break
            parameters, versions = fetched
        newest = gradient(parameters)
        clock += 1
        accrued = newest if accrued is None else accrued + newest
        parameters = torch.sub(parameters, newest, alpha=local_rate)
        if clock % n_push == 0:
            for server, shard in enumerate(plan):
                push = Message("push", rank, clock, versions[server], payload=take(accrued, shard))
                mailbox.send(server, push)
            accrued = None
    for server in range(len(plan)):
        mailbox.send(server, Message("goodbye", rank, clock))
    mailbox.close()
    return clock


def _fetch(mailbox: Mailbox, rank: int, plan: Sequence[Shard]) -> tuple[torch.Tensor, list[int]] | None:
    """The whole model and each shard's version of it; None once a shard says stop."""
    for server in range(len(plan)):
        mailbox.send(server, Message("pull", rank))
    answers = sorted((mailbox.receive() for _ in range(len(plan))), key=lambda message: message.sender)
    row = torch.empty(sum(map(shard_length, plan)), device=getattr(answers[0].payload, "device", None))
    for answer, shard in zip(answers, plan, strict=True):
        if answer.payload is None:
            return None
        put(row, shard, answer.payload)
    return row, [answer.version for answer in answers]
