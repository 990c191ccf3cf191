"""`simulate`: a program on any number of ranks, on a virtual clock that gives everyone the same result."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from course_lib.comm.devices import device_of, on_accelerator
from course_lib.comm.network import Network
from course_lib.comm.program import check_world_size, fixed_seeds, has_meta_tensor, pack
from course_lib.comm.simulator.event_loop import META, UNDECIDED, Simulation
from course_lib.comm.simulator.nccl import NcclSimulation
from course_lib.comm.simulator.stacks import simulated_rank
from course_lib.comm.simulator.torch_state import callers_settings
from course_lib.comm.source_location import locate
from course_lib.comm.trace import Report

_MAX_THREADS = 256
_BY_RULES = {"gloo": Simulation, "nccl": NcclSimulation}


def simulate(
    program: Callable[..., Any],
    world_size: int = 4,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    network: Network | None = None,
    ranks: str = "auto",
    device: str | None = None,
    rules: str = "gloo",
) -> Report:
    """Run `program(comm, *args, **kwargs)` on every rank of a simulated network.

    Messages and results are real, time is virtual: only messages (as `network` says) and `comm.compute` take any.
    Equal inputs give an equal trace, to the last bit. Every rank works on its own copy of program and arguments, and
    draws from torch the numbers that it draws in `run`. The caller's own random numbers go on undisturbed.

    Simulations in several threads take turns, for random numbers are the whole process's. (So a program waits in vain
    for a thread of its own that simulates.)

    With device="gpu" rank r has the r-th accelerator for itself, as `comm.device`. Its arguments' tensors and modules
    lie there, and results come back on the CPU. A message from one device to another is a copy; one between a device
    and the CPU is refused, because NCCL would wait for ever.

    Three things simulated ranks share, and real ones do not: the generators of numpy and random, seeded with 0 (and,
    where messages are meta tensors, torch's after the first one), what an imported module keeps in its globals, and
    what torch keeps for the whole process, such as its default dtype (afterwards it is the caller's again).

    Args:
        ranks: "greenlets" (fast, thousands of ranks, no communication inside a backward pass), "threads" (anything
            that torch can do) or "auto": greenlets for more than 256 ranks, and where an argument is a meta tensor or
            rank 0 begins with a message of one; threads otherwise. The report's `backend` says which, and why.
        device: "cpu", "gpu" or "auto" (a GPU where there is one); None: what COURSE_DEVICE says, else "cpu".
        rules: "gloo": all that a rank has started runs at once. "nccl": in the order of the starts, and at once only
            what stands in one `comm.batch()`; no receive is from anyone. So what would hang on NCCL is a DeadlockError
            here, with the line that waits and the line of what stands before it. Tensors need no GPU for that.

    Raises:
        DeadlockError: at once, with who waits for whom and the line of each.
        UnmatchedError: if messages are left over when all ranks have finished.
        MismatchError: if the two sides of a message disagree about dtype, shape or kind of device.
        RankError: if the program raises on a rank.
        TransportError: if the program cannot be copied, or a rank returns a generator.

    >>> simulate(lambda comm: comm.rank * 10, world_size=3).results
    [0, 10, 20]
    """
    world_size = check_world_size(world_size)
    packed = pack(program, args, kwargs)
    if ranks not in ("auto", "greenlets", "threads"):
        raise ValueError(f'ranks must be "auto", "greenlets" or "threads", got {ranks!r}')
    if rules not in _BY_RULES:
        raise ValueError(f'rules must be "gloo" or "nccl", got {rules!r}')
    why, called_at = "", locate()
    accelerated = on_accelerator(device)
    if ranks == "auto":
        ranks, why = _choose_stacks(world_size, has_meta_tensor(args, kwargs))
    with one_at_a_time(), collecting_later(), fixed_seeds(), callers_settings():
        devices = [device_of(rank, accelerated) for rank in range(world_size)]
        return _BY_RULES[rules](packed, devices, network or Network(), ranks, why, called_at).report()


def _choose_stacks(world_size: int, has_meta_argument: bool) -> tuple[str, str]:
    """What the ranks begin on if nobody has said so, and why."""
    if has_meta_argument:
        return "greenlets", META
    if world_size > _MAX_THREADS:
        return "greenlets", f"more than {_MAX_THREADS} ranks"
    return "threads", UNDECIDED


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """A lock: simulations in several threads take turns. A nested one belongs to the outer one."""
    inside = simulated_rank() or _LOCK.owner == threading.get_ident()
    with contextlib.nullcontext() if inside else _LOCK:
        yield


class _Owned:
    """A lock that knows which thread has it."""

    def __init__(self) -> None:
        self._lock, self.owner = threading.Lock(), 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self.owner = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self.owner = 0
        self._lock.release()


_LOCK = _Owned()


@contextlib.contextmanager
def collecting_later() -> Iterator[None]:
    """Disable garbage collection: millions of small objects live until the end, and collecting only costs time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
