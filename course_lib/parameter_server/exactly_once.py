"""Each portion of the work is applied exactly once on every server, whoever dies: three roles.

foreman                      worker                            servers
  | <--------------- ready --- |
  | -- portion --------------> |
  |                            | -- pull ----------------------> |
  |                            | <-------------- parameters ---- |
  |                            |    computes a gradient          |
  |                            | -- push (portion) ------------> |   writes it down, then applies it,
  |                            | <------------- acknowledge ---- |   unless it has this portion already
  | <---------------- done --- |    once all have acknowledged   |
  | -- portion --------------> |                                 |

A worker dies: the foreman hands its portion to another. Servers that had it already acknowledge it and do nothing.
A server dies: workers repeat what it has not answered, until it is back. A letter or an acknowledgement is lost: the
same. At least once, by repeating, and at most once, by remembering: together exactly once.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cloudpickle
import torch

from course_lib.parameter_server.journal import Journal
from course_lib.parameter_server.letters import Letter
from course_lib.parameter_server.mailbox import Mail, Role
from course_lib.parameter_server.policies import asynchronous
from course_lib.parameter_server.portions import Portions
from course_lib.parameter_server.server import Optimizer, Server
from course_lib.parameter_server.shards import Shard
from course_lib.parameter_server.worker import Gradient, Worker

__all__ = ["CarefulWorker", "Durable", "Foreman", "OnceServer", "recover"]


class Foreman(Role):
    """Hands each portion to whoever is free, again if its worker dies, and the last ones twice.

    Args:
        rank: its own address.
        portions: how many there are.
        copies: how often an outstanding portion may be in hand at the same time, see `Portions`.

    Attributes:
        done: portions done, in the order of their ends; each is acknowledged by every server.
        holding: the portion that each worker has in hand.
        handed_over: portions that were taken from the dead.
    """

    def __init__(self, rank: int, portions: int, copies: int = 2) -> None:
        self.rank, self.portions = rank, Portions(portions, copies)
        self.done: list[int] = []
        self.holding: dict[int, int] = {}
        self.handed_over: list[int] = []
        self._dead: set[int] = set()
        self._free: deque[int] = deque()

    @property
    def finished(self) -> bool:
        """True once every portion is done, and every worker that has one in hand has been told to stop."""
        return self.portions.complete and not self.holding

    def handle(self, letter: Letter, now_s: float = 0.0) -> Mail:
        """Take a worker that is free, and perhaps what it has done; the first result of a portion counts."""
        if letter.kind == "done":
            self.holding.pop(letter.sender, None)
            if self.portions.accept(letter.number):
                self.done.append(letter.number)
        elif letter.kind != "ready":
            raise ValueError(f"the foreman cannot handle a letter of kind {letter.kind!r}")
        if letter.sender not in self._dead:  # its last letter may come after the news of its death
            self._free.append(letter.sender)
        return self._employ()

    def bury(self, worker: int) -> Mail:
        """Somebody noticed that `worker` is dead: what it had in hand goes to another."""
        self._dead.add(worker)
        self._free = deque(rank for rank in self._free if rank != worker)
        portion = self.holding.pop(worker, None)
        if portion is not None and self.portions.take_back(portion):
            self.handed_over.append(portion)
        return self._employ()

    def _employ(self) -> Mail:
        """A portion for everybody who is free; at the end, leave to go."""
        mail: Mail = []
        while self._free:
            number = self.portions.hand_out()
            if number is None and not self.portions.complete:
                break
            worker = self._free.popleft()
            if number is None:
                mail.append((worker, Letter("stop", self.rank)))
                continue
            self.holding[worker] = number
            mail.append((worker, Letter("portion", self.rank, number=number)))
        return mail


class CarefulWorker(Worker):
    """A worker that is done with a portion only when every server has acknowledged it.

    Args:
        foreman: who hands out portions.
        gradient: called with all the parameters and the number of the portion.
    """

    def __init__(self, rank: int, foreman: int, servers: dict[int, Shard | None], gradient: Gradient) -> None:
        super().__init__(rank, servers, self._of_portion)
        self.foreman, self.portion_gradient = foreman, gradient
        self.portion = -1  # in hand
        self._unacknowledged: set[int] = set()

    def _of_portion(self, parameters: torch.Tensor | None, clock: int) -> torch.Tensor | None:
        return self.portion_gradient(parameters, self.portion)

    def begin(self) -> Mail:
        return [(self.foreman, Letter("ready", self.rank))]

    def handle(self, letter: Letter, now_s: float = 0.0) -> Mail:
        """Take a portion, parameters for it, or an acknowledgement."""
        if letter.kind == "portion":
            self.portion = letter.number
            return self._pulls()
        if letter.kind == "acknowledge":
            return self._take_acknowledgement(letter)
        if letter.kind == "stop":
            self._leaving = True
            return []
        return super().handle(letter, now_s)

    def _take_acknowledgement(self, letter: Letter) -> Mail:
        """Done, if it was the last one that was missing."""
        if letter.clock != self.clock or letter.sender not in self._unacknowledged:
            return []
        self._unacknowledged.remove(letter.sender)
        done = Letter("done", self.rank, self.clock, number=self.portion)
        return [] if self._unacknowledged else [(self.foreman, done)]

    def _step(self) -> Mail:
        """Compute and push as every worker does; the next pull must wait for the next portion."""
        pushes = [(server, letter) for server, letter in super()._step() if letter.kind == "push"]
        self._waits_for, self._unacknowledged = set(), set(self.servers)
        return pushes

    def _push(self, server: int, gradient: torch.Tensor | None) -> Letter:
        return replace(super()._push(server, gradient), number=self.portion)


class OnceServer(Server):
    """An asynchronous server that applies each portion once, from workers that it need not know beforehand.

    It has no end of its own: it serves until it is killed, so that coming back is the only way to begin.

    Source: G. Candea and A. Fox, "Crash-only software", HotOS 2003.

    Args:
        remembers: False: apply whatever comes, for the experiment of what happens then.

    Attributes:
        applied: how often each portion was applied.
        repeated: pushes of portions that it had already.
    """

    def __init__(
        self, rank: int, parameters: torch.Tensor | None, optimizer: Optimizer, *, remembers: bool = True
    ) -> None:
        super().__init__(rank, parameters, asynchronous(), workers=(), optimizer=optimizer, acknowledges=True)
        self.remembers = remembers
        self.applied: Counter[int] = Counter()
        self.repeated = 0

    @property
    def finished(self) -> bool:
        return False

    def _take(self, push: Letter) -> None:
        if self.remembers and push.number in self.applied:
            self.repeated += 1
            return
        self.applied[push.number] += 1
        self.clocks[push.sender] = push.clock - 1  # the portion tells whether this push is new, not the clock
        super()._take(push)


class Durable(Role):
    """A role that writes a letter down before it acts on it, so that nothing it has answered to can be forgotten.

    Roles do the same for the same letters in the same order. So the letters are the log, and recovery is reading them
    again: no other code than that which ran before.

    Args:
        role: it can be pickled; whatever `letter` changes in it comes from letters of `kinds`.
        keep_every: keep the role itself after so many letters, and begin a new log.
        logs: False: only keep the role now and then, for the experiment of what is lost then.
    """

    def __init__(
        self,
        role: Role,
        journal: Journal,
        *,
        kinds: tuple[str, ...] = ("push",),
        keep_every: int = 100,
        logs: bool = True,
    ) -> None:
        self.role, self.journal, self.kinds, self.keep_every, self.logs = role, journal, kinds, keep_every, logs
        self._unkept = journal.length

    @property
    def finished(self) -> bool:
        return self.role.finished

    def begin(self) -> Mail:
        return self.role.begin()

    def handle(self, letter: Letter, now_s: float = 0.0) -> Mail:
        """First write, then act. The answers leave after that, when this has returned."""
        changes = letter.kind in self.kinds
        if changes and self.logs:
            self.journal.append(b"".join(letter.to_bytes()))
        answers = self.role.handle(letter, now_s)
        self._unkept += changes
        if self._unkept >= self.keep_every:
            self.journal.keep(cloudpickle.dumps(self.role))
            self._unkept = 0
        return answers


def recover(make: Callable[[], Any], journal: Journal) -> Any:
    """The role as it was: the state that was kept last, or `make()`, after all letters since."""
    role = make() if journal.state is None else cloudpickle.loads(journal.state)
    for record in journal.records:
        role.handle(Letter.from_bytes([record[:64], record[64:]]))
    return role
