"""The pictures of the all-reduce explorer: chunk table, links, timeline and map of winners as vector pictures."""

from __future__ import annotations

from collections import defaultdict

from course_lib.comm import Trace
from course_lib.draw.chunks import OUTLINE, chunk_cells, describe_chunk_table
from course_lib.draw.links import byte_unit, describe_link_heatmap, short_number
from course_lib.draw.replay import Replay
from course_lib.draw.style import COLORS, algorithm_style, fraction_color, ink_on, spread
from course_lib.draw.timeline import describe_timeline
from course_lib.draw.units import format_bytes, format_seconds, time_unit
from course_lib.draw.winners import WinnerMap, describe_winner_map, grid_place
from course_lib.widgets.svg import FAINT, INK, Box, boxes, ring, round_step, svg, words

__all__ = ["MOST_NAMED", "chunk_panel", "link_panel", "map_panel", "timeline_panel"]

_WIDTH = 430.0
_LEFT = 34.0  # room for the numbers of the ranks
MOST_NAMED = 8  # with more ranks a chunk says how many ranks are in it, not which
_QUIET = "rgba(128,128,128,0.22)"


def chunk_panel(replay: Replay, step: int) -> str:
    """The chunk table after a step: rows are ranks, columns chunks, changed chunks outlined."""
    ranks, chunks = replay.world_size, replay.elements
    wide = min(74.0, (_WIDTH - _LEFT) / max(chunks, 1))
    high = min(30.0, max(13.0, 270 / ranks))
    fills: dict[str, list[Box]] = defaultdict(list)
    outlines: list[Box] = []
    texts = []
    for rank, row in enumerate(chunk_cells(replay, step)):
        for chunk, cell in enumerate(row):
            x, y = _LEFT + chunk * wide, rank * high
            fills[cell.color].append((x + 0.5, y + 0.5, wide - 1, high - 1))
            if cell.changed:
                outlines.append((x + 2, y + 2, wide - 4, high - 4))
            text = cell.text if ranks <= MOST_NAMED else cell.number
            if ranks <= 16:
                texts.append(words(x + wide / 2, y + high / 2, text, color=ink_on(cell.color)))
    body = [boxes(where, color) for color, where in fills.items()]
    body += [boxes(outlines, "none", OUTLINE, "stroke-width:2.5"), *texts, *_rank_numbers(ranks, high)]
    body += [words(_LEFT + (c + 0.5) * wide, ranks * high + 9, str(c), color=FAINT) for c in spread(chunks, 16)]
    body.append(words(_LEFT + chunks * wide / 2, ranks * high + 25, "chunk", color=FAINT))
    return svg(_WIDTH, ranks * high + 34, body, describe_chunk_table(replay, step))


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
            x, y = _LEFT + dst * side, src * side
            fills[color].append((x + 0.5, y + 0.5, side - 1, side - 1))
            if ranks <= 8:
                texts.append(words(x + side / 2, y + side / 2, short_number(count / scale), color=ink_on(color)))
    now = {(m.src, m.dst) for m in trace.messages if m.step == step}
    outlines = [(_LEFT + d * side + 1.5, s * side + 1.5, side - 3, side - 3) for s, d in now]
    body = [boxes([(_LEFT, 0, ranks * side, ranks * side)], _QUIET), *(boxes(w, c) for c, w in fills.items()), *texts]
    body += [boxes(outlines, "none", OUTLINE, "stroke-width:2.5"), *_rank_numbers(ranks, side)]
    body += [words(_LEFT + (r + 0.5) * side, ranks * side + 9, str(r), color=FAINT) for r in spread(ranks, 12)]
    body.append(words(_LEFT + ranks * side / 2, ranks * side + 25, "to rank", color=FAINT))
    body.append(words(_LEFT + ranks * side + 14, 10, f"most: {format_bytes(most)}", anchor="start"))
    body.append(
        words(_LEFT + ranks * side + 14, 27, f"cells in {unit}" if ranks <= 8 else "", anchor="start", color=FAINT)
    )
    return svg(_WIDTH, ranks * side + 34, body, describe_link_heatmap(trace))


