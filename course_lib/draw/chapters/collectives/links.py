"""Who sends to whom: the topology of an algorithm, and what a trace sent by link and by rank.

A topology is drawn as nodes and arrows, the bytes of links as a heat map, those of ranks as bars.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from course_lib.comm import Trace
from course_lib.draw.colors import COLORS, FILLS, GROUNDS, INK, fraction_color, ink_on, look_of
from course_lib.draw.panels import Bars, Cell, Matrix, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import (
    PAGE_IN,
    Picture,
    finish,
    new_panels,
    new_picture,
    origin_of,
    origins_of,
    put_title,
    styled,
    trace_of,
)
from course_lib.draw.units import byte_unit, format_bytes

_Point = tuple[float, float]
_RADIUS = 0.13


@styled
def draw_topology(
    world_size: int,
    algorithm: str,
    *,
    ranks_per_node: int | None = None,
    title: str = "",
) -> Picture:
    """The links of one algorithm, an arrowhead at each end that receives.

    Args:
        algorithm: "direct", "central", "ring", "tree", "recursive doubling", "halving-doubling" or "hierarchical".
        ranks_per_node: the size of a node for "hierarchical".
    """
    picture, axes = new_picture(4.2, 3.7)
    links = topology_links(world_size, algorithm, ranks_per_node)
    _draw(axes, world_size, algorithm, links, ranks_per_node)
    put_title(picture, title or f"{algorithm}, {world_size} ranks")
    return finish(picture, origin="computed", alt=describe_topology(world_size, algorithm, links))


@styled
def draw_topologies(world_size: int, algorithms: Sequence[str], *, ranks_per_node: int | None = None) -> Picture:
    """Several topologies side by side, at most four in a row."""
    picture, panels = new_panels(len(algorithms), 4, PAGE_IN / 4, 2.2, 0)
    words = []
    for axes, algorithm in zip(panels, algorithms, strict=True):
        links = topology_links(world_size, algorithm, ranks_per_node)
        _draw(axes, world_size, algorithm, links, ranks_per_node)
        axes.set_title(algorithm)
        words.append(describe_topology(world_size, algorithm, links))
    return finish(picture, origin="computed", alt=" ".join(words))


def topology_links(world_size: int, algorithm: str, ranks_per_node: int | None = None) -> set[tuple[int, int]]:
    """The (source, destination) pairs that an algorithm uses.

    Raises:
        ValueError: if the algorithm has no picture here.

    >>> sorted(topology_links(3, "ring"))
    [(0, 1), (1, 2), (2, 0)]
    """
    ranks = range(world_size)
    if algorithm in ("ring", "pipelined ring"):
        return {(r, (r + 1) % world_size) for r in ranks if world_size > 1}
    if algorithm == "direct":
        return {(a, b) for a in ranks for b in ranks if a != b}
    if algorithm == "central":
        return _both_ways((r, 0) for r in ranks[1:])
    if algorithm == "tree":
        return _both_ways((r, tree_parent(r)) for r in ranks[1:])
    if algorithm in ("recursive doubling", "halving-doubling"):
        return _hypercube(world_size)
    if algorithm == "hierarchical":
        return _hierarchical(world_size, ranks_per_node or max(2, math.isqrt(world_size)))
    raise ValueError(f"no topology is known for {algorithm!r}")


def tree_parent(rank: int) -> int:
    """The parent in a binomial tree rooted at 0: the rank without its lowest set bit.

    >>> [tree_parent(r) for r in range(1, 8)]
    [0, 0, 2, 0, 4, 4, 6]
    """
    return rank & (rank - 1)


def describe_topology(world_size: int, algorithm: str, links: set[tuple[int, int]]) -> str:
    """The topology in words."""
    degree = [sum(rank in link for link in links) for rank in range(world_size)]
    text = f"{algorithm.capitalize()}: {world_size} ranks, {len(links)} links in use"
    if not links:
        return text + "."
    if min(degree) == max(degree):
        return text + f", {degree[0]} at every rank."
    return (
        text
        + f", {max(degree)} at rank {degree.index(max(degree))} and {min(degree)} at rank {degree.index(min(degree))}."
    )


def node_places(world_size: int, algorithm: str, ranks_per_node: int | None = None) -> list[_Point]:
    """Where each rank stands, within -1 to 1."""
    if algorithm == "central":
        return [(0.0, 0.0), *_circle(world_size - 1)]
    if algorithm == "tree":
        return _tree_places(world_size)
    if algorithm == "hierarchical":
        return _node_grid(world_size, ranks_per_node or max(2, math.isqrt(world_size)))
    if algorithm in ("recursive doubling", "halving-doubling") and world_size in (4, 8):
        return _cube_places(world_size)
    return _circle(world_size)


def _circle(count: int) -> list[_Point]:
    return [
        (math.sin(2 * math.pi * i / count) * 0.85, math.cos(2 * math.pi * i / count) * 0.85)
        for i in range(max(count, 0))
    ]


def _tree_places(world_size: int) -> list[_Point]:
    """Depth is the number of set bits. Leaves stand side by side, a parent above the middle of its children."""
    depth = max(rank.bit_count() for rank in range(world_size)) or 1
    leaves = [rank for rank in range(world_size) if rank % 2 or rank == world_size - 1]
    x = {rank: 1.8 * place / max(len(leaves) - 1, 1) - 0.9 * (len(leaves) > 1) for place, rank in enumerate(leaves)}
    for rank in reversed(range(world_size)):
        if rank not in x:
            children = [x[child] for child in range(rank + 1, world_size) if tree_parent(child) == rank]
            x[rank] = (min(children) + max(children)) / 2
    return [(x[rank], 0.9 - 1.8 * rank.bit_count() / depth) for rank in range(world_size)]


def _cube_places(world_size: int) -> list[_Point]:
    """A square, or a cube in perspective: bit 0 goes right, bit 1 up, bit 2 back."""
    if world_size == 4:
        return [((r & 1) * 1.4 - 0.7, (r >> 1 & 1) * 1.4 - 0.7) for r in range(4)]
    return [
        ((r & 1) * 1.1 - 0.85 + (r >> 2) * 0.6, (r >> 1 & 1) * 1.1 - 0.85 + (r >> 2) * 0.6) for r in range(world_size)
    ]


def _node_grid(world_size: int, ranks_per_node: int) -> list[_Point]:
    """A column a node, its first rank on top."""
    nodes = -(-world_size // ranks_per_node)
    x = [0.0] if nodes == 1 else [1.6 * n / (nodes - 1) - 0.8 for n in range(nodes)]
    y = [0.0] if ranks_per_node == 1 else [0.75 - 1.5 * i / (ranks_per_node - 1) for i in range(ranks_per_node)]
    return [(x[r // ranks_per_node], y[r % ranks_per_node]) for r in range(world_size)]


def _both_ways(links: Any) -> set[tuple[int, int]]:
    return {pair for a, b in links for pair in ((a, b), (b, a))}


def _hypercube(world_size: int) -> set[tuple[int, int]]:
    """Partners at distances 1, 2, 4, ... among the largest power of two; ranks beyond it fold onto the first ones."""
    core = 1 << (world_size.bit_length() - 1)
    inside = {(r, r ^ (1 << k)) for r in range(core) for k in range(core.bit_length() - 1)}
    return inside | _both_ways((r, r - core) for r in range(core, world_size))


def _hierarchical(world_size: int, ranks_per_node: int) -> set[tuple[int, int]]:
    """A binomial tree inside each node, and a hypercube of the nodes' first ranks."""
    links = set()
    for rank in range(world_size):
        place = rank % ranks_per_node
        if place:
            links |= {(rank, rank - place + tree_parent(place)), (rank - place + tree_parent(place), rank)}
    across = _hypercube(-(-world_size // ranks_per_node))
    return links | {(a * ranks_per_node, b * ranks_per_node) for a, b in across}


def _draw(axes: Axes, world_size: int, algorithm: str, links: set[Any], ranks_per_node: int | None) -> None:
    places, color = node_places(world_size, algorithm, ranks_per_node), look_of(algorithm).color
    radius = min(_RADIUS, 1.7 / world_size)
    if algorithm == "hierarchical":
        _draw_nodes(axes, places, ranks_per_node or max(2, math.isqrt(world_size)))
    for src, dst in sorted(links):
        two_way = (dst, src) in links
        if two_way and src > dst:
            continue
        axes.add_patch(_arrow(places[src], places[dst], radius, color, two_way, _bend(algorithm, places, src, dst)))
    for rank, place in enumerate(places):
        axes.add_patch(Circle(place, radius, facecolor=color, edgecolor="white", linewidth=1.2, zorder=3))
        axes.text(*place, str(rank), ha="center", va="center_baseline", color=ink_on(color), fontsize=9.5, zorder=4)
    axes.set_xlim(-1.12, 1.12)
    axes.set_ylim(-1.12, 1.12)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _bend(algorithm: str, places: list[_Point], src: int, dst: int) -> float:
    """Curve the arrows of a column or row that would run through the nodes between."""
    if algorithm != "hierarchical":
        return 0.0
    (x1, y1), (x2, y2) = places[src], places[dst]
    for rank, (x, y) in enumerate(places):
        on_line = abs((x - x1) * (y2 - y1) - (y - y1) * (x2 - x1)) < 1e-9
        inside = min(x1, x2) <= x <= max(x1, x2) and min(y1, y2) <= y <= max(y1, y2)
        if rank not in (src, dst) and on_line and inside:
            return 0.6
    return 0.0


def _arrow(start: _Point, end: _Point, radius: float, color: str, two_way: bool, bend: float) -> FancyArrowPatch:
    """An arrow from the rim of one node to the rim of the other."""
    length = math.dist(start, end)
    dx, dy = (end[0] - start[0]) / length * radius * 1.15, (end[1] - start[1]) / length * radius * 1.15
    return FancyArrowPatch(
        (start[0] + dx, start[1] + dy),
        (end[0] - dx, end[1] - dy),
        arrowstyle="<|-|>" if two_way else "-|>",
        connectionstyle=f"arc3,rad={bend}",
        mutation_scale=9,
        color=color,
        linewidth=1.2,
        alpha=0.75,
        shrinkA=0,
        shrinkB=0,
    )


def _draw_nodes(axes: Axes, places: list[_Point], ranks_per_node: int) -> None:
    for first in range(0, len(places), ranks_per_node):
        xs, ys = zip(*places[first : first + ranks_per_node], strict=True)
        corner = (min(xs) - 0.2, min(ys) - 0.2)
        size = (max(xs) - min(xs) + 0.4, max(ys) - min(ys) + 0.4)
        style = "round,pad=0.02,rounding_size=0.1"
        axes.add_patch(
            FancyBboxPatch(corner, *size, boxstyle=style, facecolor=GROUNDS["nothing"], edgecolor=COLORS["gray"])
        )
        axes.text(
            corner[0] + size[0] / 2,
            corner[1] - 0.04,
            f"node {first // ranks_per_node}",
            ha="center",
            va="top",
            fontsize=9,
            color=INK,
        )


_MAX_NUMBERED = 8


def draw_link_heatmap(execution: Any, *, origin: str | None = None, title: str = "", note: str = "") -> Picture:
    """Bytes by link, senders down and receivers across; with at most 8 ranks every cell says its number.

    Args:
        execution: a Report or a Trace. Byte counts are exact under every executor.
    """
    trace = trace_of(execution)
    title = title or f"{format_bytes(trace.total_bytes)} in {len(trace.messages)} messages"
    panel = link_panel(
        trace,
        title=title,
        origin=origin_of(execution, origin),
        wide=True,
        min_px=28.0 if trace.world_size <= _MAX_NUMBERED else 12.0,
    )
    return picture_of([panel], alt=describe_link_heatmap(trace), note=note, width_in=5.4)


def link_panel(
    trace: Trace,
    *,
    title: str = "Bytes from rank (down) to rank (across)",
    origin: str = "simulated",
    step: int | None = None,
    **more: Any,
) -> Matrix:
    """Bytes by link as a heat map; the links in use in this step are outlined. `more`: what else a Matrix has."""
    ranks = trace.world_size
    most = max(max(row) for row in trace.link_bytes) or 1
    scale, unit = byte_unit(most)
    numbered = ranks <= _MAX_NUMBERED
    now = {(m.src, m.dst) for m in trace.messages if m.step == step}

    def cell(src: int, dst: int, count: int) -> Cell:
        if not count:
            return Cell("paper", "0" if numbered and src != dst else "", (src, dst) in now)
        text = _short(count / scale) if numbered else ""
        return Cell(fraction_color(0.15 + 0.85 * count / most), text, (src, dst) in now)

    named = f"; cells in {unit}" if numbered else ""
    return Matrix(
        title=title,
        origin=origin,
        label=describe_link_heatmap(trace),
        cells=[[cell(src, dst, count) for dst, count in enumerate(row)] for src, row in enumerate(trace.link_bytes)],
        row_names=[str(rank) for rank in range(ranks)],
        column_names=[str(rank) for rank in range(ranks)],
        across=f"to rank; most: {format_bytes(most)}{named}",
        down="from rank",
        **more,
    )


def describe_link_heatmap(trace: Trace) -> str:
    """The heat map in words."""
    loads = {(s, d): b for s, row in enumerate(trace.link_bytes) for d, b in enumerate(row) if b}
    links = trace.world_size * (trace.world_size - 1)
    text = (
        f"Heat map of bytes by link between {trace.world_size} ranks: {len(loads)} of {links} links "
        f"carry {format_bytes(trace.total_bytes)}"
    )
    if not loads:
        return text + "."
    busiest = max(loads, key=lambda link: loads[link])
    if len(set(loads.values())) == 1:
        return text + f", {format_bytes(loads[busiest])} each."
    return text + f"; the busiest, {busiest[0]} to {busiest[1]}, {format_bytes(loads[busiest])}."


def draw_bytes_per_rank(
    executions: Mapping[str, Any], *, origin: str | None = None, title: str = "", note: str = ""
) -> Picture:
    """A panel an algorithm, two bars a rank: bytes sent and bytes received, on one scale.

    Args:
        executions: name -> Report, Trace, or anything with `bytes_sent` and `bytes_received` by rank.
    """
    loads = {name: _loads(execution) for name, execution in executions.items()}
    scale = axis("bytes", [max(max(sent + received) for sent, received in loads.values())], "B", most=4)
    origin = origins_of(executions.values(), origin)
    panels = [_load_panel(name, *loads[name], scale, origin) for name in loads]
    columns = min(len(loads), 4)
    look: dict[str, Any] = {
        "title": title,
        "columns": columns,
        "width_in": 5.4 if columns == 1 else PAGE_IN,
        "shared": True,
    }
    return picture_of(panels, alt=describe_bytes_per_rank(loads), note=note, **look)


def _load_panel(name: str, sent: list[int], received: list[int], scale: Any, origin: str) -> Bars:
    looks = FILLS["what ranks do"]
    return Bars(
        title=name,
        origin=origin,
        bars={str(rank): {"sent": a, "received": b} for rank, (a, b) in enumerate(zip(sent, received, strict=True))},
        axis=scale,
        upright=True,
        apart=True,
        names="rank",
        colors={"sent": looks["send"].color, "received": looks["receive"].color},
        hatches={"received": "///"},
        grid=True,
    )


def describe_bytes_per_rank(loads: Mapping[str, tuple[list[int], list[int]]]) -> str:
    """The bars in words: for each algorithm how evenly the bytes are spread."""
    parts = []
    for name, (sent, received) in loads.items():
        low, high = format_bytes(min(sent)), format_bytes(max(sent))
        spread_text = f"every rank sends {high}" if min(sent) == max(sent) else f"ranks send {low} to {high}"
        parts.append(f"{name}: {spread_text}, the most received is {format_bytes(max(received))}")
    return "Bars of bytes by rank. " + "; ".join(parts) + "."


def _loads(execution: Any) -> tuple[list[int], list[int]]:
    trace = trace_of(execution)
    return list(trace.bytes_sent), list(trace.bytes_received)


def _short(number: float) -> str:
    """Three digits, no exponent: 1.75, 12.5, 340."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
