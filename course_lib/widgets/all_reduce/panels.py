"""The pictures of the all-reduce explorer: chunk table, links, timeline and map of winners as vector pictures."""

from __future__ import annotations

from collections import defaultdict

from course_lib.comm import Trace
from course_lib.draw.collectives.chunks import OUTLINE, chunk_cells, describe_chunk_table
from course_lib.draw.collectives.links import describe_link_heatmap, short_number
from course_lib.draw.collectives.replays import Replay
from course_lib.draw.collectives.winners import WinnerMap, describe_winner_map, grid_place
from course_lib.draw.style import every, fraction_color, ink_on, look_of, spread
from course_lib.draw.timelines import describe_timeline, lanes_of, timeline_keys, timeline_rows
from course_lib.draw.units import byte_unit, format_bytes, format_seconds
from course_lib.widgets.html import legend
from course_lib.widgets.svg import (
    FAINT,
    QUIET,
    Box,
    axes,
    boxes,
    edge_of,
    ring,
    svg,
    time_ticks,
    words,
)

__all__ = ["chunk_panel", "link_panel", "map_panel", "timeline_panel"]

_WIDTH = 430.0
_EDGE = 34.0  # room for the numbers of the ranks
_MOST_NAMED = 8  # with more ranks a chunk says how many ranks are in it, not which
_NOW = "stroke-width:2.5"


def chunk_panel(replay: Replay, step: int) -> str:
    """The chunk table after a step: rows are ranks, columns chunks, changed chunks outlined."""
    ranks, chunks, named = replay.world_size, replay.elements, replay.world_size <= _MOST_NAMED
    wide = min(74.0, (_WIDTH - _EDGE) / max(chunks, 1))
    high = min(30.0, max(16.0, 270 / ranks))
    fills: dict[str, list[Box]] = defaultdict(list)
    outlines: list[Box] = []
    texts = []
    for rank, row in enumerate(chunk_cells(replay, step)):
        for chunk, cell in enumerate(row):
            x, y = _EDGE + chunk * wide, rank * high
            fills[cell.color].append((x + 0.5, y + 0.5, wide - 1, high - 1))
            if cell.changed:
                outlines.append((x + 2, y + 2, wide - 4, high - 4))
            text = cell.text if named else cell.number
            texts.append(words(x + wide / 2, y + high / 2, text, color=ink_on(cell.color)))
    body = [boxes(where, color) for color, where in fills.items()]
    body += [boxes(outlines, "none", OUTLINE, _NOW), *texts]
    body += _ranks_down(ranks, high) + _across(
        chunks, wide, ranks * high, "chunk" if named else "chunk; cells say how many ranks"
    )
    return svg(_WIDTH, ranks * high + 36, body, describe_chunk_table(replay, step))


def link_panel(trace: Trace, step: int) -> str:
    """Bytes by link as a heat map; the links in use in this step are outlined."""
    ranks = trace.world_size
    side = min(34.0, 270 / ranks)
    most = max(max(row) for row in trace.link_bytes) or 1
    scale, unit = byte_unit(most)
    fills: dict[str, list[Box]] = defaultdict(list)
    texts = []
    for src, row in enumerate(trace.link_bytes):
        for dst, count in enumerate(row):
            if not count:
                continue
            color = fraction_color(0.15 + 0.85 * count / most)
            x, y = _EDGE + dst * side, src * side
            fills[color].append((x + 0.5, y + 0.5, side - 1, side - 1))
            if ranks <= _MOST_NAMED:
                texts.append(words(x + side / 2, y + side / 2, short_number(count / scale), color=ink_on(color)))
    now = {(m.src, m.dst) for m in trace.messages if m.step == step}
    outlines = [(_EDGE + d * side + 1.5, s * side + 1.5, side - 3, side - 3) for s, d in now]
    body = [boxes([(_EDGE, 0, ranks * side, ranks * side)], QUIET), *(boxes(w, c) for c, w in fills.items()), *texts]
    body += [boxes(outlines, "none", OUTLINE, _NOW)]
    body += _ranks_down(ranks, side) + _across(ranks, side, ranks * side, "to rank")
    beside = _EDGE + ranks * side + 14
    body.append(words(beside, 10, f"most: {format_bytes(most)}", anchor="start"))
    body.append(words(beside, 27, f"cells in {unit}" * (ranks <= _MOST_NAMED), anchor="start", color=FAINT))
    return svg(_WIDTH, ranks * side + 36, body, describe_link_heatmap(trace))


