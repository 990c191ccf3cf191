"""How long collectives take: plans against a goal, three scales, eight A100s, and the map of the fastest algorithm."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from course_lib.checks import at_least
from course_lib.draw.bar_charts import goal_bars, goal_color
from course_lib.draw.colors import COLORS, INK, look_of
from course_lib.draw.line_charts import PAGE_PX, SECONDS, Axis, Curve, bytes_axis, lines_panel, scaled
from course_lib.draw.panels import Bars, Cell, Line, Lines, Matrix, axis
from course_lib.draw.panels.drawing import Key
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture
from course_lib.draw.units import format_bytes, format_seconds
from course_lib.published import A100_SWEEP, NCCL_RING_PROTOCOLS, nccl_ring_choice, nccl_ring_seconds

_LOOKS: dict[str, tuple[str, tuple[float, ...]]] = {
    "LL": (COLORS["orange"], (2, 3)),
    "LL128": (COLORS["green"], (10, 3)),
    "Simple": (COLORS["blue"], ()),
}


def draw_plan_times(plans: Mapping[str, float], *, goal_s: float = 0.125, title: str = "") -> Picture:
    """A bar for each plan, its name with its whole milliseconds, and a dashed line at the goal.

    A bar that stays below the goal is green. The axis always goes to a second, so pictures with more bars compare.

    Args:
        plans: name -> seconds of all its all-reduces.

    Raises:
        ValueError: if there is no bar.

    >>> draw_plan_times({"central": 0.9926, "ring": 0.0316}).alt
    'Time of the all-reduce, goal 125 ms: central, 993 ms; ring, 32 ms. (computed)'
    """
    named = {f"{name}, {1000 * seconds:.0f} ms": seconds for name, seconds in plans.items()}
    panel = plan_bars(named, goal_s=goal_s, longest_s=1.0, title=title or "Time of the all-reduce")
    return picture_of([panel], alt=f"Time of the all-reduce, goal {format_seconds(goal_s)}: {'; '.join(named)}.")


def plan_bars(plans: Mapping[str, float], *, goal_s: float, longest_s: float, title: str) -> Bars:
    """The bars of `draw_plan_times`, on an axis up to `longest_s`, or to the longest bar."""
    return goal_bars(
        plans,
        "a plan's time",
        along=axis("milliseconds", [longest_s, goal_s, *plans.values()], show=lambda s: f"{1000 * s:,.4g}"),
        limit=(f"goal: {format_seconds(goal_s)}", goal_s),
        colors={name: goal_color(seconds <= goal_s) for name, seconds in plans.items()},
        show=lambda _: "",
        title=title,
        origin="computed",
        row_px=26.0,
    )


def draw_three_scales(panels: Mapping[str, Sequence[Curve]], *, title: str = "", note: str = "") -> Picture:
    """A panel for each set of curves, seconds against ranks: real processes as markers, simulated ranks as bands
    where the formula is there as a line.

    Curves of one name and origin are joined, so that each point may come as a curve of its own.

    Args:
        panels: heading -> curves whose x is a number of ranks; measured markers are full, emulated ones open.
    """
    joined = {heading: _joined(curves) for heading, curves in panels.items()}
    everyone = [curve for curves in joined.values() for curve in curves]
    ranks = Axis("ranks", log=True, ticks=sorted({x for curve in everyone for x in curve.x}))
    look: dict[str, Any] = {"wide": False, "height_px": 240.0}
    drawn = [
        lines_panel(curves, ranks, SECONDS, title=heading, all_curves=everyone, **look)
        for heading, curves in joined.items()
    ]
    return picture_of(drawn, alt=describe_three_scales(joined), note=note, title=title, shared=True)


def describe_three_scales(panels: Mapping[str, Sequence[Curve]]) -> str:
    """The figure in words: both ends of every curve."""
    parts = []
    for heading, curves in panels.items():
        ends = [
            f"{c.name} ({c.origin}) {format_seconds(c.seconds[0])} on {c.x[0]:g} to {format_seconds(c.seconds[-1])} "
            f"on {c.x[-1]:g} ranks"
            for c in _joined(curves)
        ]
        parts.append(f"{heading}: {'; '.join(ends)}.")
    return "Time against ranks, both axes logarithmic. " + " ".join(parts)


def _joined(curves: Sequence[Curve]) -> list[Curve]:
    """One curve for each name and origin, its points in order of x."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for curve in curves:
        points.setdefault((curve.name, curve.origin), []).extend(zip(curve.x, curve.seconds, strict=True))
    return [
        Curve(name, [x for x, _ in sorted(pairs)], [s for _, s in sorted(pairs)], origin)
        for (name, origin), pairs in points.items()
    ]


