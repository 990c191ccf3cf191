"""A schedule as data: which rank does what, in which order; and the check that it can be carried out.

The model is cut into stages, the batch into micro-batches. An operation is one pass of one micro-batch through one
stage:

    F  forward
    B  backward: the gradient of the stage's input (and, where the schedule has no W, of its weights too)
    W  the gradient of the stage's weights, put off until there is time (zero-bubble schedules)
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple


class Operation(NamedTuple):
    """One pass ("F", "B" or "W") of one micro-batch through one stage.

    >>> str(Operation("F", stage=1, micro_batch=3))
    'F3 of stage 1'
    """

    kind: str
    stage: int
    micro_batch: int

    def __str__(self) -> str:
        return f"{self.kind}{self.micro_batch} of stage {self.stage}"


class ScheduleError(ValueError):
    """What is wrong with a schedule, in words."""


@dataclass(frozen=True)
class Schedule:
    """What each rank does, one operation after the other.

    Attributes:
        name: for pictures and tables.
        stages: how many there are. Stage s lies on rank s % number of ranks, so with as many stages as ranks each rank
            has its own, and with more they are dealt out in rounds.
        micro_batches: how many a batch is cut into.
        ranks: for each rank its operations, in order.
        v_shaped: every second round goes back over the ranks, so that the last rank has two stages that follow each
            other.
        two_ways: the second half of the micro-batches goes over the ranks the other way, through copies of the stages.
        together: operations done in one call with the one behind them on their rank: the call begins when all that it
            needs is there, and what it gives leaves when it has ended.
    """

    name: str
    stages: int
    micro_batches: int
    ranks: tuple[tuple[Operation, ...], ...]
    v_shaped: bool = field(default=False, kw_only=True)
    two_ways: bool = field(default=False, kw_only=True)
    together: frozenset[Operation] = field(default=frozenset(), kw_only=True)

    @property
    def world_size(self) -> int:
        """How many ranks it is for."""
        return len(self.ranks)

    @cached_property
    def splits_backward(self) -> bool:
        """Whether weights have operations of their own."""
        return any(operation.kind == "W" for operations in self.ranks for operation in operations)

    def rank_of(self, stage: int, micro_batch: int = 0) -> int:
        """The rank on which a stage lies, and takes this micro-batch where several ranks have the stage."""
        rounds, place = divmod(stage, self.world_size)
        back = (self.v_shaped and rounds % 2 == 1) != (self.two_ways and 2 * micro_batch >= self.micro_batches)
        return self.world_size - 1 - place if back else place

    def calls(self, rank: int) -> Iterator[tuple[Operation, ...]]:
        """A rank's operations, those of one call together."""
        call: list[Operation] = []
        for operation in self.ranks[rank]:
            call.append(operation)
            if operation not in self.together:
                yield tuple(call)
                call = []

    @cached_property
    def _rest_of_call(self) -> dict[Operation, tuple[Operation, ...]]:
        calls = (call for rank in range(self.world_size) for call in self.calls(rank) if len(call) > 1)
        return {operation: call[place:] for call in calls for place, operation in enumerate(call)}

    def needs(self, operation: Operation) -> list[Operation]:
        """What must have ended before it: its inputs, and those of what is done behind it in one call."""
        rest = self._rest_of_call.get(operation, (operation,))
        return [need for each in rest for need in inputs_of(each, self.stages) if need not in rest]


def inputs_of(operation: Operation, stages: int) -> list[Operation]:
    """The operations that must have ended before this one, done by itself.

    >>> [str(each) for each in inputs_of(Operation("B", 0, 2), stages=4)]
    ['F2 of stage 0', 'B2 of stage 1']
    """
    kind, stage, micro_batch = operation
    if kind == "F":
        return [Operation("F", stage - 1, micro_batch)] if stage else []
    if kind == "W":
        return [Operation("B", stage, micro_batch)]
    later = [Operation("B", stage + 1, micro_batch)] if stage + 1 < stages else []
    return [Operation("F", stage, micro_batch), *later]


def check_schedule(schedule: Schedule, max_in_flight: int | None = None) -> None:
    """Return if every micro-batch passes every stage once each way, in an order in which nobody waits for ever.

    Args:
        max_in_flight: how many micro-batches a rank may hold activations of at once, counted over its stages.

    Raises:
        ScheduleError: naming the rank and the operation that is missing, doubled, misplaced, stuck or too many.
    """
    _check_operations(schedule)
    check_order(schedule)
    peaks = peak_in_flight(schedule)
    if max_in_flight is not None and max(peaks) > max_in_flight:
        rank = peaks.index(max(peaks))
        held = f"{peaks[rank]} micro-batches, {max_in_flight} are allowed"
        raise ScheduleError(f"rank {rank} holds activations of {held}")


