"""The one picture: the verdict, rates between ranks, latencies, all-reduce beside its model, each rank's speed."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm

from course_lib.cluster_check.checkup import Checkup
from course_lib.cluster_check.findings import PROBLEM
from course_lib.cluster_check.pairs import Pair
from course_lib.cluster_check.reductions import expected_seconds
from course_lib.draw import COLORS, Picture, finish, format_bytes, format_rate, format_seconds, new_picture, styled
from course_lib.draw.style import CARD, INK, put_title
from course_lib.published import bus_bytes_per_s

__all__ = ["draw_checkup"]

WIDTH_IN, NARROW_IN = 9.0, 5.0
LETTERS_PER_IN = 10.5  # of the verdict, in bold
LINE_IN = 0.18
MOST_LINES = 8  # of what was found; the page has all of it


@styled
def draw_checkup(found: Checkup) -> Picture:
    """What was measured between ranks and on them; a page has the same in words."""
    width_in = WIDTH_IN if found.pairs else NARROW_IN
    lines = _verdict(found, int(LETTERS_PER_IN * width_in))
    above_in = LINE_IN * (len(lines) + 1)
    if not found.pairs:
        picture, axes = new_picture(width_in, 3.0 + above_in)
        _bars(axes, found)
    else:
        picture, grid = new_picture(width_in, 7.3 + above_in, 2, 2)
        _table(grid[0, 0], found, lambda pair: pair.bytes_per_s, format_rate, "Rate of 1 MB")
        size = format_bytes(found.pairs[0].times[0][0])
        _table(grid[0, 1], found, lambda pair: pair.times[0][1], format_seconds, f"Time of {size}")
        _curves(grid[1, 0], found)
        _bars(grid[1, 1], found)
    put_title(picture, "\n".join(lines))
    return finish(picture, origin="measured, computed" if found.pairs else "measured", alt=_words(found))


def _verdict(found: Checkup, letters: int) -> list[str]:
    """What the page says last, in lines of so many letters; of what was found, the grave first."""
    grave_first = sorted(found.findings, key=lambda one: one.level != PROBLEM)
    lines = [
        line
        for one in grave_first
        for line in textwrap.wrap(f"{one.level}: {one.words}", letters, subsequent_indent="    ")
    ]
    more = ["… and more, on the page of text"] if len(lines) > MOST_LINES else []
    return [*textwrap.wrap(found.verdict, letters), *lines[: MOST_LINES - len(more)], *more]


def _table(axes: Any, found: Checkup, of: Callable[[Pair], float], show: Callable[[float], str], title: str) -> None:
    ranks = found.place.world_size
    table = np.full((ranks, ranks), np.nan)
    for pair in found.pairs:
        table[pair.one, pair.other] = table[pair.other, pair.one] = of(pair)
    low, high = np.nanmin(table), np.nanmax(table)
    axes.imshow(table, cmap="Blues", norm=LogNorm(low / 3, high * 3))
    if ranks <= 8:
        for (row, column), value in np.ndenumerate(table):
            if row != column:
                ink = CARD if axes.images[0].norm(value) > 0.6 else INK
                axes.text(column, row, show(value).replace(" ", "\n"), ha="center", va="center", fontsize=8, color=ink)
    axes.set_title(title)
    axes.set_xlabel("rank")
    axes.set_ylabel("rank")
    axes.spines[:].set_visible(False)
    ticks = range(0, ranks, -(-ranks // 16))
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)


def _curves(axes: Any, found: Checkup) -> None:
    ranks, sizes = found.place.world_size, [one.message_bytes for one in found.sums]
    measured = [bus_bytes_per_s(one, ranks) / 1e9 for one in found.sums]
    modelled = [2 * (ranks - 1) / ranks * size / expected_seconds(size, found.pairs, ranks) / 1e9 for size in sizes]
    axes.plot(sizes, modelled, color=COLORS["orange"], dashes=(5, 2), label="a ring's, of the slowest link (computed)")
    axes.plot(sizes, measured, "o", color=COLORS["blue"], label="all-reduce (measured)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [format_bytes(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("message size")
    axes.set_ylabel("bus bandwidth, GB/s")
    axes.set_title("All-reduce of all ranks")
    axes.grid()
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.16))  # where no point lies


def _bars(axes: Any, found: Checkup) -> None:
    ranks = range(len(found.products))
    axes.barh(ranks, [each / 1e9 for each in found.products], color=COLORS["blue"])
    axes.set_yticks(range(0, len(found.products), -(-len(found.products) // 16)))
    axes.invert_yaxis()
    axes.set_xlabel("billion operations a second")
    axes.set_ylabel("rank")
    axes.set_title("A matrix product")


def _words(found: Checkup) -> str:
    slowest = min(range(len(found.products)), key=lambda rank: found.products[rank])
    words = f"Check of {found.place.world_size} ranks. {found.verdict.rstrip('.')}. Rank {slowest} computes most slowly"
    if found.pairs:
        worst = min(found.pairs, key=lambda pair: pair.bytes_per_s)
        words += f"; the slowest link is that of ranks {worst.one} and {worst.other}, {format_rate(worst.bytes_per_s)}"
    return words + "."
