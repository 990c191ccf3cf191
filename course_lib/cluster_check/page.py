"""The report of `course check`: one page of text, and one picture of the same."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm

from course_lib.cluster_check.checkup import Checkup
from course_lib.cluster_check.facts import Facts
from course_lib.cluster_check.findings import PROBLEM
from course_lib.cluster_check.judge import kinds_of
from course_lib.cluster_check.measure import RankPair, expected_seconds
from course_lib.draw import (
    COLORS,
    Picture,
    finish,
    format_bytes,
    format_count,
    format_rate,
    format_seconds,
    new_picture,
    styled,
)
from course_lib.draw.colors import CARD, INK
from course_lib.draw.style import put_title
from course_lib.published import bus_bytes_per_s

_MAX_RANKS, _MAX_PAIRS = 32, 12
WIDTH_IN, NARROW_IN = 9.0, 5.0
LETTERS_PER_IN = 10.5  # of the verdict, in bold
LINE_IN = 0.18
MOST_LINES = 8  # of what was found, in the picture; the text has all of it
_PAIR = ("ranks", "hosts", "1 kB in", "1 MB at", "latency + bytes / rate, fitted")


def page_of(found: Checkup) -> str:
    """All that was found, in words and tables of text; at most some hundred lines."""
    parts = [_heading(found), _ranks(found), _links(found), _sums(found), _products(found), _findings(found)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _heading(found: Checkup) -> list[str]:
    place, now = found.place, datetime.datetime.now(datetime.UTC)
    machines = len({one.machine for one in found.facts.values()})
    backend = next((one.backend for one in found.facts.values()), "")
    return [
        f"{format_count(place.world_size, 'rank')} started by {place.launcher}; {len(found.facts)} came, of "
        f"{format_count(machines, 'machine')}, to {place.address}; {backend}; {now:%Y-%m-%d %H:%M:%S} UTC.",
        "Numbers are measured where nothing else is said.",
    ]


def _ranks(found: Checkup) -> list[str]:
    rows = [_rank(one, found) for one in list(found.facts.values())[:_MAX_RANKS]]
    if not rows:
        return []
    names = ("rank", "host", "listens at", "device", "cores", "threads", "files", "locked", "/dev/shm", "clock")
    versions = sorted({one.versions for one in found.facts.values()})
    more = len(found.facts) - _MAX_RANKS
    return [*_aligned([names, *rows]), *([f"... and {more} more"] if more > 0 else []), *versions]


def _rank(one: Facts, found: Checkup) -> tuple[str, ...]:
    answer = found.answers.get((0, one.rank))
    clock = "" if answer is None or answer.trouble else f"{answer.clock_offset_s * 1e3:+.2f} ms"
    sizes = [_limit(size, format_bytes) for size in (one.locked_bytes, one.shared_memory_bytes)]
    numbers = [str(one.cores), str(one.threads), _limit(one.open_files, str)]
    return str(one.rank), one.host, str(one.address), one.device, *numbers, *sizes, clock


def _limit(number: int, show: object) -> str:
    return "no limit" if number < 0 else str(show(number))  # type: ignore[operator]


def _links(found: Checkup) -> Iterator[str] | list[str]:
    if not found.pairs:
        return []
    facts, lines = list(found.facts.values()), ["Messages from one rank to another"]
    for kind, pairs in kinds_of(found.pairs, facts).items():
        slowest = sorted(pairs, key=lambda pair: pair.bytes_per_s)
        lines.append(f"{kind}, {format_count(len(pairs), 'pair')}, the slowest first")
        lines += _aligned([_PAIR, *[_pair(pair, facts) for pair in slowest[:_MAX_PAIRS]]], "  ")
        lines += [f"  ... and {len(pairs) - _MAX_PAIRS} faster ones"] if len(pairs) > _MAX_PAIRS else []
    return lines


def _pair(pair: RankPair, facts: Sequence[Facts]) -> tuple[str, ...]:
    line = pair.line
    fitted = f"{format_seconds(max(0.0, line.latency_s))} + bytes / {format_rate(line.bytes_per_s)}"
    ends = f"{pair.one} - {pair.other}", f"{facts[pair.one].host} - {facts[pair.other].host}"
    measured = format_seconds(pair.times[0][1]), format_rate(pair.bytes_per_s)
    return *ends, *measured, f"{fitted}, off by {line.worst_error:.0%} at most"


def _sums(found: Checkup) -> list[str]:
    if not found.sums:
        return []
    rows = [("size", "time", "bus bandwidth", "a ring's, of the slowest link")]
    ranks = found.place.world_size
    for one in found.sums:
        expected_s = expected_seconds(one.message_bytes, found.pairs, ranks)
        modelled = format_rate(bus_bytes_per_s(one._replace(seconds=expected_s), ranks))
        rows.append(
            (
                format_bytes(one.message_bytes),
                format_seconds(one.seconds),
                format_rate(bus_bytes_per_s(one, ranks)),
                modelled,
            )
        )
    return ["All-reduce of all ranks (the last column is computed)", *_aligned(rows, "  ")]


def _products(found: Checkup) -> list[str]:
    if not found.products:
        return []
    order = sorted(range(len(found.products)), key=lambda rank: found.products[rank])[:_MAX_RANKS]
    shown = ", ".join(f"rank {rank} {found.products[rank] / 1e9:.3g}" for rank in order)
    return [f"A matrix product, billion operations a second, the slowest first: {shown}"]


def _findings(found: Checkup) -> list[str]:
    return [found.verdict, *map(str, found.findings)]


def _aligned(rows: Sequence[tuple[str, ...]], indent: str = "") -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


# --- The one picture: rates between ranks, latencies, all-reduce beside its model, and who computes how fast.


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
    return finish(picture, origin="measured, computed" if found.pairs else "measured", alt=_alt_text(found))


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


def _table(
    axes: Any, found: Checkup, of: Callable[[RankPair], float], show: Callable[[float], str], title: str
) -> None:
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
    measured = [bus_bytes_per_s(one, ranks) for one in found.sums]
    modelled = [2 * (ranks - 1) / ranks * size / expected_seconds(size, found.pairs, ranks) for size in sizes]
    axes.plot(sizes, modelled, color=COLORS["orange"], dashes=(5, 2), label="a ring's, of the slowest link (computed)")
    axes.plot(sizes, measured, "o", color=COLORS["blue"], label="all-reduce (measured)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [format_bytes(size) for size in sizes])
    axes.yaxis.set_major_formatter(lambda rate, _: f"{format_bytes(rate)}/s")  # as in the table, not as powers of ten
    axes.minorticks_off()
    axes.set_xlabel("message size")
    axes.set_ylabel("bus bandwidth")
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


def _alt_text(found: Checkup) -> str:
    slowest = min(range(len(found.products)), key=lambda rank: found.products[rank])
    words = f"Check of {found.place.world_size} ranks. {found.verdict.rstrip('.')}. Rank {slowest} computes most slowly"
    if found.pairs:
        worst = min(found.pairs, key=lambda pair: pair.bytes_per_s)
        words += f"; the slowest link is that of ranks {worst.one} and {worst.other}, {format_rate(worst.bytes_per_s)}"
    return words + "."
