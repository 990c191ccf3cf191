"""What each collective does to the data of all ranks: before and after."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from course_lib.draw.colors import COLORS, GROUNDS
from course_lib.draw.style import Picture, arrow, block, empty, finish, new_panels, styled

COLLECTIVES = ("broadcast", "reduce", "scatter", "gather", "all_reduce", "all_gather", "reduce_scatter", "all_to_all")
_COLORS = (COLORS["blue"], COLORS["orange"], COLORS["green"], COLORS["purple"])
_SUM = "#3a3a3a"
_NOTHING = GROUNDS["nothing"]
_ALT = {
    "broadcast": "rank 0's data goes to every rank",
    "reduce": "the sum over all ranks arrives at rank 0",
    "scatter": "rank 0's chunks go one to each rank",
    "gather": "one chunk of each rank arrives at rank 0",
    "all_reduce": "the sum over all ranks arrives at every rank",
    "all_gather": "one chunk of each rank arrives at every rank",
    "reduce_scatter": "each rank gets the sum of one chunk over all ranks",
    "all_to_all": "chunk j of rank i becomes chunk i of rank j",
}
_Table = list[list[str]]


@styled
def draw_collectives(names: Sequence[str] = COLLECTIVES, world_size: int = 4) -> Picture:
    """A panel a collective: rows are ranks, columns chunks, before on the left and after on the right.

    Raises:
        ValueError: for a name that is not in COLLECTIVES, or unless there are 2 to 4 ranks.
    """
    picture, panels = new_panels(len(names), 3, 2.5, 1.7, 0.25)
    for axes, name in zip(panels, names, strict=True):
        before, after = collective_states(name, world_size)
        empty(axes, 2 * world_size + 1.9, world_size + 0.1)
        axes.set_title(name)
        _draw_table(axes, before, 0.5)
        arrow(axes, (world_size + 0.7, world_size / 2), (world_size + 1.4, world_size / 2))
        _draw_table(axes, after, world_size + 1.6)
        for rank in range(world_size):
            axes.text(0.3, world_size - rank - 0.5, str(rank), ha="right", va="center_baseline", fontsize=9)
    words = "; ".join(f"{name}: {_ALT[name]}" for name in names)
    alt = f"Collectives on {world_size} ranks, before and after. {words}."
    note = "row: rank; column: chunk; color: whose; Σ: sum over all ranks"
    return finish(picture, origin="schematic", alt=alt, note=note)


def collective_states(name: str, world_size: int) -> tuple[_Table, _Table]:
    """Each rank's chunks before and after: "" is nothing, "2b" is chunk b of rank 2, "Σb" is its sum over all ranks.

    >>> collective_states("all_gather", 2)
    ([['0a', ''], ['', '1b']], [['0a', '1b'], ['0a', '1b']])
    """
    if name not in COLLECTIVES or not 2 <= world_size <= 4:
        raise ValueError(
            f"there are pictures of {', '.join(COLLECTIVES)} on 2 to 4 ranks, got {name!r} on {world_size}"
        )
    ranks = range(world_size)
    everything = [[f"{r}{'abcd'[c]}" for c in ranks] for r in ranks]
    nothing = [[""] * world_size for _ in ranks]
    diagonal = [[everything[r][c] if r == c else "" for c in ranks] for r in ranks]
    pieces = [everything[r][r] for r in ranks]
    sums = [f"Σ{'abcd'[c]}" for c in ranks]
    only_first = [everything[0]] + nothing[1:]
    return {
        "broadcast": (only_first, [everything[0]] * world_size),
        "reduce": (everything, [sums] + nothing[1:]),
        "scatter": (only_first, [[everything[0][c] if r == c else "" for c in ranks] for r in ranks]),
        "gather": (diagonal, [pieces] + nothing[1:]),
        "all_reduce": (everything, [sums] * world_size),
        "all_gather": (diagonal, [pieces] * world_size),
        "reduce_scatter": (everything, [[sums[c] if r == c else "" for c in ranks] for r in ranks]),
        "all_to_all": (everything, [[everything[c][r] for c in ranks] for r in ranks]),
    }[name]


def _draw_table(axes: Axes, table: _Table, left: float) -> None:
    for rank, row in enumerate(table):
        for chunk, text in enumerate(row):
            color = _NOTHING if not text else _SUM if text[0] == "Σ" else _COLORS[int(text[0])]
            block(axes, left + chunk, len(table) - rank - 1, 1, 1, color, text[1:] if text[:1] != "Σ" else text)
