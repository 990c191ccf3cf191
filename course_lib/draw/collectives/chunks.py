"""The chunk table: which rank's numbers are in which chunk of which rank, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from course_lib.draw.collectives.replays import Replay
from course_lib.draw.colors import COLORS, fraction_color
from course_lib.draw.panels import Cell, Matrix
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import PAGE_IN, Picture, spread

__all__ = ["OUTLINE", "ChunkCell", "chunk_cells", "chunk_panel", "describe_chunk_table", "draw_chunk_steps"]

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
    replay: Replay, steps: Sequence[int] | None = None, *, columns: int = 4, title: str = "", note: str = ""
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
    replay: Replay,
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


def chunk_cells(replay: Replay, step: int) -> list[list[ChunkCell]]:
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


def describe_chunk_table(replay: Replay, step: int) -> str:
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


def _reading(replay: Replay) -> str:
    """How to read the cells, in one line."""
    inside = "ranks added up" if replay.world_size <= 4 else "how many ranks are added up"
    return f"cell: {inside}; outlined: changed in this step"
