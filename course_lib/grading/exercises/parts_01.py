"""Judges of answers of chapter 1 that may be right in many ways: the parts of an epoch, and gradients to be found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["EpochParts", "moves_the_wrong_way"]

Judge = Callable[[Any], str | None]


class EpochParts:
    """The parts of one epoch, as its ranks' answers come in, rank 0 first; each is judged beside those before it.

    `before` are the examples of earlier epochs.
    """

    def __init__(self, order: torch.Tensor, world_size: int, before: set[int]) -> None:
        self.order, self.world_size = order.tolist(), world_size
        self.before = before - set(self.order)
        self.parts: list[list[int]] = []

    def judge(self, rank: int) -> Judge:
        """What is wrong with this rank's part, or with all of them together once the last has come."""

        def wrong(value: Any) -> str | None:
            try:
                part = [int(number) for number in _numbers(value)]
            except (TypeError, ValueError):
                return (
                    f"gave {_form(value)}; asked for is a tensor or a list of this rank's examples, one after the other"
                )
            del self.parts[rank:]
            self.parts.append(part)
            return self._wrong_part(rank) or (self._wrong_together() if rank == self.world_size - 1 else None)

        return wrong

    def _wrong_part(self, rank: int) -> str | None:
        strange = set(self.parts[rank]) - set(self.order)
        if strange & self.before:
            return (
                f"holds {min(strange & self.before)}, which is no example of the order {_show(self.order)}, but was in "
                "an earlier call's: something lives on from call to call, a default argument or a global"
            )
        if strange and max(self.parts[rank]) <= len(self.order) and not strange & set(self.order):
            return (
                f"gave {_show(self.parts[rank])}, which are places in the order {_show(self.order)}, not examples of "
                "it: take order[place]"
            )
        if strange:
            return f"holds {min(strange)}, which is no example of the order {_show(self.order)}"
        seen = {number: owner for owner, part in enumerate(self.parts[:rank]) for number in part}
        for number in self.parts[rank]:
            if number in seen:
                return self._twice(number, rank, seen[number])
        return None

    def _twice(self, number: int, rank: int, other: int) -> str:
        first = self.order[: -len(self.order) % self.world_size]
        if len(self.order) % self.world_size and number in first and self._is_padded():
            return (
                f"gave {_show(self.parts[rank])}: example {number} is rank {other}'s already. You repeat the first "
                "examples until the ranks divide the epoch, as torch's DistributedSampler does; those count twice"
            )
        return f"gave {_show(self.parts[rank])}: example {number} is in rank {other}'s part, too"

    def _is_padded(self) -> bool:
        return len({len(part) for part in self.parts}) == 1

    def _wrong_together(self) -> str | None:
        counts = Counter(number for part in self.parts for number in part)
        lengths, length = [len(part) for part in self.parts], len(self.order)
        missing = [number for number in self.order if not counts[number]]
        whose = "" if self.world_size == 1 else f"; the parts of all ranks hold {', '.join(map(str, lengths))} examples"
        if missing:
            rest = length % self.world_size
            if missing == self.order[length - rest :] and rest:
                return (
                    f"completes an epoch without {_show(missing)}: the rest of {length} / {self.world_size} is "
                    f"dropped, {rest} of {length} examples"
                )
            return f"completes an epoch without {_show(missing)}, which is in no part{whose}"
        if max(lengths) - min(lengths) > 1:
            return (
                f"completes an epoch in which the parts hold {', '.join(map(str, lengths))} examples: lengths may "
                "differ by one at most, for everybody waits for the longest"
            )
        return "holds an example twice" if max(counts.values(), default=1) > 1 else None


def moves_the_wrong_way(world_size: int) -> Judge:
    """Whether one Adagrad step on each rank, averaged, goes against the step of the mean gradient.

    The first step of Adagrad moves by the rate against the sign of the gradient, whatever its size.
    """

    def wrong(value: Any) -> str | None:
        try:
            gradients = [float(number) for number in _numbers(value)]
        except (TypeError, ValueError):
            return f"gave {_form(value)}; asked for is a list of {world_size} numbers, one gradient for each rank"
        if len(gradients) != world_size:
            return f"gave {len(gradients)} gradients for {world_size} ranks"
        if not all(map(math.isfinite, gradients)):
            return f"gave {_show(gradients)}, and not all of that are finite numbers"
        mean = sum(gradients) / world_size
        joined, averaged = -_sign(mean), -sum(map(_sign, gradients)) / world_size
        moves = f"gave {_show(gradients)}, mean {mean:.4g}"
        if not joined:
            return f"{moves}: the joined batch says: stay. It must want to move the weight somewhere"
        if joined * averaged < 0:
            return None
        if joined == averaged:
            return f"{moves}: both move the weight by {joined:+g} × rate, the bug does not show"
        if not averaged:
            return f"{moves}: the joined batch moves it by {joined:+g} × rate, averaging parameters not at all; nearly"
        return f"{moves}: {joined:+g} × rate is right, averaging parameters gives {averaged:+.3g} × rate: the same way"

    return wrong


def _numbers(value: Any) -> list:
    """The entries of a tensor, an array, a list or a tuple.

    Raises:
        TypeError: if it is something else.
    """
    if hasattr(value, "tolist"):
        return list(value.tolist())
    if not isinstance(value, (list, tuple)):
        raise TypeError("neither a tensor nor a list")
    return list(value)


def _form(value: Any) -> str:
    """What something is that is no row of numbers."""
    if value is None:
        return "nothing (None)"
    if hasattr(value, "tolist"):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}, and not all of its entries are numbers"
    name = getattr(value, "type_name", type(value).__name__)
    return f"a {name}"


def _sign(number: float) -> float:
    return math.copysign(1.0, number) if number else 0.0


def _show(numbers: list) -> str:
    words = [f"{number:g}" for number in numbers]
    return "[" + ", ".join(words[:6] + ["…"] * (len(words) > 6)) + "]"