def draw_a100_sweep() -> Picture:
    """Published times as crosses, NCCL's model of each protocol as lines, and where its fastest protocol changes."""
    sizes = [timing.message_bytes for timing in A100_SWEEP]
    fine = [sizes[0] * 2 ** (i / 8) for i in range(8 * (len(sizes) - 1) + 1)]
    lines = {
        f"{protocol} (computed)": Line(fine, [nccl_ring_seconds(protocol, size) for size in fine], *_LOOKS[protocol])
        for protocol in NCCL_RING_PROTOCOLS
    }
    lines["published"] = Line(sizes, [timing.seconds for timing in A100_SWEEP], INK, drawn="crosses")
    panel = Lines(
        title=f"Eight A100s: by NCCL's model the fastest protocol changes after {_changes()}",
        origin="published, computed",
        wide=True,
        lines=lines,
        x=scaled(bytes_axis(sizes), sizes),
        y=scaled(Axis("time", format_seconds, log=True, ticks=[10.0**power for power in range(-5, 1)]), [4e-6, 1.0]),
        zones=_fastest(sizes),
        height_px=PAGE_PX,
        grid="xy",
    )
    return picture_of([panel], alt=describe_a100_sweep(), note="8 × A100, one server; model: NCCL tuning.cc")


def describe_a100_sweep() -> str:
    """The figure in words."""
    first, last = A100_SWEEP[0], A100_SWEEP[-1]
    switched = [f"{new} after {format_bytes(size)}" for size, new in _switches()]
    return (
        f"Time of an all-reduce on eight A100 GPUs, both axes logarithmic: from {format_seconds(first.seconds)} at "
        f"{format_bytes(first.message_bytes)} to {format_seconds(last.seconds)} at {format_bytes(last.message_bytes)}. "
        f"NCCL's model begins with {nccl_ring_choice(first.message_bytes)} and changes to {' and to '.join(switched)}."
    )


def _changes() -> str:
    """After which sizes the fastest protocol changes, in words."""
    return " and ".join(format_bytes(size) for size, _ in _switches())


def _switches() -> list[tuple[int, str]]:
    """The last size before each change of the fastest protocol, and the protocol after it."""
    pairs = itertools.pairwise(A100_SWEEP)
    choices = [
        (a.message_bytes, nccl_ring_choice(a.message_bytes), nccl_ring_choice(b.message_bytes)) for a, b in pairs
    ]
    return [(size, after) for size, before, after in choices if before != after]


def _fastest(sizes: Sequence[int]) -> dict[str, tuple[float, float, str]]:
    """From which size to which each protocol is the fastest."""
    edges = [0.5 * sizes[0], *(size * 2**0.5 for size, _ in _switches()), 2.0 * sizes[-1]]
    names = [nccl_ring_choice(sizes[0]), *(name for _, name in _switches())]
    return {f"{name} fastest": (*ends, "none") for name, ends in zip(names, itertools.pairwise(edges), strict=True)}


class WinnerMap(NamedTuple):
    """The fastest algorithm at every point of a grid: names[row of world_sizes][column of message_bytes]."""

    message_bytes: tuple[int, ...]
    world_sizes: tuple[int, ...]
    names: tuple[tuple[str, ...], ...]


def winner_map(
    seconds: Mapping[str, Callable[..., Any]], message_bytes: Iterable[int], world_sizes: Iterable[int]
) -> WinnerMap:
    """Ask every algorithm at every point; of equals (to nine digits) the one named first wins.

    Args:
        seconds: name -> function of (message_bytes, world_size) giving seconds. It may take arrays, which is faster.

    >>> winner_map({"a": lambda b, p: b, "b": lambda b, p: 10 * p}, [1, 100], [2, 4]).names
    (('a', 'b'), ('a', 'b'))
    """
    sizes, worlds = tuple(message_bytes), tuple(world_sizes)
    names = list(seconds)
    at_least(1, algorithms=len(names))
    table = np.stack([_ask(function, sizes, worlds) for function in seconds.values()])
    fastest = np.argmax(table <= table.min(axis=0) * (1 + 1e-9), axis=0)
    return WinnerMap(sizes, worlds, tuple(tuple(names[i] for i in row) for row in fastest))


def _ask(function: Callable[..., Any], sizes: tuple[int, ...], worlds: tuple[int, ...]) -> np.ndarray:
    """Seconds at every point of the grid, [world][size]: by one call where the function takes arrays."""
    columns, rows = np.meshgrid(np.array(sizes, dtype=float), np.array(worlds))
    try:
        answer = np.asarray(function(columns, rows), dtype=float)
    except (TypeError, ValueError):
        answer = np.empty(0)
    if answer.shape == columns.shape:
        return answer
    return np.array([[float(function(b, p)) for b in sizes] for p in worlds])


