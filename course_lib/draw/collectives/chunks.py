"""The chunk table: which rank's numbers are in which chunk of which rank, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_lib.draw.collectives.replays import Replay
from course_lib.draw.style import (
    COLORS,
    INK,
    PAGE_IN,
    Picture,
    every,
    finish,
    fraction_color,
    ink_on,
    label_outer,
    new_panels,
    put_title,
    spread,
    styled,
)

__all__ = ["ChunkCell", "chunk_cells", "chunk_table_on", "describe_chunk_table", "draw_chunk_steps"]

DOUBLED = "#f6b48f"  # a rank's number counted more than once
UNREADABLE = "#dedede"  # no sum of the ranks' numbers
OUTLINE = COLORS["vermillion"]


class ChunkCell(NamedTuple):
    """One chunk of one rank as the table shows it: the ranks in it by name, how many they are, color, outline."""

    text: str
    number: str
    color: str
    changed: bool


@styled
def draw_chunk_steps(
    replay: Replay, steps: Sequence[int] | None = None, *, columns: int = 4, title: str = "", note: str = ""
) -> Picture:
    """The table after several steps side by side (all of them, or at most 12 spread evenly)."""
    chosen = list(steps) if steps is not None else spread(replay.steps + 1, 12)
    table_in = max((0.52 if replay.world_size <= 4 else 0.27) * replay.elements + 0.3, 1.0)
    columns = max(min(columns, int((PAGE_IN - 0.4) / table_in)), 1)
    columns = -(-len(chosen) // -(-len(chosen) // columns))  # rows as even as can be
    width_in = max(min(PAGE_IN, 0.4 + columns * 1.2 * table_in), 5.4) / columns  # room for the note and the origin
    picture, panels = new_panels(len(chosen), columns, width_in, 0.5 + 0.27 * replay.world_size, 0.4)
    for place, (axes, step) in enumerate(zip(panels, chosen, strict=True)):
        chunk_table_on(axes, replay, step, named=replay.world_size <= 4)
        axes.set_title("start" if step == 0 else f"step {step}", fontsize=10)
        label_outer(axes, place, columns, len(chosen), "chunk", "rank")
    put_title(picture, title)
    alt = " ".join(describe_chunk_table(replay, step) for step in chosen)
    return finish(picture, origin="simulated", alt=alt, note=note or _reading(replay))


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


def chunk_table_on(axes: Axes, replay: Replay, step: int, named: bool) -> None:
    """Draw the table after one step on axes; `named` writes which ranks are in a chunk, else how many."""
    with_text = replay.world_size <= 16 and replay.elements <= 32
    for rank, row in enumerate(chunk_cells(replay, step)):
        for chunk, cell in enumerate(row):
            axes.add_patch(Rectangle((chunk, rank), 1, 1, facecolor=cell.color, edgecolor="white", linewidth=1))
            if cell.changed:
                box = Rectangle((chunk + 0.06, rank + 0.06), 0.88, 0.88, fill=False, edgecolor=OUTLINE, linewidth=1.6)
                axes.add_patch(box)
            if with_text:
                middle = (chunk + 0.5, rank + 0.5)
                text = cell.text if named else cell.number
                axes.text(*middle, text, ha="center", va="center_baseline", fontsize=9, color=ink_on(cell.color))
    axes.set_xlim(0, replay.elements)
    axes.set_ylim(replay.world_size, 0)
    few = every(replay.elements, 16)
    axes.set_xticks([c + 0.5 for c in few], [str(c) for c in few], color=INK)
    few = every(replay.world_size, 16)
    axes.set_yticks([r + 0.5 for r in few], [str(r) for r in few])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
