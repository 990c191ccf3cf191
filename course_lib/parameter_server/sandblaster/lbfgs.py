"""L-BFGS without access to the vectors: it yields the commands of `vector_server`, and gets numbers back.

names    what they are                                                      made by
x  g     parameters and gradient                                            the servers; the workers
d        direction of the step                                              `two_loop_recursion`
x0 g0    x and g before the step
s3 y3    a pair of the history: a step, and how much it changed g           `remember`

Each function here is a generator: `yield` gives a command, and is the number that comes back, if any. Who executes the
commands decides where the vectors are: a `Coordinator` has them on many servers, a test in one place.

Source: J. Nocedal, "Updating quasi-Newton matrices with limited storage", Math. Comp. 35(151), 1980.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from course_lib.parameter_server.sandblaster.vector_server import Command

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
