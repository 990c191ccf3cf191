"""The pictures of chapters 04 and 05: who holds what of a split layer, halos, what ranks send and hold by plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from matplotlib.axes import Axes

from course_lib.draw.bar_charts import describe_memory_bars, goal_bars, goal_color
from course_lib.draw.colors import COLORS, GROUNDS, RANK_COLORS
from course_lib.draw.panels import Bars, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import PAGE_IN, Picture, arrow, block, caption, empty, finish, new_picture, put_title, styled
from course_lib.draw.units import format_bytes, format_count
from course_lib.model_parallel import RowKernel, halo_plan, needed_rows, owned_rows

_WHOLE = COLORS["gray"]
_TITLES = {"examples": "By examples", "outputs": "By outputs", "inputs": "By inputs"}
_SUMMED = {"examples": "gradient of W", "outputs": "gradient of x", "inputs": "y"}
_LINEAR_ALT = (
    "A layer y = x Wᵀ on {n} ranks. By examples: x and y in rows, W whole on every rank; the gradient of W is summed. "
    "By outputs: x whole on every rank, W in rows, y in columns; the gradient of x is summed. By inputs: x and W in "
    "columns; every rank has an addend of all of y, and y is summed."
)


@styled
def draw_linear_splits(ranks: int = 2, splits: Sequence[str] = tuple(_TITLES)) -> Picture:
    """Who holds what of y = x Wᵀ: one color a rank, gray where all have everything, mixed where sums are missing.

    Raises:
        ValueError: unless there are 2 to 4 ranks.
    """
    if not 2 <= ranks <= len(RANK_COLORS):
        raise ValueError(f"the picture has room for 2 to {len(RANK_COLORS)} ranks, got {ranks}")
    picture, panels = new_picture(PAGE_IN, 2.2, 1, len(splits), squeeze=False)
    for axes, split in zip(panels.flat, splits, strict=True):
        empty(axes, 6.2, 4.2)
        axes.set_title(_TITLES[split])
        _matrix(axes, 0.1, 1.3, 1.3, 1.9, "x", {"examples": "rows", "outputs": "", "inputs": "columns"}[split], ranks)
        _matrix(axes, 2.0, 1.3, 1.3, 1.9, "W", {"examples": "", "outputs": "rows", "inputs": "columns"}[split], ranks)
        y_cut = {"examples": "rows", "outputs": "columns", "inputs": "sums"}[split]
        _matrix(axes, 4.3, 1.3, 1.3, 1.9, "y", y_cut, ranks)
        caption(axes, 3.8, 2.25, "→")
        caption(axes, 3.0, 0.4, f"summed: {_SUMMED[split]}")
    note = "one color a rank; gray: whole on every rank; by inputs, every rank has an addend of all of y"
    return finish(picture, origin="schematic", alt=_LINEAR_ALT.format(n=ranks), note=note)


def _matrix(axes: Axes, x: float, y: float, wide: float, high: float, name: str, cut: str, ranks: int) -> None:
    """A matrix with its name above, cut into rows, columns or (where sums are missing) stripes of all ranks."""
    caption(axes, x + wide / 2, y + high + 0.25, name, bold=True)
    if not cut:
        block(axes, x, y, wide, high, _WHOLE)
    for rank in range(ranks if cut else 0):
        color = RANK_COLORS[rank]
        if cut == "rows":
            block(axes, x, y + high * (ranks - 1 - rank) / ranks, wide, high / ranks, color, str(rank))
        elif cut == "columns":
            block(axes, x + wide * rank / ranks, y, wide / ranks, high, color, str(rank))
        else:
            block(axes, x + 0.22 * rank, y - 0.18 * rank, wide, high, color)
            if rank == ranks - 1:
                caption(axes, x + 0.22 * rank + wide + 0.2, y + (high - 0.18 * rank) / 2, "Σ", bold=True)


@styled
def draw_halos(height: int, kernel: RowKernel, world_size: int) -> Picture:
    """The input picture on the left, cut among ranks; beside it, rank by rank, the rows that each of them works on.

    Raises:
        ValueError: unless there are 1 to 4 ranks and at most 24 rows.
    """
    if not 1 <= world_size <= len(RANK_COLORS) or not 1 <= height <= 24:
        raise ValueError(f"there is room for 1 to 4 ranks and 24 rows, got {world_size} ranks and {height} rows")
    owned = owned_rows(height, world_size)
    outputs = owned_rows(kernel.output_height(height), world_size)
    picture, axes = new_picture(6.6, 0.9 + 0.2 * (height + 2 * kernel.padding))
    empty(axes, 3.4 + 1.9 * world_size, height + 2 * kernel.padding + 2)
    top = height + kernel.padding
    for rank, rows in enumerate(owned):
        for row in range(*rows):
            block(axes, 0.6, top - row - 1, 1.6, 1, RANK_COLORS[rank], str(row))
    caption(axes, 1.4, top + kernel.padding + 1, "the picture", bold=True)
    for rank, output in enumerate(outputs):
        left = _left(rank)
        caption(axes, left + 0.75, top + kernel.padding + 1, f"rank {rank}", bold=True)
        for row in range(*needed_rows(output, kernel)):
            owner = next((r for r, rows in enumerate(owned) if rows.start <= row < rows.stop), None)
            color = GROUNDS["nothing"] if owner is None else RANK_COLORS[owner]
            block(axes, left, top - row - 1, 1.5, 1, color, "pad" if owner is None else str(row))
            if owner not in (None, rank):
                _lend(axes, owner, rank, top - row - 0.5)
    plan = halo_plan(height, kernel, world_size)
    lends = [f"rank {src} lends rank {dst} {format_count(rows.number, 'row')}" for src, dst, rows in plan]
    lent_rows = sum(each.number for *_, each in plan)
    put_title(picture, f"{format_count(lent_rows, 'row is', 'rows are')} lent, of {height}")
    lent = "; ".join(lends) or "nobody lends any"
    alt = f"A picture of {height} rows on {world_size} ranks, {_words(kernel)}. Rows that cross: {lent}."
    note = f"{_words(kernel)}; an arrow: a row that is lent; pad: a row of zeros"
    return finish(picture, origin="computed", alt=alt, note=note)


def _left(rank: int) -> float:
    """Where a rank's column begins."""
    return 3.2 + 1.9 * rank


