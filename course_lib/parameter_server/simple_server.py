"""The parameter server in thirty lines: a policy, and messages that give messages. `server` has the hardened one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from course_lib.parameter_server.actor import Actor, Outbox
from course_lib.parameter_server.messages import Message
from course_lib.parameter_server.policies import Policy, admits, takes

__all__ = ["SimpleServer"]


class SimpleServer(Actor):
    """One server at address 0 that makes `updates` updates by plain gradient descent, and trusts every message."""

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