def timeline_panel(trace: Trace, step: int) -> str:
    """In the row of each rank its sends, receives, work and waits; the messages of this step are outlined."""
    ranks, wide = trace.world_size, _WIDTH - _EDGE - 10
    high = min(30.0, max(9.0, 270 / ranks)) * (1.5 if trace.has_started else 1)
    scale = wide / (trace.seconds or 1)
    looks = lanes_of(trace)
    colors = {lane: QUIET if lane.endswith("wait") else look.color for lane, look in looks.items()}
    fills: dict[str, list[Box]] = defaultdict(list)
    now: dict[str, list[Box]] = defaultdict(list)
    for rank, row in timeline_rows(trace, range(ranks)).items():
        for lane, stretches in row.items():
            _, top, share = looks[lane]
            y, thick = (rank + 0.04 + 0.92 * top) * high, 0.92 * share * high
            for s in stretches:
                box = (_EDGE + s.start_s * scale, y, (s.end_s - s.start_s) * scale, thick)
                (now if s.step == step else fills)[lane].append(box)
    edge, paler = edge_of(len(trace.messages)), "opacity:0.45" if any(now.values()) else ""
    body = []
    for lane, where in fills.items():
        look = (edge, paler) if lane in ("send", "receive") else ("none",)
        body.append(boxes(where, colors[lane], *look))
    body += [boxes(where, colors[lane], OUTLINE, "stroke-width:2") for lane, where in now.items()]
    body += _ranks_down(ranks, high)
    ticks, unit = time_ticks(trace.seconds)
    name = f"time in {unit}, ends at {format_seconds(trace.seconds)}"
    body += axes((_EDGE, 0, wide, ranks * high), {_EDGE + s * scale: text for s, text in ticks.items()}, name, {}, "")
    keys = legend((word, colors[lane], None) for lane, word in timeline_keys(trace).items())
    return keys + svg(_WIDTH, ranks * high + 36, body, describe_timeline(trace))


def map_panel(winners: WinnerMap, here: tuple[float, float]) -> str:
    """The map of winners with a ring at the present setting."""
    columns, rows = len(winners.message_bytes), len(winners.world_sizes)
    wide, high = (_WIDTH - _EDGE - 30) / columns, 200 / rows
    top = 26.0
    fills: dict[str, list[Box]] = defaultdict(list)
    for row, names in enumerate(winners.names):
        for column, name in enumerate(names):
            fills[name].append((_EDGE + column * wide, top + (rows - 1 - row) * high, wide + 0.3, high + 0.3))
    lands = sorted(fills, key=lambda name: -len(fills[name]))
    body = [boxes(fills[name], look_of(name).color) for name in lands]
    body += [text for name in lands for text in _initials(name, _central(fills[name]), wide, high)]
    x = _EDGE + (grid_place(here[0], winners.message_bytes) + 0.5) * wide
    body.append(ring(x, top + (rows - 0.5 - grid_place(here[1], winners.world_sizes)) * high))
    sizes = {_EDGE + (c + 0.5) * wide: format_bytes(winners.message_bytes[c]) for c in spread(columns, 6)}
    ranks = {top + (rows - 0.5 - r) * high: f"{winners.world_sizes[r]:g}" for r in range(rows)}
    body += axes((_EDGE, top, columns * wide, 200), sizes, "message size", ranks, "ranks")
    keys = legend((name, look_of(name).color, None) for name in lands)
    return keys + svg(_WIDTH, top + 236, body, describe_winner_map(winners, here))


def _central(where: list[Box]) -> Box:
    """The box nearest to the middle of all of them."""
    x, y = (sum(box[i] for box in where) / len(where) for i in (0, 1))
    return min(where, key=lambda box: (box[0] - x) ** 2 + (box[1] - y) ** 2)


def _initials(name: str, box: Box, wide: float, high: float) -> list[str]:
    """The first letters of an algorithm in the middle of its land, for those who do not see its color."""
    letters = "".join(part[0].upper() for part in name.replace("-", " ").split())
    color = ink_on(look_of(name).color)
    return [words(box[0] + wide / 2, box[1] + high / 2, letters, color=color, more="font-weight:600")]


def _ranks_down(ranks: int, high: float) -> list[str]:
    return [words(_EDGE - 8, (r + 0.5) * high, str(r), anchor="end", color=FAINT) for r in every(ranks, 16)]


def _across(count: int, wide: float, y: float, name: str) -> list[str]:
    """Numbers below columns, and what they number."""
    numbers = [words(_EDGE + (c + 0.5) * wide, y + 10, str(c), color=FAINT) for c in every(count, 12)]
    return [*numbers, words(_EDGE + count * wide / 2, y + 27, name, color=FAINT)]
