"""A tree of servers: aggregators sum the gradients of their workers before they pass them up."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from course_lib.parameter_server.letters import Letter
from course_lib.parameter_server.mailbox import Mail, Role

__all__ = ["Aggregator"]


class Aggregator(Role):
    """A server to its children and a worker to its parent.

    It adds up one gradient of each child and pushes the sum, with the number of gradients in it, and a pull. The
    parameters that come back answer all its children. So a parent receives one gradient for each of its children,
    however many workers sit below them; its policy counts the workers: `synchronous(all workers)`.

    Args:
        rank: its own address.
        parent: a server, or another aggregator.
        children: workers, or aggregators.
    """

    def __init__(self, rank: int, parent: int, children: Iterable[int]) -> None:
        self.rank, self.parent = rank, parent
        self.children = set(children)
        self.clock = 0
        self._newest = Letter("parameters", rank, version=-1)
        self._asked = False
        self._pulls: dict[int, Letter] = {}
        self._pushes: list[Letter] = []
        self._stopped = False

    @property
    def finished(self) -> bool:
        return not self.children and not self._asked

    def begin(self) -> Mail:
        self._asked = True
        return [(self.parent, Letter("pull", self.rank, version=-1))]

    def handle(self, letter: Letter, now_s: float = 0.0) -> Mail:
        """Take a letter of a child or of the parent.

        Raises:
            ValueError: if it is of a kind that neither of them sends.
        """
        upwards: Mail = []
        if letter.kind == "push":
            self._pushes.append(letter)
        elif letter.kind == "pull":
            self._pulls[letter.sender] = letter
        elif letter.kind == "goodbye":
            self.children.discard(letter.sender)
            if not self.children:
                upwards.append((self.parent, Letter("goodbye", self.rank)))
        elif letter.kind in ("parameters", "stop"):
            self._asked, self._stopped = False, letter.kind == "stop"
            self._newest = letter if letter.kind == "parameters" else self._newest
        else:
            raise ValueError(f"aggregator {self.rank} cannot handle a letter of kind {letter.kind!r}")
        if self._pushes and len(self._pushes) >= len(self.children) and not self._stopped:
            upwards += self._push_up()
        return upwards + self._answer_pulls()

    def _push_up(self) -> Mail:
        """The sum of what the children pushed, and a pull."""
        self.clock += 1
        version = min(push.version for push in self._pushes)
        count = sum(push.count for push in self._pushes)
        total = _sum([push.payload for push in self._pushes if push.payload is not None])
        self._pushes, self._asked = [], True
        push = Letter("push", self.rank, self.clock, version, count, payload=total)
        return [(self.parent, push), (self.parent, Letter("pull", self.rank, self.clock, version))]

    def _answer_pulls(self) -> Mail:
        """Parameters for every child that has older ones; a stop for all, once the parent said so."""
        answers: Mail = []
        for child, pull in list(self._pulls.items()):
            if self._stopped or child not in self.children:
                answers.append((child, Letter("stop", self.rank)))
            elif self._newest.version > pull.version and not self._asked:
                newest = self._newest
                answers.append((child, Letter("parameters", self.rank, version=newest.version, payload=newest.payload)))
            else:
                continue
            del self._pulls[child]
        return answers


def _sum(payloads: list[torch.Tensor]) -> torch.Tensor | None:
    """The sum as a new tensor, or None of nothing."""
    return sum(payloads[1:], start=payloads[0].clone()) if payloads else None