def timeline_panel(trace: Trace, step: int) -> str:
    """Sends above and receives below in the row of each rank; the messages of this step outlined, waits behind."""
    ranks, wide = trace.world_size, _WIDTH - _LEFT - 6
    high = min(30.0, max(9.0, 270 / ranks))
    scale = wide / (trace.seconds or 1)
    lanes: dict[str, list[Box]] = {"wait": [], "work": [], "send": [], "receive": [], "now": []}

    def bar(lane: str, rank: int, start_s: float, end_s: float, top: float, share: float) -> None:
        lanes[lane].append((_LEFT + start_s * scale, (rank + top) * high, (end_s - start_s) * scale, share * high))

    for name, spans in (("wait", trace.waits), ("work", trace.spans)):
        for span in spans:
            bar(name, span.rank, span.start_s, span.end_s, 0.04, 0.92)
    for m in trace.messages:
        for lane, rank, top in (("send", m.src, 0.1), ("receive", m.dst, 0.52)):
            bar(lane, rank, m.start_s, m.end_s, top, 0.38)
            if m.step == step:
                bar("now", rank, m.start_s, m.end_s, top, 0.38)
    edge = "var(--jp-layout-color0,#ffffff)" if len(trace.messages) < 800 else "none"
    body = [boxes(lanes["wait"], _QUIET), boxes(lanes["work"], "#8fd0bb")]
    body += [boxes(lanes["send"], COLORS["blue"], edge), boxes(lanes["receive"], COLORS["orange"], edge)]
    body += [boxes(lanes["now"], "none", OUTLINE, "stroke-width:2"), *_rank_numbers(ranks, high)]
    body += _time_axis(trace.seconds, ranks * high, scale)
    return svg(_WIDTH, ranks * high + 40, body, describe_timeline(trace))


def map_panel(winners: WinnerMap, here: tuple[float, float]) -> str:
    """The map of winners with a ring at the present setting."""
    columns, rows = len(winners.message_bytes), len(winners.world_sizes)
    wide, high = 240 / columns, min(24.0, 200 / rows)
    fills: dict[str, list[Box]] = defaultdict(list)
    for row, names in enumerate(winners.names):
        for column, name in enumerate(names):
            fills[name].append((_LEFT + column * wide, (rows - 1 - row) * high, wide + 0.3, high + 0.3))
    body = [boxes(where, algorithm_style(name).color) for name, where in fills.items()]
    x = _LEFT + (grid_place(here[0], winners.message_bytes) + 0.5) * wide
    y = (rows - 0.5 - grid_place(here[1], winners.world_sizes)) * high
    body.append(ring(x, y))
    for row in spread(rows, 9):
        body.append(
            words(_LEFT - 8, (rows - 0.5 - row) * high, f"{winners.world_sizes[row]:g}", anchor="end", color=FAINT)
        )
    for column in spread(columns, 4):
        text = format_bytes(winners.message_bytes[column])
        body.append(words(_LEFT + (column + 0.5) * wide, rows * high + 9, text, color=FAINT))
    body.append(words(_LEFT + 120, rows * high + 25, "message size; up: ranks", color=FAINT))
    for line, (name, where) in enumerate(sorted(fills.items(), key=lambda item: -len(item[1]))):
        body.append(boxes([(_LEFT + 256, 4 + 19 * line, 12, 12)], algorithm_style(name).color))
        body.append(words(_LEFT + 273, 10 + 19 * line, name, anchor="start"))
        body += _initials(name, _central(where), wide, high)
    return svg(_WIDTH, rows * high + 34, body, describe_winner_map(winners, here))


def _central(where: list[Box]) -> Box:
    """The box nearest to the middle of all of them."""
    x, y = (sum(box[i] for box in where) / len(where) for i in (0, 1))
    return min(where, key=lambda box: (box[0] - x) ** 2 + (box[1] - y) ** 2)


def _initials(name: str, box: Box, wide: float, high: float) -> list[str]:
    """The first letters of an algorithm in the middle of its land, for those who do not see its color."""
    letters = "".join(part[0].upper() for part in name.replace("-", " ").split())
    color = ink_on(algorithm_style(name).color)
    return [words(box[0] + wide / 2, box[1] + high / 2, letters, color=color, more="font-weight:600;font-size:11px")]


def _rank_numbers(ranks: int, high: float) -> list[str]:
    return [words(_LEFT - 8, (r + 0.5) * high, str(r), anchor="end", color=FAINT) for r in spread(ranks, 16)]


def _time_axis(seconds: float, y: float, scale: float) -> list[str]:
    """Ticks at round times below the rows, and what the colors mean."""
    unit_s, unit = time_unit(seconds or 1)
    step = round_step(seconds / unit_s / 4)
    ticks = [i * step for i in range(int(seconds / unit_s / step) + 1)] if step else [0.0]
    axis = [words(_LEFT + t * unit_s * scale, y + 10, f"{t:g}", color=FAINT) for t in ticks]
    legend = ((COLORS["blue"], "sends"), (COLORS["orange"], "receives"), (_QUIET, "waits"))
    keys = [words(_WIDTH - 6, y + 29, f"time in {unit}, ends at {format_seconds(seconds)}", anchor="end", color=FAINT)]
    for place, (color, text) in enumerate(legend):
        x = _LEFT + 68 * place
        keys += [boxes([(x, y + 24, 10, 10)], color), words(x + 14, y + 29, text, anchor="start", color=INK)]
    return axis + keys