def _check_operations(schedule: Schedule) -> None:
    """There is something to do, and each operation is on its stage's rank, and there once."""
    numbers = schedule.world_size, schedule.stages, schedule.micro_batches
    if min(numbers) < 1:
        raise ScheduleError("there must be a rank, a stage and a micro-batch, got {}, {} and {}".format(*numbers))
    kinds = "FBW" if schedule.splits_backward else "FB"
    expected = {
        Operation(kind, stage, micro_batch)
        for kind in kinds
        for stage in range(schedule.stages)
        for micro_batch in range(schedule.micro_batches)
    }
    counts = Counter(operation for operations in schedule.ranks for operation in operations)
    for rank, operations in enumerate(schedule.ranks):
        for operation in operations:
            if operation not in expected:
                raise ScheduleError(f"rank {rank} does {operation}, which is no operation of this schedule")
            if schedule.rank_of(operation.stage, operation.micro_batch) != rank:
                home = schedule.rank_of(operation.stage, operation.micro_batch)
                raise ScheduleError(f"rank {rank} does {operation}, which lies on rank {home}")
            if counts[operation] > 1:
                raise ScheduleError(f"rank {rank} does {operation} {counts[operation]} times")
    missing = min(expected - set(counts), default=None)
    if missing is not None:
        raise ScheduleError(f"rank {schedule.rank_of(missing.stage, missing.micro_batch)} never does {missing}")


def play_schedule(schedule: Schedule) -> Iterator[tuple[int, Operation]]:
    """Yield (rank, operation) in an order in which they can be done, until all are or nobody can go on.

    Cost: linear in the operations. A rank that waits is looked at again when what it waits for is done.

    >>> from course_lib.pipeline.schedules import one_forward_one_backward
    >>> [f"{rank}: {operation.kind}" for rank, operation in play_schedule(one_forward_one_backward(2, 1))]
    ['0: F', '1: F', '1: B', '0: B']
    """
    place, ready = [0] * schedule.world_size, deque(range(schedule.world_size))
    waiting: dict[Operation, list[int]] = defaultdict(list)
    done: set[Operation] = set()
    while ready:
        rank = ready.popleft()
        while place[rank] < len(schedule.ranks[rank]):
            operation = schedule.ranks[rank][place[rank]]
            missing = [need for need in schedule.needs(operation) if need not in done]
            if missing:
                waiting[missing[0]].append(rank)
                break
            done.add(operation)
            place[rank] += 1
            ready.extend(waiting.pop(operation, ()))
            yield rank, operation


def check_order(schedule: Schedule) -> None:
    """Return if there is an order in which all can be done: play it, each rank as far as it gets.

    Raises:
        ScheduleError: "deadlock", and the circle: each of its ranks waits for what the next one does not come to.
    """
    played = list(play_schedule(schedule))
    place, done = Counter(rank for rank, _ in played), {operation for _, operation in played}
    stuck = {rank: each[place[rank]] for rank, each in enumerate(schedule.ranks) if place[rank] < len(each)}
    waits = {}
    for rank, operation in stuck.items():
        waits[rank] = operation, next(need for need in schedule.needs(operation) if need not in done)
    if waits:
        lines = ("rank {} cannot do {} before {}".format(rank, *waits[rank]) for rank in _circle(schedule, waits))
        raise ScheduleError("deadlock: " + "; ".join(lines))


def _circle(schedule: Schedule, waits: dict[int, tuple[Operation, Operation]]) -> list[int]:
    """Ranks of which each waits for the next one and the last for the first, from the lowest on.

    Where somebody waits for what nobody does, these are the ranks that wait for that one after another.
    """
    path: list[int] = []
    rank = min(waits)
    while rank in waits and rank not in path:
        path.append(rank)
        missing = waits[rank][1]
        rank = schedule.rank_of(missing.stage, missing.micro_batch)
    if rank not in path:
        return path
    circle = path[path.index(rank) :]
    lowest = circle.index(min(circle))
    return circle[lowest:] + circle[:lowest]


def peak_in_flight(schedule: Schedule) -> list[int]:
    """For each rank, the most micro-batches (counted for each of its stages) whose activations it holds at once.

    Activations live from F to the operation that uses them last: W where there is one, else B.
    """
    last = "W" if schedule.splits_backward else "B"
    peaks = []
    for operations in schedule.ranks:
        held = peak = 0
        for operation in operations:
            held += (operation.kind == "F") - (operation.kind == last)
            peak = max(peak, held)
        peaks.append(peak)
    return peaks


def words_of(schedule: Schedule) -> list[str]:
    """For each rank its operations in words.

    Raises:
        ValueError: if a rank has several stages, which these words cannot tell apart.

    >>> from course_lib.pipeline.schedules import gpipe
    >>> words_of(gpipe(2, 2))
    ['F0 F1 B1 B0', 'F0 F1 B1 B0']
    """
    if schedule.stages != schedule.world_size:
        raise ValueError(f"words are for a stage a rank, got {schedule.stages} stages on {schedule.world_size} ranks")
    return [" ".join(f"{kind}{number}" for kind, _, number in operations) for operations in schedule.ranks]


def from_words(orders: Sequence[str], name: str = "own") -> Schedule:
    """The schedule that these words say, rank r with stage r; whether it can be carried out is not looked at.

    Raises:
        ValueError: if there is no rank, or a word is not one of F, B, W and the number of a micro-batch.

    >>> str(from_words(["F0 B0", "F0 B0"]).ranks[1][0])
    'F0 of stage 1'
    """
    ranks = []
    for rank, words in enumerate(orders):
        for word in words.split():
            if word[0] not in "FBW" or not word[1:].isdecimal():
                raise ValueError(f"a word is F, B or W and a number, such as F3, got {word!r} on rank {rank}")
        ranks.append(tuple(Operation(word[0], rank, int(word[1:])) for word in words.split()))
    numbers = [operation.micro_batch for operations in ranks for operation in operations]
    if not numbers:
        raise ValueError("there must be a rank and a word, got none")
    return Schedule(name, len(ranks), max(numbers) + 1, tuple(ranks))
