"""Asynchronous 1F1B as a schedule, and which version of the weights each pass uses: pure data.

It is 1F1B's order over all batches of the training. The pipeline is filled once and never drained: a stage takes its
step right after a batch's backward pass, while later batches are on their way with weights from before that step. A
stage with replicas takes batches in turns, and its replicas average the gradients of a round.

A version of a stage's weights is named by how many batches' gradients are in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import lcm
from typing import NamedTuple

from course_lib.pipeline.schedule import Operation, Schedule
from course_lib.pipeline.schedules import alternating

# The newest: no copies. Stashing: backward with the version of the forward pass. Vertical sync: every stage uses the
# version that the first one used for the batch.
WEIGHT_RULES = ("newest", "stashing", "vertical sync")


@dataclass(frozen=True)
class AsynchronousSchedule(Schedule):
    """A schedule whose micro-batches are whole batches, each with a step of its own.

    Attributes:
        replicas: how many ranks have each stage. They stand one behind the other, stage by stage.
    """

    replicas: tuple[int, ...]

    def rank_of(self, stage: int, micro_batch: int = 0) -> int:
        """The replica whose turn it is."""
        return sum(self.replicas[:stage]) + micro_batch % self.replicas[stage]

    def stage_of(self, rank: int) -> int:
        """The stage of a rank."""
        return next(stage for stage, ranks_so_far in enumerate(accumulate(self.replicas)) if rank < ranks_so_far)

    def ranks_of(self, stage: int) -> list[int]:
        """All ranks that have a stage."""
        return [self.rank_of(stage, number) for number in range(self.replicas[stage])]


def batches_under_way(replicas: Sequence[int], stage: int) -> int:
    """How many batches each replica of a stage lets in before one comes back; NOAM for the first stage.

    >>> [batches_under_way((7, 1), stage) for stage in range(2)], [batches_under_way((1, 1, 1), s) for s in range(3)]
    ([2, 1], [3, 2, 1])
    """
    return -(-sum(replicas[stage:]) // replicas[stage])


def asynchronous_1f1b(replicas: Sequence[int], batches: int) -> AsynchronousSchedule:
    """PipeDream's schedule: start-up, then one forward and one backward in turn on every rank, batches dealt in turns.

    Raises:
        ValueError: unless every stage has a rank, and every round of replicas has all its batches.

    Source: Harlap et al., "PipeDream", arXiv 1806.03377, section 3.3.

    >>> schedule = asynchronous_1f1b((2, 1), batches=4)
    >>> [" ".join(f"{kind}{number}" for kind, _, number in rank) for rank in schedule.ranks]
    ['F0 F2 B0 B2', 'F1 F3 B1 B3', 'F0 B0 F1 B1 F2 B2 F3 B3']
    """
    if not replicas or min(replicas) < 1 or batches < 1 or batches % lcm(*replicas):
        raise ValueError(f"the replicas {tuple(replicas)} must divide the batches and be at least 1, got {batches}")
    ranks = []
    for stage, count in enumerate(replicas):
        for replica in range(count):
            order = alternating(batches_under_way(replicas, stage), batches // count)
            ranks.append(tuple(Operation(kind, stage, number * count + replica) for kind, number in order))
    return AsynchronousSchedule("asynchronous 1F1B", len(replicas), batches, tuple(ranks), tuple(replicas))


class Versions(NamedTuple):
    """Which weights a batch's two passes through a stage use."""

    forward: int
    backward: int


def versions_used(schedule: AsynchronousSchedule, rule: str) -> dict[tuple[int, int], Versions]:
    """(stage, batch) -> versions, for one of `WEIGHT_RULES`.

    >>> versions_used(asynchronous_1f1b((1, 1, 1), batches=9), "newest")[0, 6]
    Versions(forward=4, backward=6)

    Raises:
        ValueError: if there is no such rule.

    Source: Harlap et al., arXiv 1806.03377, section 3.4.
    """
    if rule not in WEIGHT_RULES:
        raise ValueError(f"rule must be one of {WEIGHT_RULES}, got {rule!r}")
    newest: dict[Operation, int] = {}
    for operations in schedule.ranks:
        version = 0
        for operation in operations:
            newest[operation] = version
            version += schedule.replicas[operation.stage] * (operation.kind == "B")
    used = {}
    for _, stage, batch in (operation for operation in newest if operation.kind == "F"):
        forward = newest[Operation("F", stage, batch)]
        if rule == "vertical sync":
            entered = newest[Operation("F", 0, batch)]
            forward = entered - entered % schedule.replicas[stage]  # the newest with nothing that the first one lacks
        used[stage, batch] = Versions(forward, newest[Operation("B", stage, batch)] if rule == "newest" else forward)
    return used


def last_uses(schedule: AsynchronousSchedule, rule: str, rank: int) -> dict[int, int]:
    """Version -> the number of the operation of this rank that needs it last."""
    used = versions_used(schedule, rule)
    last = {}
    for number, (kind, stage, batch) in enumerate(schedule.ranks[rank]):
        versions = used[stage, batch]
        last[versions.forward if kind == "F" else versions.backward] = number
    return last


def peak_versions(schedule: AsynchronousSchedule, rule: str) -> list[int]:
    """For each rank, how many versions of its weights it keeps at once, the newest among them.

    >>> schedule = asynchronous_1f1b((1, 1, 1), batches=9)
    >>> {rule: peak_versions(schedule, rule) for rule in WEIGHT_RULES}
    {'newest': [1, 1, 1], 'stashing': [3, 2, 1], 'vertical sync': [3, 3, 3]}
    """
    if rule == "newest":
        return [1] * schedule.world_size
    peaks = []
    for rank, operations in enumerate(schedule.ranks):
        last = last_uses(schedule, rule, rank)
        newest = 0
        peak = 1
        for number, operation in enumerate(operations):
            newest += schedule.replicas[operation.stage] * (operation.kind == "B")
            needed = {version for version, use in last.items() if version <= newest and use > number}
            peak = max(peak, len(needed | {newest}))
        peaks.append(peak)
    return peaks
