"""Each portion of the work is applied exactly once on every server, whoever dies: three actors.

dispatcher                      worker                            servers
  | <--------------- ready --- |
  | -- portion --------------> |
  |                            | -- pull ----------------------> |
  |                            | <-------------- parameters ---- |
  |                            |    computes a gradient          |
  |                            | -- push (portion) ------------> |   writes it down, then applies it,
  |                            | <------------- acknowledge ---- |   unless it has this portion already
  | <---------------- done --- |    once all have acknowledged   |
  | -- portion --------------> |                                 |

A worker dies: the dispatcher hands its portion to another. Servers that had it already acknowledge it and do nothing.
A server dies: workers repeat what it has not answered, until it is back. A message or an acknowledgement is lost: the
same. At least once, by repeating, and at most once, by remembering: together exactly once.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import cloudpickle
import torch

from course_lib.checks import at_least
from course_lib.parameter_server.actor import Actor, Message, Outbox
from course_lib.parameter_server.fault_tolerance.write_ahead_log import WriteAheadLog
from course_lib.parameter_server.policies import asynchronous
from course_lib.parameter_server.server import Optimizer, Server, Update
from course_lib.parameter_server.shards import Shard
from course_lib.parameter_server.work_queue import WorkQueue, employ
from course_lib.parameter_server.worker import Gradient, Worker


class Dispatcher(Actor):
    """Hands each portion to whoever is free, again if its worker dies, and the last ones twice.

    Args:
        rank: its own address.
        portions: how many there are.
        copies: how often an outstanding portion may be in hand at the same time, see `WorkQueue`.

    Attributes:
        done: portions done, in the order of their ends; each is acknowledged by every server.
        holding: the portion that each worker has in hand.
        handed_over: portions that were taken from the dead.
    """

    def __init__(self, rank: int, portions: int, copies: int = 2) -> None:
        self.rank, self.queue = rank, WorkQueue(portions, copies)
        self.done: list[int] = []
        self.holding: dict[int, int] = {}
        self.handed_over: list[int] = []
        self._dead: set[int] = set()
        self._free: deque[int] = deque()

    @property
    def finished(self) -> bool:
        """True once every portion is done, and every worker that has one in hand has been told to stop."""
        return self.queue.complete and not self.holding

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a worker that is free, and perhaps what it has done; the first result of a portion counts."""
        if message.kind == "done":
            self.holding.pop(message.sender, None)
            if self.queue.accept(message.number):
                self.done.append(message.number)
        elif message.kind != "ready":
            raise ValueError(f"the dispatcher cannot handle a message of kind {message.kind!r}")
        if message.sender not in self._dead:  # its last message may come after the news of its death
            self._free.append(message.sender)
        return self._employ()

    def requeue_work_of(self, worker: int) -> Outbox:
        """Requeue the portion that a dead worker was given, and hand it to another."""
        self._dead.add(worker)
        self._free = deque(rank for rank in self._free if rank != worker)
        portion = self.holding.pop(worker, None)
        if portion is not None and self.queue.take_back(portion):
            self.handed_over.append(portion)
        return self._employ()

    def _employ(self) -> Outbox:
        """A portion for everybody who is free; at the end, leave to go."""
        outbox: Outbox = []
        for worker, number in employ(self._free, self.queue, over=self.queue.complete):
            if number is None:
                outbox.append((worker, Message("stop", self.rank)))
            else:
                self.holding[worker] = number
                outbox.append((worker, Message("portion", self.rank, number=number)))
        return outbox


class QueueWorker(Worker):
    """A worker that is done with a portion only when every server has acknowledged it.

    Args:
        dispatcher: who hands out portions.
        gradient: called with all the parameters and the number of the portion.
    """

    def __init__(self, rank: int, dispatcher: int, servers: dict[int, Shard | None], gradient: Gradient) -> None:
        super().__init__(rank, servers, gradient)
        self.dispatcher = dispatcher
        self.portion = -1  # in hand
        self._unacknowledged: set[int] = set()

    def begin(self) -> Outbox:
        return [(self.dispatcher, Message("ready", self.rank))]

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a portion, parameters for it, or an acknowledgement."""
        if message.kind == "portion":
            self.portion = message.number
            return self._pulls()
        if message.kind == "acknowledge":
            return self._take_acknowledgement(message)
        if message.kind == "stop":
            self._leaving = True
            return []
        return super().handle(message, now_s)

    def _take_acknowledgement(self, message: Message) -> Outbox:
        """Done, if it was the last one that was missing."""
        if message.clock != self.clock or message.sender not in self._unacknowledged:
            return []
        self._unacknowledged.remove(message.sender)
        done = Message("done", self.rank, self.clock, number=self.portion)
        return [] if self._unacknowledged else [(self.dispatcher, done)]

    @property
    def _number(self) -> int:
        return self.portion

    def _go_on(self) -> Outbox:
        """After its pushes it waits: first for all acknowledgments, then for the next portion."""
        self._unacknowledged = set(self.servers)
        return []


class IdempotentServer(Server):
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

    def _is_new(self, push: Message) -> bool:
        """The portion tells, not the clock: another worker may have done it, or the same one before its death."""
        if self.remembers and push.number in self.applied:
            self.repeated += 1
            return False
        self.applied[push.number] += 1
        return True

    def _note(self, update: Update) -> None:
        """Nothing: it is kept whole again and again, and must not grow with every push."""


class Durable(Actor):
    """An actor that writes a message down before it acts on it, so that nothing it has answered to can be forgotten.

    Actors do the same for the same messages in the same order. So the messages are the log, and recovery is reading
    them again: no other code than that which ran before.

    Args:
        actor: it can be pickled; only a push changes what it knows.
        keep_every: keep the actor itself after so many messages, and begin a new log.
        logs: False: only keep the actor now and then, for the experiment of what is lost then.

    Raises:
        ValueError: if `keep_every` is less than 1.
    """

    def __init__(self, actor: Actor, log: WriteAheadLog, *, keep_every: int = 100, logs: bool = True) -> None:
        at_least(1, keep_every=keep_every)
        self.actor = actor
        self.log = log
        self.keep_every = keep_every
        self.logs = logs
        self._unkept = log.length

    @property
    def finished(self) -> bool:
        return self.actor.finished

    def begin(self) -> Outbox:
        return self.actor.begin()

    def check(self, message: Message) -> None:
        self.actor.check(message)

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """First write, then act. The answers leave after that, when this has returned.

        What the actor refuses is not written: it would be refused again in each life, and there would be no other.
        """
        self.check(message)
        changes = message.kind == "push"
        if changes and self.logs:
            self.log.append(b"".join(message.to_bytes()))
        answers = self.actor.handle(message, now_s)
        self._unkept += changes
        if self._unkept >= self.keep_every:
            self.log.keep(cloudpickle.dumps(self.actor))
            self._unkept = 0
        return answers


def recover(make: Callable[[], Any], log: WriteAheadLog) -> Any:
    """The actor as it was: the state that was kept last, or `make()`, after all messages since."""
    actor = make() if log.state is None else cloudpickle.loads(log.state)
    for record in log.records:
        actor.handle(Message.from_bytes([record[:64], record[64:]]))
    return actor
