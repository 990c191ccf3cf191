"""The one page of text."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from course_lib.cluster_check.checkup import Checkup
from course_lib.cluster_check.facts import Facts
from course_lib.cluster_check.judge_speed import kinds_of
from course_lib.cluster_check.pairs import Pair
from course_lib.cluster_check.reductions import expected_seconds
from course_lib.draw import format_bytes, format_count, format_rate, format_seconds
from course_lib.published import bus_bytes_per_s

__all__ = ["page_of"]

_MAX_RANKS, _MAX_PAIRS = 32, 12
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


def _pair(pair: Pair, facts: Sequence[Facts]) -> tuple[str, ...]:
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
