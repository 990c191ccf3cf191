"""Which rank holds whose numbers after each step, read off a program's own data.

Rank r starts with base**r in every element of its tensor. A sum of such numbers, written in that base, says how often
the number of each rank went into it: with base 8 and 3 ranks, 0o101 is rank 0 plus rank 2, and 0o020 is rank 1 twice.
So the picture comes from what the program did, not from what its author believes it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from course_lib.comm import Communicator, Network, Report, Work, simulate

__all__ = ["Move", "Replay", "State", "replay"]

_MANTISSA_BITS = {torch.float32: 24, torch.float64: 53}


class Move(NamedTuple):
    """A message that carried `elements` elements of its sender's tensor, beginning with element `first`."""

    step: int
    src: int
    dst: int
    first: int
    elements: int


@dataclass(frozen=True)
class Replay:
    """Every rank's tensor after every step, as contributions. Step 0 is the start.

    Attributes:
        values: values[step, rank, element], telling numbers.
        bits: binary digits per rank in these numbers.
        moves: the messages that sent a stretch of the tensor itself (messages from other buffers are not listed).
        report: the simulation that this was read from.
    """

    values: np.ndarray = field(repr=False)
    bits: int
    moves: list[Move] = field(repr=False)
    report: Report = field(repr=False)

    @property
    def world_size(self) -> int:
        return self.values.shape[1]

    @property
    def elements(self) -> int:
        return self.values.shape[2]

    @property
    def steps(self) -> int:
        """The number of the last step; there is one state more than steps."""
        return self.values.shape[0] - 1

    @cached_property
    def counts(self) -> np.ndarray:
        """counts[step, rank, element, source]: how often source's number is in that element."""
        return self.at(slice(None)).counts

    @property
    def complete(self) -> bool:
        """True if at the end every rank holds the sum of all in every element."""
        return bool(self.at(-1).full.all())

    def at(self, step: int | slice) -> State:
        """What every rank holds after one step."""
        return State(*_decode(self.values[step], self.world_size, self.bits))

    def changed(self, step: int) -> np.ndarray:
        """changed[rank, element]: this element is not what it was one step before."""
        return self.values[step] != self.values[max(step - 1, 0)]


class State(NamedTuple):
    """What every rank holds at one moment.

    counts[rank, element, source] is how often source's number is in that element; readable[rank, element] is False
    where the value is no sum of the ranks' numbers.
    """

    counts: np.ndarray
    readable: np.ndarray

    @property
    def full(self) -> np.ndarray:
        """full[rank, element]: every rank's number is in it exactly once."""
        return self.readable & (self.counts == 1).all(axis=-1)

    @property
    def doubled(self) -> np.ndarray:
        """doubled[rank, element]: some rank's number is in it more than once."""
        return self.readable & (self.counts > 1).any(axis=-1)


def replay(
    program: Callable[..., Any],
    world_size: int = 4,
    elements: int | None = None,
    kwargs: Mapping[str, Any] | None = None,
    network: Network | None = None,
    ranks: str = "auto",
) -> Replay:
    """Run `program(comm, tensor)` on telling numbers and return what every rank held after every step.

    The tensor has `elements` elements, one per rank unless said otherwise. A program may work in place or return its
    result. Steps are those of the trace (Lamport depth).

    Raises:
        ValueError: if there are more ranks than a float64 can tell apart (53).
        CommError: whatever `simulate` raises for this program.

    >>> def shift(comm, tensor):
    ...     sent = comm.isend(tensor.clone(), (comm.rank + 1) % comm.world_size)
    ...     comm.recv(tensor)
    ...     sent.wait()
    >>> replay(shift, world_size=3).counts[-1, 0, 0]
    array([0, 0, 1], dtype=int8)
    """
    dtype, bits = _number_format(world_size)
    elements = world_size if elements is None else elements
    recorded = _Recorded(program, elements, dtype, bits)
    report = simulate(recorded, world_size, kwargs=kwargs, network=network, ranks=ranks)
    values = _in_step([diary for diary, _ in report.results], report.trace.steps)
    moves = [
        Move(work.step, work.rank, work.peer, first, count)
        for _, sends in report.results
        for work, first, count in sends
    ]
    return Replay(values, bits, sorted(moves), report)


def _in_step(diaries: list[dict[int, np.ndarray]], steps: int) -> np.ndarray:
    """The ranks' diaries side by side: values[step, rank, element]; where a rank wrote nothing, nothing has changed."""
    values = np.zeros((steps + 1, len(diaries), len(diaries[0][0])))
    for rank, diary in enumerate(diaries):
        last = diary[0]
        for step in range(steps + 1):
            last = values[step, rank] = diary.get(step, last)
    return values


