"""The chunk table: which ranks' numbers each rank's chunks hold, step by step, and the replay that finds it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from course_lib.comm import Communicator, Network, Report, Work, simulate
from course_lib.draw.colors import COLORS, fraction_color
from course_lib.draw.panels import Cell, Matrix
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import PAGE_IN, Picture, spread

_MANTISSA_BITS = {torch.float32: 24, torch.float64: 53}


class Move(NamedTuple):
    """A message that carried `elements` elements of its sender's tensor, beginning with element `first`."""

    step: int
    src: int
    dst: int
    first: int
    elements: int


@dataclass(frozen=True)
class ChunkReplay:
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
    """What every rank holds after one step.

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
) -> ChunkReplay:
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
    return ChunkReplay(values, bits, sorted(moves), report)


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
        """Begin the next step of the diary: what is written from now on happened after `step`."""
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


DOUBLED = COLORS["orange"]  # a rank's number counted more than once
UNREADABLE = COLORS["gray"]  # no sum of the ranks' numbers
OUTLINE = COLORS["vermillion"]
_MAX_NAMED = 8  # with more ranks a chunk says how many ranks are in it, not which


class ChunkCell(NamedTuple):
    """One chunk of one rank as the table shows it: the ranks in it by name, how many they are, color, outline."""

    text: str
    number: str
    color: str
    changed: bool


def draw_chunk_steps(
    replay: ChunkReplay, steps: Sequence[int] | None = None, *, columns: int = 4, title: str = "", note: str = ""
) -> Picture:
    """The table after several steps side by side (all of them, or at most 12 spread evenly)."""
    chosen = list(steps) if steps is not None else spread(replay.steps + 1, 12)
    named = replay.world_size <= 4
    table_in = max((0.5 if named else 0.24) * replay.elements + 0.62, 1.0)
    columns = max(min(columns, int(PAGE_IN / table_in)), 1)
    columns = -(-len(chosen) // -(-len(chosen) // columns))  # rows as even as can be
    width_in = max(min(PAGE_IN, 0.2 + columns * 1.2 * table_in), 5.4)  # room for the note and the origin
    panels = [chunk_panel(replay, step, title="start" if step == 0 else f"step {step}", named=named) for step in chosen]
    alt = " ".join(describe_chunk_table(replay, step) for step in chosen)
    look: dict[str, Any] = {"title": title, "columns": columns, "width_in": width_in}
    return picture_of(panels, alt=alt, note=note or _reading(replay), **look)


def chunk_panel(
    replay: ChunkReplay,
    step: int,
    *,
    title: str = "The ranks added up in each chunk",
    named: bool | None = None,
    **more: Any,
) -> Matrix:
    """The table after a step: rows are ranks, columns chunks, changed chunks outlined.

    Args:
        named: a chunk says which ranks are in it, not only how many; by default where there are at most 8.
        more: what else a Matrix has.
    """
    named = replay.world_size <= _MAX_NAMED if named is None else named
    return Matrix(
        title=title,
        origin="simulated",
        label=describe_chunk_table(replay, step),
        cells=[
            [Cell(cell.color, cell.text if named else cell.number, cell.changed) for cell in row]
            for row in chunk_cells(replay, step)
        ],
        row_names=[str(rank) for rank in range(replay.world_size)],
        column_names=[str(chunk) for chunk in range(replay.elements)],
        across="chunk",
        down="rank",
        outline=OUTLINE,
        **more,
    )


def chunk_cells(replay: ChunkReplay, step: int) -> list[list[ChunkCell]]:
    """The table after `step` as text and color: cells[rank][chunk]."""
    changed, state = replay.changed(step), replay.at(step)
    kinds: dict[bytes, tuple[str, str, str]] = {}  # many chunks hold the same

    def look(rank: int, chunk: int) -> tuple[str, str, str]:
        counts, readable = state.counts[rank, chunk], bool(state.readable[rank, chunk])
        key = counts.tobytes() if readable else b"?"
        if key not in kinds:
            kinds[key] = _look(counts, readable)
        return kinds[key]

    return [
        [ChunkCell(*look(rank, chunk), bool(changed[rank, chunk])) for chunk in range(replay.elements)]
        for rank in range(replay.world_size)
    ]


def describe_chunk_table(replay: ChunkReplay, step: int) -> str:
    """The table after one step in words."""
    ranks, chunks = replay.world_size, replay.elements
    when = "At the start" if step == 0 else f"At step {step} of {replay.steps}"
    state = replay.at(step)
    full, all_cells = int(state.full.sum()), ranks * chunks
    text = f"{when}, {full} of {all_cells} chunks hold the sum of all {ranks} ranks"
    if step:
        text += f"; {int(replay.changed(step).sum())} changed in this step"
    doubled, unreadable = int(state.doubled.sum()), int((~state.readable).sum())
    if doubled:
        text += f"; {doubled} count some rank more than once"
    if unreadable:
        text += f"; {unreadable} are no sum of the ranks' numbers"
    return text + "."


def _look(counts: np.ndarray, readable: bool) -> tuple[str, str, str]:
    """Names, number and color of a chunk."""
    ranks = len(counts)
    if not readable:
        return "?", "?", UNREADABLE
    there = np.flatnonzero(counts)
    if (counts > 1).any():
        worst = int(counts.argmax())
        return f"{counts[worst]}×{worst}", "!", DOUBLED
    if len(there) == ranks:
        return "all", "all" if ranks <= 8 else str(ranks), fraction_color(1.0)
    return _names(there, ranks), str(len(there)), fraction_color(0.85 * len(there) / ranks)


def _names(there: np.ndarray, ranks: int) -> str:
    """The ranks in a cell, as short as they can be said, neighbors in circular order.

    >>> _names(np.array([0, 2, 3]), 4), _names(np.array([0, 1, 7]), 8), _names(np.array([0, 2, 4, 6]), 8)
    ('2+3+0', '7…1', '4 of 8')
    """
    if len(there) == 0:
        return "–"
    first = next((int(rank) for rank in there if (rank - 1) % ranks not in there), 0)
    circle = sorted(map(int, there), key=lambda rank: (rank - first) % ranks)
    if len(circle) <= 2 or ranks <= 4:
        return "+".join(map(str, circle))
    if (circle[-1] - first) % ranks == len(circle) - 1:
        return f"{first}…{circle[-1]}"
    return f"{len(circle)} of {ranks}"


def _reading(replay: ChunkReplay) -> str:
    """How to read the cells, in one line."""
    inside = "ranks added up" if replay.world_size <= 4 else "how many ranks are added up"
    return f"cell: {inside}; outlined: changed in this step"
