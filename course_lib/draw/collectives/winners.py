"""The map of winners: which algorithm is fastest at which message size and number of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from course_lib.checks import at_least
from course_lib.draw.looks import look_of
from course_lib.draw.panels import Cell, Matrix
from course_lib.draw.panels.drawing import Key
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture
from course_lib.draw.units import format_bytes

__all__ = [
    "WinnerMap",
    "describe_winner_map",
    "draw_winner_map",
    "grid_place",
    "map_panel",
    "winner_at",
    "winner_map",
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
    """The map with a ring at a setting; each land bears its algorithm's first letters, or each cell its symbol.

    Args:
        marked: symbols in place of letters.
        more: what else a Matrix has.
    """
    lands = _lands(winners)
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


def _lands(winners: WinnerMap) -> dict[str, list[tuple[int, int]]]:
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
