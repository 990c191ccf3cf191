"""`run`: a program on real processes of this machine, and the parent's side of it.

`RankProcesses` starts the ranks and ends them, whatever happens; `Supervisor` listens until each has answered, and
raises what goes wrong.
"""

from __future__ import annotations

import contextlib
import math
import pickle
import select
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from course_lib.comm.errors import (
    CommError,
    Leftover,
    MismatchError,
    Pending,
    RankDiedError,
    RankError,
    RankTimeoutError,
    is_echo,
    tell_collectives,
    unmatched_error,
)
from course_lib.comm.network import Network
from course_lib.comm.processes.children import ChildProcesses
from course_lib.comm.processes.folder import RunFolder
from course_lib.comm.processes.fork_server import DeferredInterrupts, surroundings
from course_lib.comm.processes.machine import choose_backend, refuse_too_many
from course_lib.comm.processes.startup import Activity
from course_lib.comm.program import check_timeout, check_world_size, pack, unpack_result
from course_lib.comm.source_location import locate
from course_lib.comm.trace import Report, Trace
from course_lib.comm.transport.board import Board
from course_lib.comm.transport.child import LEAD_S, Failed, Finished, Raised, RankJob, RunPlan, live
from course_lib.comm.transport.deadlock import DeadlockDetector
from course_lib.comm.transport.emulated import Blocked, EmulatedNetwork, Post, UnderWay
from course_lib.comm.transport.log import carried, merge

# --- The processes of one run: start, messages, output, clean end.


_ROOM_S = 0.002  # how soon the parent looks again whether a rank has room for what it has to say


class RankProcesses:
    """The processes of one run, as a context: on leaving it, however that happens, all of them are gone."""

    def __init__(self, plan: RunPlan, echo: bool) -> None:
        refuse_too_many(plan.world_size, len(plan.packed))
        self.world_size = plan.world_size
        self._plan = plan
        self._echoes = echo
        self._unsent: dict[int, deque[Any]] = {}

    def __enter__(self) -> RankProcesses:
        with contextlib.ExitStack() as cleaning:
            folder = RunFolder("course-run-")
            cleaning.callback(folder.remove)
            files = [folder.make_file(name, Board.file_bytes(self.world_size)) for name in ("board", "started")]
            self.board = Board(files[0], self.world_size)
            self.started_board = self.board.started_board()
            cleaning.callback(self.board.close)
            cleaning.callback(self.started_board.close)
            self._members = ChildProcesses("rank", str(folder.path), self._echoes)
            cleaning.callback(self._members.terminate)
            known = surroundings(str(folder.path))
            for rank in range(self.world_size):
                self._members.start(rank, live, RankJob(rank, known, self._plan))
            self._cleaning = cleaning.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleaning.close()

    def tell(self, rank: int, message: Any) -> None:
        """Send a message to a rank as soon as its pipe has room; nothing happens if the rank has died."""
        self._unsent.setdefault(rank, deque()).append(message)
        self._flush(rank)

    def _flush(self, rank: int) -> None:
        """Send what a rank has room for: a parent that waited for a rank which waits for its parent would hang."""
        link, unsent = self._members.link(rank), self._unsent[rank]
        while unsent and _has_room(link):
            message = unsent.popleft()
            with contextlib.suppress(OSError):
                link.send(message)

    def listen(self, patience_s: float) -> Iterator[tuple[int, bytes | None]]:
        """What ranks say within `patience_s`, as (rank, message); None instead of a message if a rank has died."""
        for rank in self._unsent:
            self._flush(rank)
        if any(self._unsent.values()):
            patience_s = min(patience_s, _ROOM_S)
        yield from self._members.listen(patience_s)

    def mismatch(self) -> MismatchError | None:
        """The first message, of programs or of started functions, whose two sides disagree."""
        return self.board.mismatch() or self.started_board.mismatch()

    def how_it_ended(self, rank: int) -> str:
        """A dead rank's exit code or signal, in words."""
        return self._members.how_it_ended(rank)

    def activities(self, ranks: Collection[int]) -> dict[int, Activity]:
        """What ranks do now, by rank, from their own stacks."""
        return self._members.activities(ranks)


def _has_room(link: Connection) -> bool:
    """True if a short message can be sent without waiting, or would go nowhere."""
    if link.closed or not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    poll.register(link, select.POLLOUT)
    return bool(poll.poll(0))


# --- Supervision: the parent polls until each rank has answered, and raises what goes wrong.


_LOOK_S = 0.25  # how often the parent looks for a deadlock
_START_S = 30.0  # what ranks may take to start, on a busy machine or with a large program, before the limit counts
_GRACE_S = 0.5  # how long it waits for the cause when a rank only saw a peer vanish


def _error_of(rank: int, said: Failed) -> CommError:
    return said.error or RankError(rank, said.cause_type, said.cause_text, said.where, said.details)


