"""What the parent does while ranks run: it listens until each has answered, and says what goes wrong."""

from __future__ import annotations

import math
import pickle
import time

from course_lib.comm.errors import (
    CommError,
    Pending,
    RankDiedError,
    RankError,
    RankTimeoutError,
    is_echo,
    tell_collectives,
)
from course_lib.comm.network import Network
from course_lib.comm.processes.undisturbed import DeferredInterrupts
from course_lib.comm.transport.child import LEAD_S, Failed, Finished, Raised
from course_lib.comm.transport.emulated_network import Blocked, EmulatedNetwork, Post, UnderWay
from course_lib.comm.transport.launch import Ranks
from course_lib.comm.transport.lookout import Lookout

__all__ = ["Supervisor"]

_LOOK_S = 0.25  # how often the parent looks for a deadlock
_START_S = 30.0  # what ranks may take to start, on a busy machine or with a large program, before the limit counts
_GRACE_S = 0.5  # how long it waits for the cause when a rank only saw a peer vanish


def _error_of(rank: int, said: Failed) -> CommError:
    return said.error or RankError(rank, said.cause_type, said.cause_text, said.where, said.details)


class Supervisor:
    """Listens to all ranks until each has answered, or one fails."""

    def __init__(self, ranks: Ranks, network: Network | None, timeout_s: float, interrupts: DeferredInterrupts) -> None:
        self.ranks = ranks
        self.timeout_s = timeout_s
        self.interrupts = interrupts
        self.found: dict[int, Finished] = {}
        self.failed: dict[int, CommError] = {}
        self.gone: dict[int, str] = {}  # ranks that have died after their answer, and how
        self.hard_failure = False
        self.unheard: dict[int, CommError] = {}  # what started functions have raised and no program knows yet
        self.deadline_s = time.perf_counter() + _START_S + timeout_s
        self._have_begun = False
        self.links = EmulatedNetwork(ranks.world_size, network, ranks.tell) if network is not None else None
        self.start_s = 0.0
        self.lookout = Lookout(ranks.board, ranks.board_of_started)
        self._look_again_s = 0.0

    def answers(self) -> tuple[list[Finished], EmulatedNetwork | None]:
        """Every rank's answer, in order of rank."""
        try:
            self._wait_for_all()
        except CommError as error:
            tell_collectives(error, self.ranks.board.collectives())
            raise
        if self.links is not None:
            self.links.advance_to(math.inf)  # messages that nobody waited for
        return [self.found[rank] for rank in range(self.ranks.world_size)], self.links

    def _wait_for_all(self) -> None:
        while len(self.found) < self.ranks.world_size:
            self._listen()
            self._count_from_the_begin()
            self.interrupts.deliver()
            self._refuse_failures()
            self._refuse_deadlock()
            if time.perf_counter() > self.deadline_s:
                raise self._timeout()

    def _listen(self) -> None:
        for rank, message in self.ranks.listen(self._patience_s()):
            if message is None:
                self._died(rank)
                continue
            said = pickle.loads(message)
            if isinstance(said, Finished):
                self.found[rank] = said
            elif isinstance(said, Failed):
                self._fail(rank, said)
            elif isinstance(said, Raised):
                self._keep_unheard(rank, said.failed)
            elif isinstance(said, (Post, Blocked, UnderWay)) and self.links is not None:
                self.links.handle(rank, said)
        if self.links is not None:
            self.links.advance_to(self._clock_s())

    def _count_from_the_begin(self) -> None:
        """The program's time begins when the last rank has."""
        if not self._have_begun and (ready_s := self.ranks.board.start_s()):
            self._have_begun = True
            self.deadline_s = min(self.deadline_s, ready_s + self.timeout_s)

    def _clock_s(self) -> float:
        """The emulated ranks' real clock; 0 before they begin."""
        if not self.start_s and (ready_s := self.ranks.board.start_s()):
            self.start_s = ready_s + LEAD_S
        return time.perf_counter() - self.start_s if self.start_s else 0.0

    def _patience_s(self) -> float:
        until_s = self.deadline_s - time.perf_counter()
        if self.links is not None:
            until_s = min(until_s, self.links.next_s - self._clock_s())
        return max(0.0, min(until_s, _LOOK_S))

    def _fail(self, rank: int, said: Failed) -> None:
        self._note_failure(rank, _error_of(rank, said), echo=is_echo(said.cause_text))

    def _keep_unheard(self, rank: int, said: Failed | None) -> None:
        self.unheard.pop(rank, None)
        if said is not None and not is_echo(said.cause_text):
            self.unheard[rank] = _error_of(rank, said)

    def _died(self, rank: int) -> None:
        how = self.ranks.how_it_ended(rank)
        if rank in self.found:
            self.gone[rank] = how
            return
        error = self.ranks.mismatch() or RankDiedError.ended(
            f"rank {rank} died without an answer ({how}). Was it killed, did it crash, or did the program call exit?",
            how,
        )
        self._note_failure(rank, error, echo=False)

    def _note_failure(self, rank: int, error: CommError, echo: bool) -> None:
        """Keep the first failure that is a cause; what only echoes a vanished peer waits a moment for its cause."""
        if echo and not self.failed:
            self.deadline_s = min(self.deadline_s, time.perf_counter() + _GRACE_S)
        if not echo and not self.hard_failure:
            self.failed = {rank: error}
            self.hard_failure = True
        elif not self.hard_failure:
            self.failed[rank] = error

    def _refuse_failures(self) -> None:
        if self.hard_failure or (self.failed and time.perf_counter() > self.deadline_s):
            raise self._cause()

    def _cause(self) -> CommError:
        """What to blame: those that only saw a peer vanish are not to blame if one has."""
        if self.hard_failure or not self.gone:
            return next(iter(self.failed.values()))
        rank, how = next(iter(self.gone.items()))
        return RankDiedError(
            f"rank {rank} died after its program had ended ({how}), while messages of it were under way: "
            "wait for them in the program"
        )

    def _refuse_deadlock(self) -> None:
        finished = sorted(self.found)
        if self.links is not None:
            if error := self.links.deadlock(finished):
                raise self._unheard_error() or error
            return
        if time.perf_counter() < self._look_again_s:
            return
        self._look_again_s = time.perf_counter() + _LOOK_S
        if error := self.lookout.deadlock(finished):
            raise self._unheard_error() or error

    def _pending(self, rank: int, started: bool) -> Pending | None:
        """What a rank's program, or the function it started, is blocked in."""
        return (self.lookout if self.links is None else self.links).pending(rank, started)

    def _unheard_error(self) -> CommError | None:
        """What a started function has raised: it explains why others wait in vain."""
        return next(iter(self.unheard.values()), None)

    def _timeout(self) -> CommError:
        unfinished = [rank for rank in range(self.ranks.world_size) if rank not in self.found]
        doings, lines = self.ranks.doings(unfinished), []
        for rank in range(self.ranks.world_size):
            if rank in self.found:
                lines.append(f"  rank {rank} has finished")
                continue
            program, started = (self._pending(rank, started=which) for which in (False, True))
            lines.append(f"  rank {rank} {program or doings[rank].program}")
            if beside := started or doings[rank].started:
                lines.append(f"  rank {rank}, in a function it started, {beside}")
        return (
            self.ranks.mismatch()
            or self._unheard_error()
            or RankTimeoutError(
                f"after {self.timeout_s:g} s not every rank has finished (more time: timeout_s=...):\n"
                + "\n".join(lines)
            )
        )