def _lend(axes: Axes, owner: int, rank: int, height: float) -> None:
    """An arrow from the owner's column to the borrower's."""
    if owner < rank:
        arrow(axes, (_left(owner) + 1.52, height), (_left(rank) - 0.02, height))
    else:
        arrow(axes, (_left(owner) - 0.02, height), (_left(rank) + 1.52, height))


def _words(kernel: RowKernel) -> str:
    parts = [f"kernel {kernel.size}", f"stride {kernel.stride}", f"padding {kernel.padding}"]
    return ", ".join([*parts, f"dilation {kernel.dilation}"] if kernel.dilation > 1 else parts)


def sent_bars(plans: Mapping[str, float], *, goal_bytes: float, title: str = "") -> Bars:
    """A bar for each plan, named with what a rank sends in a step. Green reaches the goal.

    The axis goes to 450 MB, and further only where a bar does, so that pictures with more bars can be compared.

    Args:
        plans: name -> bytes.

    Raises:
        ValueError: if there is none.
    """
    named = {f"{name}: {format_bytes(sent)}": sent for name, sent in plans.items()}
    end = max([450e6, *(1.05 * sent for sent in plans.values())])
    goal = format_bytes(goal_bytes)
    bars = goal_bars(
        named,
        "a plan",
        along=axis("sent by a rank in a step", [end], "B", high=end, most=8),
        limit=(f"goal: {goal}", goal_bytes),
        colors={name: goal_color(sent <= goal_bytes) for name, sent in named.items()},
        show=None,
        title=title or "What a rank sends in a step",
        origin="computed",
    )
    return replace(bars, label=f"Bytes that a rank sends in a step, goal {goal}. {'; '.join(named)}.")


def draw_sent(plans: Mapping[str, float], *, goal_bytes: float, title: str = "") -> Picture:
    """What a rank sends in a step by each plan, and the goal.

    >>> draw_sent({"all by examples": 426.76e6, "fc6 by outputs": 257.9e6}, goal_bytes=142.25e6).alt
    'Bytes that a rank sends in a step, goal 142 MB. all by examples: 427 MB; fc6 by outputs: 258 MB. (computed)'
    """
    panel = sent_bars(plans, goal_bytes=goal_bytes, title=title)
    return picture_of([panel], alt=panel.label)


