"""The coordinator of Sandblaster: it runs an optimizer and sees no parameter and no gradient, only numbers.

coordinator            servers (a part of each vector)         workers
  | <----------------------------------------- ready ------------ |
  | -- command ----------> |   arithmetic on its parts            |
  | <---------- result --- |   a part of a dot product            |
  | -- command evaluate -> |   collects a new gradient            |
  | -- portion -------------------------------------------------> |
  |                        | <----------------- pull ------------ |   once for each evaluation
  |                        | -- parameters ---------------------> |
  |                        | <----------------- push ------------ |   the portion's gradient
  | <----------------------------------------- done ------------- |   the portion's loss; it is free again
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from course_lib.parameter_server.actor import Actor, Outbox
from course_lib.parameter_server.messages import Message
from course_lib.parameter_server.sandblaster.lbfgs import Commands
from course_lib.parameter_server.work_queue import WorkQueue, employ


class Evaluation(NamedTuple):
    """One evaluation of the whole batch: from when to when, the loss, how many portions were handed out again."""

    start_s: float
    end_s: float
    loss: float
    duplicates: int


class Coordinator(Actor):
    """Executes commands on the servers' vectors and hands the batch to the workers.

    Args:
        rank: its own address.
        commands: an optimizer, as `lbfgs_commands` is one.
        servers, workers: their addresses.
        portions: how many the batch is cut into.
        copies: how often an outstanding portion may be handed out, see `WorkQueue`.

    `result` is what the optimizer returned, `batches` has an entry for each evaluation.
    """

    def __init__(
        self,
        rank: int,
        commands: Commands[Any],
        servers: Iterable[int],
        workers: Iterable[int],
        portions: int,
        copies: int = 2,
    ) -> None:
        self.rank = rank
        self.commands = commands
        self.servers = list(servers)
        self.workers = set(workers)
        self.result: Any = None
        self.batches: list[Evaluation] = []
        self._sizes = portions, copies
        self._queue: WorkQueue | None = None  # of the evaluation under way
        self._start_s = 0.0
        self._parts: dict[int, float] = {}  # of a dot product by server, or of a loss by portion
        self._free: deque[int] = deque()  # workers that have nothing to do
        self._over = False

    @property
    def finished(self) -> bool:
        return self._over and not self.workers

    def begin(self) -> Outbox:
        return self._advance(None, 0.0)

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a server's part of a dot product, or a worker that is free and perhaps the loss of its portion."""
        outbox: Outbox = []
        if message.kind == "result":
            outbox += self._take_result(message, now_s)
        elif message.kind in ("ready", "done"):
            self._free.append(message.sender)
            if message.kind == "done":
                outbox += self._take_loss(message, now_s)
        else:
            raise ValueError(f"the coordinator cannot handle a message of kind {message.kind!r}")
        return outbox + self._employ()

    def _take_result(self, result: Message, now_s: float) -> Outbox:
        """Go on once every server has answered. Parts are added in the order of the servers, not of their coming."""
        self._parts[result.sender] = _number(result)
        if len(self._parts) < len(self.servers):
            return []
        return self._advance(self._sum_of_parts(), now_s)

    def _take_loss(self, done: Message, now_s: float) -> Outbox:
        """Go on once every portion is done; a second result of the same portion, or of an old batch, is dropped."""
        if self._queue is None or done.version != len(self.batches) or not self._queue.accept(done.number):
            return []
        self._parts[done.number] = _number(done)
        if not self._queue.complete:
            return []
        loss = self._sum_of_parts()
        self.batches.append(Evaluation(self._start_s, now_s, loss, self._queue.duplicates))
        self._queue = None
        return self._advance(loss, now_s)

    def _sum_of_parts(self) -> float:
        parts, self._parts = self._parts, {}
        return sum(parts[key] for key in sorted(parts))

    def _advance(self, answer: float | None, now_s: float) -> Outbox:
        """Give commands until one must be answered first."""
        outbox: Outbox = []
        while True:
            try:
                command = self.commands.send(answer)
            except StopIteration as end:
                self.result, self._over = end.value, True
                return outbox + [(server, Message("stop", self.rank)) for server in self.servers]
            if command.name == "evaluate":
                self._queue, self._start_s = WorkQueue(*self._sizes), now_s
            message = command.message(self.rank, version=len(self.batches), count=self._sizes[0])
            outbox += [(server, message) for server in self.servers]
            if command.answered:
                return outbox
            answer = None

    def _employ(self) -> Outbox:
        """Give everybody who is free a portion, or at the end leave to go."""
        outbox: Outbox = []
        for worker, number in employ(self._free, self._queue, over=self._over):
            if number is None:
                self.workers.remove(worker)
                outbox.append((worker, Message("stop", self.rank)))
            else:
                outbox.append((worker, Message("portion", self.rank, version=len(self.batches), number=number)))
        return outbox


def _number(message: Message) -> float:
    assert message.payload is not None
    assert message.payload.numel() == 1, "the coordinator sees numbers, never vectors"
    return float(message.payload)
