"""When every operation of a schedule begins and ends, given how long each takes: computed, nothing is run.

An operation begins as soon as its rank is free and everything that it needs has arrived. What comes from another rank
travels for `transfer_s` and keeps nobody busy. (So it is on a wire, too, where one call sends one message.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from course_lib.checks import at_least
from course_lib.comm import Trace
from course_lib.pipeline.schedule import Operation, Schedule, check_schedule, peak_in_flight, play_schedule


@dataclass(frozen=True)
class OperationTimes:
    """Seconds of one micro-batch in one stage.

    Attributes:
        forward_s, input_s, weight_s: F, B and W; where a schedule has no W, B takes input_s + weight_s.
        transfer_s: from one rank to another.
        shares: how much longer or shorter each stage takes than that; all alike without it.
        overlap_s: what F and B save where a schedule does both in one call, up to forward_s.

    Raises:
        ValueError: if a time is negative or no number, or more would be saved than F takes.
    """

    forward_s: float = 1.0
    input_s: float = 1.0
    weight_s: float = 1.0
    transfer_s: float = 0.0
    shares: tuple[float, ...] = ()
    overlap_s: float = 0.0

    def __post_init__(self) -> None:
        passes = {"forward_s": self.forward_s, "input_s": self.input_s, "weight_s": self.weight_s}
        at_least(0, **passes, transfer_s=self.transfer_s, overlap_s=self.overlap_s)
        at_least(0, **{f"share {stage}": share for stage, share in enumerate(self.shares)})
        at_least(self.overlap_s, forward_s=self.forward_s)

    @property
    def all_s(self) -> float:
        """All three passes."""
        return self.forward_s + self.input_s + self.weight_s

    def shared_by(self, stages: int) -> OperationTimes:
        """Those of each of so many stages that a rank has, if these are all of them together.

        >>> OperationTimes(3.0, 3.0, 1.5).shared_by(2)
        OperationTimes(forward_s=1.5, input_s=1.5, weight_s=0.75, transfer_s=0.0, shares=(), overlap_s=0.0)
        """
        parts = {name: getattr(self, name) / stages for name in ("forward_s", "input_s", "weight_s", "overlap_s")}
        return replace(self, **parts)

    def seconds(self, operation: Operation, schedule: Schedule) -> float:
        """How long an operation takes.

        Raises:
            ValueError: if there are shares, and none for its stage.
        """
        if self.shares and operation.stage >= len(self.shares):
            raise ValueError(f"shares must say each stage's, got {len(self.shares)} for stage {operation.stage}")
        share = self.shares[operation.stage] if self.shares else 1.0
        forward_s = self.forward_s - (self.overlap_s if operation in schedule.together else 0.0)
        backward_s = self.input_s + (0.0 if schedule.splits_backward else self.weight_s)
        return share * {"F": forward_s, "B": backward_s, "W": self.weight_s}[operation.kind]


class Timed(NamedTuple):
    """An operation and when it began and ended."""

    operation: Operation
    start_s: float
    end_s: float


@dataclass(frozen=True)
class PipelineTimeline:
    """The operations of each rank with their times."""

    schedule: Schedule
    ranks: tuple[tuple[Timed, ...], ...]

    @property
    def makespan_s(self) -> float:
        """From the first operation's beginning to the last one's end."""
        return max(timed[-1].end_s for timed in self.ranks)

    @property
    def idle(self) -> float:
        """The share of the step in which a rank idles, on average over the ranks: 1 - work / (ranks * step)."""
        work_s = sum(timed.end_s - timed.start_s for rank in self.ranks for timed in rank)
        all_s = len(self.ranks) * self.makespan_s
        return 1 - work_s / all_s if all_s else 0.0

    @property
    def bubble(self) -> float:
        """The idle share of the rank that is at work longest, from its own first operation to its own last one.

        It is less than `idle` where ranks begin late or end early, as in ZB-H2: that counts as if the next step
        overlapped.

        Source: Qi et al., arXiv 2401.10241, section 5.3 ("bubble rate").
        """
        spans = [(timed[-1].end_s - timed[0].start_s, sum(t.end_s - t.start_s for t in timed)) for timed in self.ranks]
        cost_s, busy_s = max(spans)
        return 1 - busy_s / cost_s if cost_s else 0.0

    @property
    def peak_in_flight(self) -> list[int]:
        """For each rank, of how many micro-batches it holds activations at most."""
        return peak_in_flight(self.schedule)


def pipeline_timeline(schedule: Schedule, times: OperationTimes) -> PipelineTimeline:
    """The times of all operations.

    Raises:
        ScheduleError: if the schedule cannot be carried out.

    >>> from course_lib.pipeline.schedules import one_forward_one_backward
    >>> pipeline_timeline(one_forward_one_backward(2, 2), OperationTimes(forward_s=1, input_s=1, weight_s=0)).makespan_s
    6.0
    """
    check_schedule(schedule)
    ends: dict[Operation, float] = {}
    ranks: list[list[Timed]] = [[] for _ in schedule.ranks]
    calls: list[list[Operation]] = [[] for _ in schedule.ranks]
    for rank, operation in play_schedule(schedule):
        needs = schedule.needs(operation)
        elsewhere = (schedule.rank_of(need.stage, need.micro_batch) != rank for need in needs)
        arrivals = [ends[n] + times.transfer_s * far for n, far in zip(needs, elsewhere, strict=True)]
        free_s = ranks[rank][-1].end_s if ranks[rank] else 0.0
        start_s = max([free_s, *arrivals])
        ends[operation] = start_s + times.seconds(operation, schedule)
        ranks[rank].append(Timed(operation, start_s, ends[operation]))
        calls[rank].append(operation)
        if operation not in schedule.together:
            ends.update(dict.fromkeys(calls[rank], ends[operation]))
            calls[rank] = []
    return PipelineTimeline(schedule, tuple(map(tuple, ranks)))


def recorded_timeline(schedule: Schedule, trace: Trace) -> PipelineTimeline:
    """The same from the trace of a run of the schedule's operations."""
    spans = {span.label: span for span in trace.spans if " of stage " in span.label}
    ranks = ([(operation, spans[str(operation)]) for operation in operations] for operations in schedule.ranks)
    timed = (tuple(Timed(operation, span.start_s, span.end_s) for operation, span in rank) for rank in ranks)
    return PipelineTimeline(schedule, tuple(timed))


def textbook_bubble(stages: int, micro_batches: int) -> float:
    """(p - 1) / (m + p - 1): the idle share of GPipe and 1F1B where transfers take no time and all stages are alike.

    Raises:
        ValueError: unless there is a stage and a micro-batch.

    Source: Huang et al., "GPipe", arXiv 1811.06965, section 2.3.

    >>> textbook_bubble(4, 12)
    0.2
    """
    if stages < 1 or micro_batches < 1:
        raise ValueError(f"there must be a stage and a micro-batch, got {stages} and {micro_batches}")
    return (stages - 1) / (micro_batches + stages - 1)