_MLP_ALT = (
    "An MLP on {n} ranks. x is whole on every rank and passes f, which copies forward{f}. "
    "Each rank has its columns of up, GELU of its own hidden numbers, and its rows of down. g sums the addends forward"
    "{g}; y is whole on every rank. Nothing crosses between f and g."
)


def cut_bars(held: Mapping[str, Mapping[str, float]], gpu_bytes: float, title: str = "") -> Bars:
    """A bar for each cut, named with its sum: what a GPU holds by part; and a dashed line for what it has.

    Args:
        held: cut -> part -> bytes.
    """
    bars = {f"{cut}: {format_bytes(sum(parts.values()))}": parts for cut, parts in held.items()}
    limits = {f"a GPU of {format_bytes(gpu_bytes)}": gpu_bytes}
    return Bars(
        title=title or "What a GPU must hold, cut by cut",
        origin="computed",
        label=describe_memory_bars(held, limits),
        bars=bars,
        axis=axis("memory", [gpu_bytes, *(1.02 * sum(parts.values()) for parts in held.values())], "B", most=8),
        limits=limits,
        wide=True,
        row_px=34.0,
    )


def draw_cuts(held: Mapping[str, Mapping[str, float]], gpu_bytes: float, *, title: str) -> Picture:
    """What a GPU must hold by each cut, and what it has."""
    panel = cut_bars(held, gpu_bytes, title)
    return picture_of([panel], alt=panel.label)


@styled
def draw_parallel_mlp(ranks: int = 2, *, backward: bool = True) -> Picture:
    """Who computes what of y = down(GELU(up(x))): one color a rank, gray where all have everything.

    Args:
        backward: say what f and g do on the way back, too.

    Raises:
        ValueError: unless there are 2 to 4 ranks.
    """
    if not 2 <= ranks <= len(RANK_COLORS):
        raise ValueError(f"the picture has room for 2 to {len(RANK_COLORS)} ranks, got {ranks}")
    picture, axes = new_picture(PAGE_IN, 1.0 + 0.8 * ranks)
    axes.set_title("On the way back f sums, and g copies" if backward else "Nothing crosses between f and g")
    high = float(ranks)
    empty(axes, 12.2, high + 1.0)
    for x, name, there, back in ((2.1, "f", "copy", "sum"), (9.3, "g", "sum", "copy")):
        block(axes, x, 0.6, 0.7, high, _WHOLE, name, size=13)
        caption(axes, x + 0.35, high + 0.8, f"forward: {there}")
        if backward:
            caption(axes, x + 0.35, 0.3, f"backward: {back}")
    for x, name in ((0.1, "x"), (11.2, "y")):
        block(axes, x, 0.6 + high / 2 - 0.35, 0.9, 0.7, _WHOLE, name, size=12)
    arrow(axes, (1.05, 0.6 + high / 2), (2.05, 0.6 + high / 2))
    arrow(axes, (10.05, 0.6 + high / 2), (11.15, 0.6 + high / 2))
    for rank in range(ranks):
        _path(axes, 0.6 + high - rank - 0.5, rank)
    ways = (" and sums gradients backward", " and copies backward") if backward else ("", "")
    alt = _MLP_ALT.format(n=ranks, f=ways[0], g=ways[1])
    return finish(picture, origin="schematic", alt=alt, note="one color a rank; gray: whole on every rank")


def _path(axes: Axes, y: float, rank: int) -> None:
    """What one rank does between f and g."""
    boxes = ((3.3, 1.8, f"up, columns {rank}"), (5.6, 1.1, "GELU"), (7.2, 1.6, f"down, rows {rank}"))
    right = 2.8
    for x, wide, text in boxes:
        arrow(axes, (right + 0.05, y), (x - 0.05, y))
        block(axes, x, y - 0.33, wide, 0.66, RANK_COLORS[rank], text)
        right = x + wide
    arrow(axes, (right + 0.05, y), (9.25, y))