def _number_format(world_size: int) -> tuple[torch.dtype, int]:
    """The dtype and the bits per rank with which sums stay exact; float32, which programs expect, where it can."""
    for dtype, bits in ((torch.float32, 3), (torch.float64, 3), (torch.float64, 2), (torch.float64, 1)):
        if world_size * bits <= _MANTISSA_BITS[dtype]:
            return dtype, bits
    raise ValueError(f"a replay can tell up to 53 ranks apart, got {world_size}")


def _decode(values: np.ndarray, world_size: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Digits of the values in base 2**bits, and where they are digits at all."""
    readable = (
        np.isfinite(values) & (values >= 0) & (values < 2.0 ** (bits * world_size)) & (values == np.floor(values))
    )
    whole = np.where(readable, values, 0).astype(np.int64)
    digits = [(whole >> (bits * source)) & (2**bits - 1) for source in range(world_size)]
    return np.stack(digits, axis=-1).astype(np.int8), readable


class _Recorded:
    """The program, run on telling numbers through a communicator that keeps a diary of the tensor."""

    def __init__(self, program: Callable[..., Any], elements: int, dtype: torch.dtype, bits: int) -> None:
        self.program = program
        self.elements = elements
        self.dtype = dtype
        self.bits = bits

    def __call__(self, comm: Communicator, **kwargs: Any) -> tuple[dict[int, np.ndarray], list[tuple[Any, ...]]]:
        tensor = torch.full((self.elements,), 2.0 ** (self.bits * comm.rank), dtype=self.dtype)
        diary = _DiaryCommunicator(comm, tensor)
        returned = self.program(diary, tensor, **kwargs)
        diary.write(_result(tensor, returned))
        return diary.pages, diary.sends


def _result(tensor: torch.Tensor, returned: Any) -> torch.Tensor:
    """What the program leaves behind: a returned tensor of the same size, else the tensor itself."""
    if isinstance(returned, torch.Tensor) and returned.shape == tensor.shape:
        return returned
    return tensor


class _DiaryCommunicator(Communicator):
    """Passes everything on and writes the tensor down before every wait: what arrives, arrives while a rank waits."""

    __slots__ = ("_comm", "_step", "_tensor", "pages", "sends")

    def __init__(self, comm: Communicator, tensor: torch.Tensor) -> None:
        self._comm = comm
        self._tensor = tensor
        self._step = 0
        self.rank = comm.rank
        self.world_size = comm.world_size
        self.network = comm.network
        self.pages: dict[int, np.ndarray] = {}
        self.sends: list[tuple[Any, ...]] = []
        self.write(tensor)

    def write(self, tensor: torch.Tensor) -> None:
        """Keep the tensor as it is after the last step this rank has completed."""
        self.pages[self._step] = tensor.detach().numpy().copy()

    def write_now(self) -> None:
        """Keep what the program has made of its tensor so far."""
        self.write(self._tensor)

    def isend(self, tensor: torch.Tensor, dst: int) -> Work:
        work = self._comm.isend(tensor, dst)
        first, rest = divmod(tensor.data_ptr() - self._tensor.data_ptr(), tensor.element_size())
        if 0 <= first < self._tensor.numel() and not rest:
            self.sends.append((work, first, tensor.numel()))
        return _DiaryWork(self, work)

    def irecv(self, tensor: torch.Tensor, src: int | None = None) -> Work:
        return _DiaryWork(self, self._comm.irecv(tensor, src))

    def collective(self, kind: str, name: str = "") -> AbstractContextManager[None]:
        return self._comm.collective(kind, name)

    def _apart(self, name: object) -> AbstractContextManager[None]:
        return self._comm._apart(name)

    def now(self) -> float:
        return self._comm.now()

    def compute(self, seconds: float, label: str = "compute") -> None:
        self.write_now()
        self._comm.compute(seconds, label)

    def _record_span(self, label: str, start_s: float, end_s: float) -> None:
        self._comm._record_span(label, start_s, end_s)

    def completed(self, step: int) -> None:
        """Turn the page: what follows happens after `step`."""
        self._step = max(self._step, step)


class _DiaryWork(Work):
    __slots__ = ("_diary", "_work")

    def __init__(self, diary: _DiaryCommunicator, work: Any) -> None:
        self._diary, self._work = diary, work

    def wait(self) -> bool:
        self._diary.write_now()
        self._work.wait()
        self._diary.completed(self._work.step)
        return True

    def source_rank(self) -> int:
        return self._work.source_rank()
