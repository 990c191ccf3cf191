"""run(): a program on real processes of this machine, and always the prompt back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from course_lib.comm.errors import Leftover, unmatched_error
from course_lib.comm.network import Network
from course_lib.comm.processes.machine import choose_backend
from course_lib.comm.processes.undisturbed import DeferredInterrupts
from course_lib.comm.program import check_timeout, check_world_size, pack, unpack_result
from course_lib.comm.report import Report
from course_lib.comm.source_location import locate
from course_lib.comm.trace import Trace
from course_lib.comm.transport.child import Plan
from course_lib.comm.transport.launch import Ranks
from course_lib.comm.transport.log import carried, merge
from course_lib.comm.transport.supervisor import Supervisor

__all__ = ["run"]


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
    plan = Plan(world_size, pack(program, args, kwargs), network, backend, on_gpu, timeout_s, str(locate()))
    try:
        with DeferredInterrupts() as interrupts, Ranks(plan, echo) as ranks:
            answers, links = Supervisor(ranks, network, timeout_s, interrupts).answers()
    except KeyboardInterrupt as interrupt:
        raise interrupt.with_traceback(None) from None  # where we were is nobody's business
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
