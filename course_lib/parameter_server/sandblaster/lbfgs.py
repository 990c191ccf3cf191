"""L-BFGS without access to the vectors, and the coordinator that runs it on the servers: both see only numbers.

names    what they are                                                      made by
x  g     parameters and gradient                                            the servers; the workers
d        direction of the step                                              `two_loop_recursion`
x0 g0    x and g before the step
s3 y3    a pair of the history: a step, and how much it changed g           `remember`

Each function of the optimizer is a generator: `yield` gives a command of `vector_server`, and is the number that comes
back, if any. Who executes the commands decides where the vectors are: a `Coordinator` has them on many servers, a test
in one place.

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

Source: J. Nocedal, "Updating quasi-Newton matrices with limited storage", Math. Comp. 35(151), 1980.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from course_lib.parameter_server.actor import Actor, Message, Outbox
from course_lib.parameter_server.sandblaster.vector_server import Command
from course_lib.parameter_server.work_queue import WorkQueue, employ

T = TypeVar("T")
Commands = Generator[Command, Any, T]

EVALUATE = Command("evaluate", "g", "x")
_MIN_CURVATURE = 1e-10  # a pair whose step hardly changed the gradient, or against its direction, is not kept


class CurvaturePair(NamedTuple):
    """What is known of a pair of the history: its number, s . y, and y . y."""

    number: int
    s_dot_y: float
    y_dot_y: float


class Iterate(NamedTuple):
    """One L-BFGS iteration: the loss after it, its step (as a multiple of d), evaluations of the batch until then."""

    loss: float
    step: float
    evaluations: int


class StepRule(Protocol):
    """Line search: how far to go along d. `take` leaves x and g at the new point; with a step of 0, at the old one."""

    def take(self, loss: float, slope: float, first: bool) -> Commands[tuple[float, float, int]]:
        """Go; the step, the loss there, and how often the batch was evaluated. `slope` is g . d."""
        ...


def two_loop_recursion(pairs: list[CurvaturePair]) -> Commands[None]:
    """Leave in d what L-BFGS makes of -g and the history, the oldest pair first.

    Cost: 2m dot products one after the other for m pairs, each a message to every server and one back.

    >>> len(list(two_loop_recursion([])))
    2
    """
    yield Command("copy", "d", "g")
    yield Command("scale", "d", factor=-1.0)
    alphas = []
    for pair in reversed(pairs):
        alphas.append((yield Command("dot", f"s{pair.number}", "d")) / pair.s_dot_y)
        yield Command("add", "d", f"y{pair.number}", -alphas[-1])
    if pairs:
        yield Command("scale", "d", factor=pairs[-1].s_dot_y / pairs[-1].y_dot_y)
    for pair, alpha in zip(pairs, reversed(alphas), strict=True):
        beta = (yield Command("dot", f"y{pair.number}", "d")) / pair.s_dot_y
        yield Command("add", "d", f"s{pair.number}", alpha - beta)


def remember(number: int, step: float) -> Commands[CurvaturePair]:
    """Make pair `number` of the history from the step just taken."""
    s, y = f"s{number}", f"y{number}"
    yield Command("copy", s, "d")
    yield Command("scale", s, factor=step)
    yield Command("copy", y, "g")
    yield Command("add", y, "g0", -1.0)
    return CurvaturePair(number, (yield Command("dot", s, y)), (yield Command("dot", y, y)))


@dataclass(frozen=True)
class FixedStep:
    """A step of `rate`, at first of at most 1 in the sum of its numbers' sizes: what `torch.optim.LBFGS` does."""

    rate: float = 1.0

    def take(self, loss: float, slope: float, first: bool) -> Commands[tuple[float, float, int]]:
        step = self.rate
        if first:
            step *= min(1.0, 1.0 / (yield Command("abs_sum", "g")))
        yield Command("add", "x", "d", step)
        return step, (yield EVALUATE), 1


@dataclass(frozen=True)
class WolfeStep:
    """A step after which the loss has fallen enough and the slope has flattened enough, found by halving or doubling.

    Dean et al. do not say which line search they use. This one needs only the loss and one dot product at each point
    that it tries, and the point that it takes is the last one tried, so that g belongs to it.

    Args:
        decrease: the loss must fall by this share of what the slope promised.
        curvature: the slope must flatten to this share of itself.
        most: tries; after that it goes back to where it was.

    Source: A. Lewis and M. Overton, "Nonsmooth optimization via quasi-Newton methods", Math. Program. 141, 2013.
    """

    decrease: float = 1e-4
    curvature: float = 0.9
    most: int = 25

    def take(self, loss: float, slope: float, first: bool) -> Commands[tuple[float, float, int]]:
        step = min(1.0, 1.0 / (yield Command("abs_sum", "g"))) if first else 1.0
        too_short, too_long = 0.0, float("inf")
        for tries in range(1, self.most + 1):
            yield Command("copy", "x", "x0")
            yield Command("add", "x", "d", step)
            new_loss = yield EVALUATE
            if not new_loss <= loss + self.decrease * step * slope:  # "not": no number is too high as well
                too_long = step
            elif (yield Command("dot", "g", "d")) < self.curvature * slope:
                too_short = step
            else:
                return step, new_loss, tries
            step = (too_short + too_long) / 2 if too_long < float("inf") else 2 * step
        yield Command("copy", "x", "x0")
        yield Command("copy", "g", "g0")
        return 0.0, loss, self.most


def lbfgs_commands(iterations: int, history: int = 10, step_rule: StepRule | None = None) -> Commands[list[Iterate]]:
    """Minimize with at most `iterations` steps and `history` pairs; the first entry of the result is the beginning.

    It ends early where the direction does not go down, or `step_rule` (None: `WolfeStep()`) finds no step.
    """
    rule = step_rule or WolfeStep()
    pairs = list[CurvaturePair]()
    free = list(range(history + 1))
    loss = yield EVALUATE
    iterates = [Iterate(loss, 0.0, 1)]
    while len(iterates) <= iterations:
        yield from two_loop_recursion(pairs)
        slope = yield Command("dot", "g", "d")
        if not slope < 0:
            break
        yield Command("copy", "x0", "x")
        yield Command("copy", "g0", "g")
        step, loss, evaluations = yield from rule.take(loss, slope, first=len(iterates) == 1)
        if step == 0:
            break
        iterates.append(Iterate(loss, step, iterates[-1].evaluations + evaluations))
        pair = yield from remember(free[0], step)
        if pair.s_dot_y > _MIN_CURVATURE:
            pairs.append(pair)
            free.pop(0)
        if len(pairs) > history:
            free.append(pairs.pop(0).number)
    return iterates


def commands_of(commands: Commands[T], answer: float) -> list[Command]:
    """All commands, when each that asks for a number gets the same `answer`.

    >>> [command.name for command in commands_of(two_loop_recursion([]), answer=1.0)]
    ['copy', 'scale']
    """
    given, said = [], next(commands, None)
    while said is not None:
        given.append(said)
        try:
            said = commands.send(answer if said.answered else None)
        except StopIteration:
            break
    return given


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
