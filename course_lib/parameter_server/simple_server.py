"""The parameter server in thirty lines: a policy, and messages that give messages. `server` has the hardened one."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from course_lib.parameter_server.actor import Actor, Outbox
from course_lib.parameter_server.messages import Message
from course_lib.parameter_server.policies import Policy, admits, takes

__all__ = ["SimpleServer"]


class SimpleServer(Actor):
    """One server at address 0 that makes `updates` updates by plain gradient descent, and trusts every message."""

    def __init__(
        self, parameters: torch.Tensor, policy: Policy, workers: Iterable[int], rate: float, updates: int
    ) -> None:
        self.parameters, self.policy, self.rate, self.updates = parameters, policy, rate, updates
        self.version = 0
        self.clocks = dict.fromkeys(workers, 0)  # gradients that each worker has pushed
        self.gradients: list[torch.Tensor] = []  # for the next update
        self.pulls: dict[int, Message] = {}  # not yet answered, by worker

    @property
    def finished(self) -> bool:
        return not self.clocks

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a push, a pull or a goodbye; update if there are gradients enough; answer whom the policy admits."""
        if message.kind == "push":
            self.clocks[message.sender] = message.clock
            if takes(self.policy, message.version, self.version) and message.payload is not None:
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
            has = {"has_version": pull.version, "clock": pull.clock}
            if self.version == self.updates:
                answer = Message("stop", 0)
            elif admits(self.policy, **has, version=self.version, slowest_clock=slowest):
                answer = Message("parameters", 0, version=self.version, payload=self.parameters)
            else:
                continue
            del self.pulls[pull.sender]
            outbox.append((pull.sender, answer))
        return outbox
