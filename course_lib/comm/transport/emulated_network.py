"""The parent's side of emulated links: what it and ranks tell each other, and the network itself on the real clock."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from course_lib.comm.collective import Label
from course_lib.comm.errors import JOIN, DeadlockError, Pending, deadlock_error
from course_lib.comm.network import Network
from course_lib.comm.operation import Operation
from course_lib.comm.source_location import describe_line
from course_lib.comm.wire import Wire

__all__ = ["Blocked", "EmulatedNetwork", "Post", "Start", "UnderWay"]

_TOGETHER = 0.1  # of the latency: posts that lie no further apart count as one moment


class Post(Operation):
    """A send or receive that a rank tells the parent of, which puts it on the wire: its payload is only described.

    Args:
        number: what the parent's answer is to have.
        at_s: when it was posted, on the rank's own clock.
        where: file and line of the student's.
        channel: the names inside which it was posted; it meets only what others post there.
        started: whether a started function posts it, which meets only those of other started functions.
    """

    __slots__ = ("at_s", "channel", "dtype", "kind", "nbytes", "number", "shape", "started", "tag", "under_way")

    def __init__(
        self,
        rank: int,
        peer: int | None,
        payload: tuple[str, tuple[int, ...], int],
        where: tuple[str, int],
        collective: Label | None,
        kind: str,
        number: int,
        at_s: float,
        step_seen: int,
        channel: tuple[Any, ...],
        started: bool,
    ) -> None:
        super().__init__(rank, peer, self, where, collective)
        self.dtype, self.shape, self.nbytes = payload
        self.kind, self.number = kind, number
        self.at_s, self.step_seen = at_s, step_seen
        self.channel, self.started = channel, started
        self.tag = 0  # what tells messages of its link apart, given by the parent
        self.under_way = False  # whether its message has started, for the parent

    def __reduce__(self) -> tuple[Any, ...]:
        payload = self.dtype, self.shape, self.nbytes
        about = self.kind, self.number, self.at_s, self.step_seen, self.channel, self.started
        return Post, (self.rank, self.peer, payload, self.where, self.collective, *about)

    def location(self) -> str:
        return describe_line(*self.where)


class Blocked(NamedTuple):
    """A rank tells the parent that it cannot go on before the message of its operation `number` starts.

    With the verb `JOIN`, that its program cannot go on before its started function `number` ends.
    """

    number: int
    verb: str
    location: tuple[str, int]
    sure: bool = True  # False while threads of the program's own run: one of them may send what it waits for


class UnderWay(NamedTuple):
    """A rank tells the parent how many functions it has started, and how many of them have ended."""

    begun: int
    ended: int


class Start(NamedTuple):
    """The parent tells a rank when the message of its operation `number` ends."""

    number: int
    src: int
    tag: int
    step: int
    end_s: float


class EmulatedNetwork:
    """The parent's side: the wire, on the real clock.

    Between posts that belong to one moment a program's own instructions take some microseconds. So what is posted
    within a tenth of the latency is one moment: the wire then settles ties as it does in the simulator.

    Args:
        tell: called with (rank, Start) when a rank can know the end of one of its messages.
    """

    def __init__(self, world_size: int, network: Network, tell: Callable[[int, Start], None]) -> None:
        self.wire = Wire(world_size, network, on_start=self._announce)
        self._wire_of_started = self.wire.sibling()
        self._tell, self._together_s = tell, _TOGETHER * network.latency_s
        self._ended_s = 0.0  # when the last message ended
        self._posts: list[tuple[float, int, int, Post]] = []  # not on the wire yet, the earliest on top
        self._operations: dict[tuple[int, int], Post] = {}
        self._tags: Counter[tuple[int, int, bool]] = Counter()
        self._blocked: dict[tuple[int, bool], tuple[int, Pending]] = {}  # by rank, and whether a started function is
        self._unsure: set[tuple[int, bool]] = set()
        self._under_way: dict[int, UnderWay] = {}

    def handle(self, rank: int, said: Post | Blocked | UnderWay) -> None:
        """Take in what a rank says."""
        if isinstance(said, Post):
            said.tag = self._tag(said)
            self._operations[rank, said.number] = said
            heapq.heappush(self._posts, (said.at_s, rank, said.number, said))
        elif isinstance(said, UnderWay):
            self._under_way[rank] = said
            number, pending = self._blocked.get((rank, False), (0, None))
            if pending and pending.verb == JOIN and number < said.ended:
                del self._blocked[rank, False]
        elif said.verb == JOIN:
            self._note_sure(rank, False, said.sure)
            if said.number >= self._under_way[rank].ended:
                self._blocked[rank, False] = said.number, Pending(JOIN, None, describe_line(*said.location))
        elif not (operation := self._operations[rank, said.number]).under_way:
            verb = f"wait for i{operation.kind}" if said.verb == "wait" else said.verb
            pending = Pending(verb, operation.peer, describe_line(*said.location))
            self._blocked[rank, operation.started] = said.number, pending
            self._note_sure(rank, operation.started, said.sure)

    def _note_sure(self, rank: int, started: bool, sure: bool) -> None:
        """Keep whether a blocked program, or started function, is surely blocked."""
        (self._unsure.discard if sure else self._unsure.add)((rank, started))

    @property
    def next_s(self) -> float:
        """When there is something to do on the ranks' clock, if nobody posts before; infinite if there is nothing."""
        end_s = self.wire.next_end_s
        return min(math.inf if end_s is None else end_s, self._moment()[1])

    def _moment(self) -> tuple[float, float]:
        """When the first post not on the wire was made, or a message ended about then; and when that moment is over.

        Infinite if there is no such post.
        """
        begun_s = self._posts[0][0] if self._posts else math.inf
        if begun_s <= self._ended_s <= begun_s + self._together_s:
            begun_s = self._ended_s
        return begun_s, begun_s + self._together_s

    def advance_to(self, clock_s: float) -> None:
        """Take in what was posted, end the messages whose time has come, and start those that can start."""
        while (next_s := self.next_s) <= clock_s and next_s < math.inf:
            begun_s, over_s = self._moment()
            if self.wire.next_end_s == next_s:
                self.wire.advance()
                self._ended_s = next_s
            else:
                self._take(begun_s, over_s)

    def _take(self, begun_s: float, over_s: float) -> None:
        """Hand in all that was posted up to the end of a moment, as if at one time."""
        moment = []
        while self._posts and self._posts[0][0] <= over_s:
            moment.append(heapq.heappop(self._posts))
        at_s = max(begun_s, moment[-1][0])
        for _, rank, _, post in moment:
            wire = self._wire_of_started if post.started else self.wire
            wire.steps_seen[rank] = post.step_seen
            channel = wire.channel(post.channel) if post.channel else wire
            (channel.send if post.kind == "send" else channel.recv)(post, at_s)

    def deadlock(self, finished: list[int]) -> DeadlockError | None:
        """The error if no program and no started function can go on and nothing is on the wire."""
        unfinished = [rank for rank in range(self.wire.world_size) if rank not in finished]
        if not unfinished or self.next_s < math.inf or not all(map(self._is_stuck, unfinished)):
            return None
        programs, functions = (
            {rank: what for (rank, started), (_, what) in self._blocked.items() if started is which}
            for which in (False, True)
        )
        return deadlock_error(programs, finished, functions)

    def _is_stuck(self, rank: int) -> bool:
        begun, ended = self._under_way.get(rank, (0, 0))
        surely = self._blocked.keys() - self._unsure
        return (rank, False) in surely and (begun == ended or (rank, True) in surely)

    def pending(self, rank: int, started: bool) -> Pending | None:
        """What a rank's program, or the function it started, is blocked in."""
        return self._blocked.get((rank, started), (0, None))[1]

    def unmatched(self) -> list[tuple[str, Operation]]:
        """Operations whose other side never came, as ("send" or "recv", operation)."""
        return self.wire.unmatched() + self._wire_of_started.unmatched()

    def _tag(self, post: Post) -> int:
        """What tells the messages of one link apart on their way through torch.distributed."""
        if post.kind != "send":
            return 0
        link = post.rank, post.peer, post.started
        self._tags[link] += 1
        return 2 * (self._tags[link] - 1) + post.started

    def _announce(self, send: Post, recv: Post) -> None:
        for side in (send, recv):
            side.under_way = True
            number, pending = self._blocked.get((side.rank, side.started), (-1, None))
            if number == side.number and pending and pending.verb != JOIN:
                del self._blocked[side.rank, side.started]
            self._tell(side.rank, Start(side.number, send.rank, send.tag, send.step, send.end_s))
