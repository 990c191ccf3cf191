"""The map of winners: which algorithm is fastest at which message size and number of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from course_lib.checks import at_least
from course_lib.draw.style import (
    CARD,
    INK,
    Picture,
    every,
    finish,
    ink_on,
    look_of,
    new_picture,
    spread,
    styled,
)
from course_lib.draw.units import format_bytes

__all__ = [
    "WinnerMap",
    "describe_winner_map",
    "draw_winner_map",
    "grid_place",
    "winner_at",
    "winner_legend",
    "winner_map",
    "winner_map_on",
]


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


@styled
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
    picture, axes = new_picture(7.4, 1.2 + 0.3 * max(len(winners.world_sizes), 6))
    winner_map_on(axes, winners, here)
    axes.set_title(title or "The fastest algorithm")
    picture.legend(handles=winner_legend(winners), loc="outside right upper", handlelength=1.4)
    return finish(picture, origin=origin, alt=describe_winner_map(winners, here), note=note)


def winner_map_on(axes: Axes, winners: WinnerMap, here: tuple[float, float] | None = None, ticks: int = 8) -> None:
    """Draw the map on axes, without its legend; `ticks` is the number of sizes named on the axis."""
    columns, rows = len(winners.message_bytes), len(winners.world_sizes)
    _draw_cells(axes, winners)
    if here is not None:
        place = ([grid_place(here[0], winners.message_bytes)], [grid_place(here[1], winners.world_sizes)])
        axes.plot(*place, "o", markersize=15, markerfacecolor="none", markeredgecolor=CARD, markeredgewidth=5)
        axes.plot(
            *place, "o", markersize=15, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=2, gid="here"
        )
    few = spread(columns, ticks)
    axes.set_xticks(few, [format_bytes(winners.message_bytes[c]) for c in few])
    few = list(every(rows, 12))
    axes.set_yticks(few, [f"{winners.world_sizes[r]:g}" for r in few])
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(-0.5, rows - 0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("message size")
    axes.set_ylabel("ranks")


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


def _draw_cells(axes: Axes, winners: WinnerMap) -> None:
    for row, names in enumerate(winners.names):
        for column, name in enumerate(names):
            color = look_of(name).color
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=color, edgecolor=CARD, linewidth=0.6))
    for name in {name for names in winners.names for name in names}:
        style = look_of(name)
        points = [(c, r) for r, names in enumerate(winners.names) for c, other in enumerate(names) if other == name]
        columns, rows = zip(*points, strict=True)
        axes.plot(columns, rows, style.marker, linestyle="none", markersize=5, color=ink_on(style.color), alpha=0.75)


def winner_legend(winners: WinnerMap) -> list[Line2D]:
    """One entry an algorithm that wins somewhere."""
    entries = []
    for name in dict.fromkeys(name for row in winners.names for name in row):
        style = look_of(name)
        look = {"markerfacecolor": style.color, "markeredgecolor": style.color, "markersize": 8}
        entries.append(Line2D([], [], marker=style.marker, linestyle="none", label=name, **look))
    return entries