def draw_winner_map(
    winners: WinnerMap,
    *,
    here: tuple[float, float] | None = None,
    origin: str = "computed",
    title: str = "",
    note: str = "",
) -> Picture:
    """A colored cell for each point of the grid, with the winner's marker in it.

    Args:
        here: (message_bytes, world_size) of a point to mark.
    """
    title = title or "The fastest algorithm"
    panel = map_panel(winners, here, title=title, origin=origin, wide=True, gap_px=1.0, marked=True, min_px=22.0)
    return picture_of([panel], alt=describe_winner_map(winners, here), note=note)


def map_panel(
    winners: WinnerMap,
    here: tuple[float, float] | None,
    *,
    title: str,
    origin: str = "computed",
    marked: bool = False,
    **more: Any,
) -> Matrix:
    """The winner map as a panel, a ring at a setting; regions have their algorithm's first letters, or cells a symbol.

    Args:
        marked: symbols in place of letters.
        more: what else a Matrix has.
    """
    lands = _regions(winners)
    looks = {name: look_of(name) for name in lands}
    cells = [
        [Cell(looks[name].color, symbol=looks[name].marker if marked else "") for name in names]
        for names in winners.names
    ]
    for name, where in lands.items() if not marked else ():
        row, column = _central(where)
        cells[row][column] = cells[row][column]._replace(text=_initials(name))
    last = len(winners.world_sizes) - 1
    place = here and (grid_place(here[0], winners.message_bytes), last - grid_place(here[1], winners.world_sizes))
    return Matrix(
        title=title,
        origin=origin,
        label=describe_winner_map(winners, here),
        cells=cells[::-1],
        row_names=[f"{ranks:g}" for ranks in reversed(winners.world_sizes)],
        column_names=[format_bytes(size) for size in winners.message_bytes],
        across="message size",
        down="ranks",
        here=place,
        keys=[
            Key(name, looks[name].color, symbol=looks[name].marker if marked else "")
            for name in sorted(lands, key=lambda name: -len(lands[name]))
        ],
        ends=True,
        **more,
    )


def _regions(winners: WinnerMap) -> dict[str, list[tuple[int, int]]]:
    """Where each algorithm wins, as rows and columns."""
    lands: dict[str, list[tuple[int, int]]] = {}
    for row, names in enumerate(winners.names):
        for column, name in enumerate(names):
            lands.setdefault(name, []).append((row, column))
    return lands


def _central(where: list[tuple[int, int]]) -> tuple[int, int]:
    """The place nearest to the middle of all of them."""
    row, column = (sum(place[i] for place in where) / len(where) for i in (0, 1))
    return min(where, key=lambda place: (place[0] - row) ** 2 + (place[1] - column) ** 2)


def _initials(name: str) -> str:
    """An algorithm's first letters, for those who do not see its color."""
    return "".join(part[0].upper() for part in name.replace("-", " ").split())


def describe_winner_map(winners: WinnerMap, here: tuple[float, float] | None = None) -> str:
    """The map in words: who wins in each of its corners, and how much of it everyone holds."""
    everyone = [name for row in winners.names for name in row]
    shares = {name: everyone.count(name) / len(everyone) for name in dict.fromkeys(everyone)}
    held = ", ".join(f"{name} on {share:.0%}" for name, share in sorted(shares.items(), key=lambda item: -item[1]))
    first, last = winners.message_bytes[0], winners.message_bytes[-1]
    few, many = winners.world_sizes[0], winners.world_sizes[-1]
    text = (
        f"Map of the fastest algorithm over {format_bytes(first)} to {format_bytes(last)} "
        f"and {few} to {many} ranks: {held}. With {many} ranks {winners.names[-1][0]} wins "
        f"at {format_bytes(first)} and {winners.names[-1][-1]} at {format_bytes(last)}."
    )
    if here is not None:
        text += f" Marked: {format_bytes(here[0])} and {here[1]:g} ranks, where {winner_at(winners, *here)} wins."
    return text


def winner_at(winners: WinnerMap, message_bytes: float, world_size: float) -> str:
    """The winner at the grid point nearest to a message size and a number of ranks."""
    column = round(grid_place(message_bytes, winners.message_bytes))
    return winners.names[round(grid_place(world_size, winners.world_sizes))][column]


def grid_place(value: float, grid: Sequence[float]) -> float:
    """Where a value lies between the points of a grid, counted in points; beyond an end it is that end.

    >>> grid_place(3, [2, 4, 8]), grid_place(100, [2, 4, 8])
    (0.5, 2.0)
    """
    if value <= grid[0]:
        return 0.0
    for i, (low, high) in enumerate(itertools.pairwise(grid)):
        if value <= high:
            return i + (value - low) / (high - low)
    return float(len(grid) - 1)
