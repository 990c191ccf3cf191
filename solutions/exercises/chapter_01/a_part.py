"""Exercise 01a: which examples of an epoch are whose. Any fair way to deal them out is right."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.chapter_01.shared import Judge, form_of, numbers_in, shown
from course_lib.grading.exercises.common import function_exercise


class EpochParts:
    """The parts of one epoch, as its ranks' answers come in, rank 0 first; each is judged beside those before it."""

    def __init__(self, order: torch.Tensor, world_size: int) -> None:
        self.order, self.world_size = order.tolist(), world_size
        self.parts: list[list[int]] = []

    def judge(self, rank: int) -> Judge:
        """What is wrong with this rank's part, or with all of them together once the last has come."""

        def wrong(value: Any) -> str | None:
            try:
                part = [int(number) for number in numbers_in(value)]
            except (TypeError, ValueError):
                return (
                    f"gave {form_of(value)}; asked for is a tensor or a list of this rank's examples, one after "
                    "the other"
                )
            del self.parts[rank:]
            self.parts.append(part)
            return self._wrong_part(rank) or (self._wrong_together() if rank == self.world_size - 1 else None)

        return wrong

    def _wrong_part(self, rank: int) -> str | None:
        strange = set(self.parts[rank]) - set(self.order)
        if strange and max(self.parts[rank]) <= len(self.order) and not strange & set(self.order):
            return (
                f"gave {shown(self.parts[rank])}, which are places in the order {shown(self.order)}, not examples of "
                "it: take order[place]"
            )
        if strange:
            return f"holds {min(strange)}, which is no example of the order {shown(self.order)}"
        seen = {number: owner for owner, part in enumerate(self.parts[:rank]) for number in part}
        for number in self.parts[rank]:
            if number in seen:
                return self._twice(number, rank, seen[number])
        return None

    def _twice(self, number: int, rank: int, other: int) -> str:
        first = self.order[: -len(self.order) % self.world_size]
        if len(self.order) % self.world_size and number in first and self._is_padded():
            return (
                f"gave {shown(self.parts[rank])}: example {number} is rank {other}'s already. You repeat the first "
                "examples until the ranks divide the epoch, as torch's DistributedSampler does; those count twice"
            )
        return f"gave {shown(self.parts[rank])}: example {number} is in rank {other}'s part, too"

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
                    f"completes an epoch without {shown(missing)}: the rest of {length} / {self.world_size} is "
                    f"dropped, {rest} of {length} examples"
                )
            return f"completes an epoch without {shown(missing)}, which is in no part{whose}"
        if max(lengths) - min(lengths) > 1:
            return (
                f"completes an epoch in which the parts hold {', '.join(map(str, lengths))} examples: lengths may "
                "differ by one at most, for everybody waits for the longest"
            )
        return "holds an example twice" if max(counts.values(), default=1) > 1 else None


def parts_of_epochs(rng: np.random.Generator) -> Iterator[Case]:
    """Every rank's part of several shuffled epochs; no example's number is a place in the order."""
    sizes = [(0, 1), (1, 1), (6, 1), (6, 2), (6, 3), (7, 3), (3, 5), (0, 4), (5, 4), (int(rng.integers(40, 99)), 7)]
    calls, judges = [], []
    for length, world_size in sizes:
        order = torch.from_numpy(100 + rng.choice(900, length, replace=False))
        epoch = EpochParts(order, world_size)
        for rank in range(world_size):
            calls.append((order, rank, world_size))
            judges.append(epoch.judge(rank))
    yield Case(1, calls, judges, label="the parts of an epoch")


def own_shuffle(case: Case, outcome: Outcome) -> str | None:
    """As many examples as there are, some of them twice and others never."""
    for _, group in groupby(_calls(case, outcome), key=lambda call: (id(call[0][0]), call[0][2])):
        epoch = list(group)
        order, world_size = epoch[0][0][0].tolist(), epoch[0][0][2]
        held = [int(number) for _, part in epoch for number in part]
        missing = sorted(set(order) - set(held))
        if len(held) == len(order) and missing and set(held) <= set(order):
            return (
                f"{len(order)} examples, {world_size} ranks: the parts hold {len(held)} in all, but some are there "
                f"twice and {missing[:4]} never. Does every rank shuffle for itself, or begin at another rank's place? "
                "`order` is shuffled already, the same on every rank: take a part of it as it is"
            )
    return None


def _calls(case: Case, outcome: Outcome) -> Iterator[tuple[tuple, Sequence]]:
    return zip(case.inputs, outcome.values, strict=True)


MISTAKES = r"""
You deal out by what the examples are (number % world_size), and not by their places in the order: with other numbers one rank may get all of them. Take every world_size-th place
    order[rank::world_size] -> order[order % world_size == rank]
... is dropped
    order[rank::world_size] -> order[rank * (len(order) // world_size) : (rank + 1) * (len(order) // world_size)]
... is in rank 0's part, too
    order[rank::world_size] -> order[rank * -(-len(order) // world_size) : (rank + 1) * -(-len(order) // world_size) + 1]
... Does every rank shuffle for itself
    order[rank::world_size] -> order[torch.randperm(len(order), generator=torch.Generator().manual_seed(rank))][rank::world_size]
... which are places in the order
    order[rank::world_size] -> torch.arange(len(order))[rank::world_size]
... DistributedSampler
    return order -> while len(order) % world_size:\n        order = torch.cat([order, order[: -len(order) % world_size]])\n    return order
... hold 3, 3, 1 examples: lengths may differ by one at most
    order[rank::world_size] -> order[rank * -(-len(order) // world_size) : (rank + 1) * -(-len(order) // world_size)]
"""

EXERCISE = function_exercise(
    __name__,
    cases=parts_of_epochs,
    mistakes=MISTAKES,
    before=(own_shuffle,),
    hints="""
Deal the examples out like cards: the first to rank 0, the second to rank 1, and so on. Who gets how many?
In Python, order[start::step] takes every step-th element from start on.
""",
)
