"""The pictures of the all-reduce explorer: chunk table, links, timeline and map of winners."""

from __future__ import annotations

from course_lib.comm import Trace
from course_lib.draw.collectives.chunks import OUTLINE, chunk_cells, describe_chunk_table
from course_lib.draw.collectives.links import describe_link_heatmap, short_number
from course_lib.draw.collectives.replays import Replay
from course_lib.draw.collectives.winners import WinnerMap, describe_winner_map, grid_place
from course_lib.draw.looks import look_of
from course_lib.draw.panels import Cell, Lane, Matrix, Stretch, Timeline
from course_lib.draw.panels.drawing import QUIET, Key
from course_lib.draw.style import fraction_color
from course_lib.draw.timelines import describe_timeline, lanes_of, timeline_keys, timeline_rows
from course_lib.draw.units import byte_unit, format_bytes, format_seconds

__all__ = ["chunk_panel", "link_panel", "map_panel", "timeline_panel"]

_MAX_NAMED = 8  # with more ranks a chunk says how many ranks are in it, not which


def chunk_panel(replay: Replay, step: int) -> Matrix:
    """The chunk table after a step: rows are ranks, columns chunks, changed chunks outlined."""
    named = replay.world_size <= _MAX_NAMED
    return Matrix(
        title="The ranks added up in each chunk",
        origin="simulated",
        label=describe_chunk_table(replay, step),
        cells=[
            [Cell(cell.color, cell.text if named else cell.number, cell.changed) for cell in row]
            for row in chunk_cells(replay, step)
        ],
        row_names=_numbers(replay.world_size),
        column_names=_numbers(replay.elements),
        across="chunk" if named else "chunk; cells say how many ranks",
        down="rank",
        outline=OUTLINE,
    )


def link_panel(trace: Trace, step: int) -> Matrix:
    """Bytes by link as a heat map; the links in use in this step are outlined."""
    ranks, most = trace.world_size, max(max(row) for row in trace.link_bytes) or 1
    scale, unit = byte_unit(most)
    now = {(m.src, m.dst) for m in trace.messages if m.step == step}

    def cell(src: int, dst: int, count: int) -> Cell:
        if not count:
            return Cell(QUIET, now=(src, dst) in now)
        text = short_number(count / scale) if ranks <= _MAX_NAMED else ""
        return Cell(fraction_color(0.15 + 0.85 * count / most), text, (src, dst) in now)

    named = f"; cells in {unit}" if ranks <= _MAX_NAMED else ""
    return Matrix(
        title="Bytes from rank (down) to rank (across)",
        origin="simulated",
        label=describe_link_heatmap(trace),
        cells=[[cell(src, dst, count) for dst, count in enumerate(row)] for src, row in enumerate(trace.link_bytes)],
        row_names=_numbers(ranks),
        column_names=_numbers(ranks),
        across=f"to rank; most: {format_bytes(most)}{named}",
        down="from rank",
        outline=OUTLINE,
    )


def timeline_panel(trace: Trace, step: int) -> Timeline:
    """In the row of each rank its sends, receives, work and waits; the messages of this step are outlined."""
    looks, ranks = lanes_of(trace), trace.world_size
    rows, keys = timeline_rows(trace, range(ranks)), timeline_keys(trace)
    lanes = {}
    for name in sorted(looks, key=lambda name: name in ("send", "receive")):  # messages in front
        color, top, height = looks[name]
        stretches = [
            Stretch(rank, s.start_s, s.end_s, now=s.step == step) for rank, row in rows.items() for s in row[name]
        ]
        place = {"top": 0.04 + 0.92 * top, "height": 0.92 * height}
        message = name in ("send", "receive")
        color = QUIET if name.endswith("wait") else color
        lanes[keys.get(name, name)] = Lane(color, stretches, **place, edge=message, key=name in keys)
    return Timeline(
        title=f"Timeline, ends at {format_seconds(trace.seconds)}",
        origin="simulated",
        label=describe_timeline(trace),
        rows=_numbers(ranks),
        lanes=lanes,
        seconds=trace.seconds or 1.0,
        row_px=min(30.0, max(7.0, 150 / ranks)) * (1.3 if trace.has_started else 1),
        outline=OUTLINE,
    )


def map_panel(winners: WinnerMap, here: tuple[float, float]) -> Matrix:
    """The map of winners with a ring at the present setting; each land bears its algorithm's first letters."""
    lands: dict[str, list[tuple[int, int]]] = {}
    for row, names in enumerate(winners.names):
        for column, name in enumerate(names):
            lands.setdefault(name, []).append((row, column))
    centers = {_central(where): name for name, where in lands.items()}
    last = len(winners.world_sizes) - 1
    cells = [
        [
            Cell(look_of(name).color, _initials(centers[row, column]) if (row, column) in centers else "")
            for column, name in enumerate(names)
        ]
        for row, names in enumerate(winners.names)
    ]
    place = grid_place(here[0], winners.message_bytes), last - grid_place(here[1], winners.world_sizes)
    largest_first = sorted(lands, key=lambda name: -len(lands[name]))
    return Matrix(
        title="Fastest algorithm; circle: your setting",
        origin="computed",
        label=describe_winner_map(winners, here),
        cells=cells[::-1],
        row_names=[f"{ranks:g}" for ranks in reversed(winners.world_sizes)],
        column_names=[format_bytes(size) for size in winners.message_bytes],
        across="message size",
        down="ranks",
        gap_px=0,
        here=place,
        keys=[Key(name, look_of(name).color) for name in largest_first],
        ends=True,
    )


def _central(where: list[tuple[int, int]]) -> tuple[int, int]:
    """The place nearest to the middle of all of them."""
    row, column = (sum(place[i] for place in where) / len(where) for i in (0, 1))
    return min(where, key=lambda place: (place[0] - row) ** 2 + (place[1] - column) ** 2)


def _initials(name: str) -> str:
    """An algorithm's first letters, for those who do not see its color."""
    return "".join(part[0].upper() for part in name.replace("-", " ").split())


def _numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]