class Supervisor:
    """Listens to all ranks until each has answered, or one fails."""

    def __init__(
        self, ranks: RankProcesses, network: Network | None, timeout_s: float, interrupts: DeferredInterrupts
    ) -> None:
        self.ranks = ranks
        self.timeout_s = timeout_s
        self.interrupts = interrupts
        self.found: dict[int, Finished] = {}
        self.failed: dict[int, CommError] = {}
        self.gone: dict[int, str] = {}  # ranks that have died after their answer, and how
        self.hard_failure = False
        self.unreported: dict[int, CommError] = {}  # what started functions have raised and no program knows yet
        self.deadline_s = time.perf_counter() + _START_S + timeout_s
        self._have_begun = False
        self.links = EmulatedNetwork(ranks.world_size, network, ranks.tell) if network is not None else None
        self.start_s = 0.0
        self.detector = DeadlockDetector(ranks.board, ranks.started_board)
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
                self._keep_unreported(rank, said.failed)
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

    def _keep_unreported(self, rank: int, said: Failed | None) -> None:
        self.unreported.pop(rank, None)
        if said is not None and not is_echo(said.cause_text):
            self.unreported[rank] = _error_of(rank, said)

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
        """Keep the first failure that is a cause; a secondary error (a peer vanished) waits a moment for its cause."""
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
        """The error to raise: a rank that only saw a peer vanish is not the cause if a peer has died."""
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
                raise self._unreported_error() or error
            return
        if time.perf_counter() < self._look_again_s:
            return
        self._look_again_s = time.perf_counter() + _LOOK_S
        if error := self.detector.deadlock(finished):
            raise self._unreported_error() or error

    def _pending(self, rank: int, started: bool) -> Pending | None:
        """What a rank's program, or the function it started, is blocked in."""
        return (self.detector if self.links is None else self.links).pending(rank, started)

    def _unreported_error(self) -> CommError | None:
        """What a started function has raised: it explains why others wait in vain."""
        return next(iter(self.unreported.values()), None)

    def _timeout(self) -> CommError:
        unfinished = [rank for rank in range(self.ranks.world_size) if rank not in self.found]
        activities, lines = self.ranks.activities(unfinished), []
        for rank in range(self.ranks.world_size):
            if rank in self.found:
                lines.append(f"  rank {rank} has finished")
                continue
            program, started = (self._pending(rank, started=which) for which in (False, True))
            lines.append(f"  rank {rank} {program or activities[rank].program}")
            if in_started := started or activities[rank].started:
                lines.append(f"  rank {rank}, in a function it started, {in_started}")
        return (
            self.ranks.mismatch()
            or self._unreported_error()
            or RankTimeoutError(
                f"after {self.timeout_s:g} s not every rank has finished (more time: timeout_s=...):\n"
                + "\n".join(lines)
            )
        )


# --- The public function.


def run(
    program: Callable[..., Any],
    world_size: int = 4,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    network: Network | None = None,
    device: str | None = None,
    timeout_s: float = 60.0,
    echo: bool = True,
) -> Report:
    """Run `program(comm, *args, **kwargs)` on `world_size` fresh processes joined by torch.distributed.

    Each rank gets its own copy of program and arguments. What a rank prints appears here, marked with its rank.
    Inside the program `torch.distributed` is initialised, so its own functions work too.

    Args:
        network: slow every message down to what this network says (emulated); None leaves the links as they are.
            Emulated clocks count processor time, messages and `comm.compute`, but not `time.sleep`.
        device: "cpu" (Gloo), "gpu" (NCCL with a GPU for every rank, Gloo with tensors on shared GPUs) or "auto" ("gpu"
            where there is one, else "cpu"); None: what COURSE_DEVICE says, else "cpu". On GPUs a rank's arguments move
            to its `comm.device`, tensors and modules in lists and dictionaries too; results come back on the CPU.
        timeout_s: give up this many seconds after all ranks have begun (they may take half a minute for that), and say
            what every rank was doing.
        echo: show what the ranks print.

    Raises:
        RankError: if the program raises on a rank, with the traceback of that rank.
        DeadlockError: if ranks wait for each other, with who waits for whom and where.
        MismatchError: if the two sides of a message disagree about dtype or shape.
        UnmatchedError: if messages are left over when all ranks have finished.
        RankDiedError: if the process of a rank ends without an answer.
        RankTimeoutError: if ranks have not finished after `timeout_s`.
        TransportError: if program or result cannot be pickled, or the machine cannot hold so many ranks.
    """
    world_size = check_world_size(world_size)
    check_timeout(timeout_s)
    backend, on_gpu, words = choose_backend(device, world_size, emulated=network is not None)
    plan = RunPlan(world_size, pack(program, args, kwargs), network, backend, on_gpu, timeout_s, str(locate()))
    try:
        with DeferredInterrupts() as interrupts, RankProcesses(plan, echo) as ranks:
            answers, links = Supervisor(ranks, network, timeout_s, interrupts).answers()
    except KeyboardInterrupt as interrupt:
        raise interrupt.with_traceback(None) from None  # our own frames tell the student nothing
    seconds = max(answer.seconds for answer in answers)
    trace, left = merge([answer.log for answer in answers], seconds)
    if links is not None:
        trace = Trace(world_size, links.wire.messages, trace._spans, trace._waits, seconds, trace.collectives)
        left = [Leftover(f"i{verb}", op.rank, op.peer, op.location()) for verb, op in links.unmatched()]
    if left:
        raise unmatched_error(left)
    results = [unpack_result(answer.packed, f"rank {rank}") for rank, answer in enumerate(answers)]
    if links is None:
        counts = carried([answer.log for answer in answers]) if on_gpu else ""
        return Report(results, seconds, trace, "measured", f"{words}: {counts}" if counts else words)
    lag_s = max(0.0, max(answer.elapsed_s for answer in answers) - seconds)
    return Report(results, seconds, trace, "emulated", words, lag_s)
