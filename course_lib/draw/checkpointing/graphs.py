"""Graphs as pictures: the nodes in their order, who takes whose value, and which nodes stand out."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from matplotlib.axes import Axes
from matplotlib.patches import Arc, Patch

from course_lib.checkpointing import Graph
from course_lib.draw.schematics.blocks import empty
from course_lib.draw.style import COLORS, INK, MUTED, Picture, finish, new_picture, put_title, styled

__all__ = ["draw_graphs"]

_MARKS = (COLORS["vermillion"], COLORS["orange"], COLORS["blue"], COLORS["green"], COLORS["purple"])
_OTHER = "#dcdcdc"


@styled
def draw_graphs(
    graphs: Mapping[str, Graph],
    marks: Mapping[str, Collection[Hashable]] | None = None,
    *,
    title: str = "",
    note: str = "",
) -> Picture:
    """Graphs by name, one below the other; an arc is a value that goes past other nodes.

    Args:
        marks: nodes that stand out, by what they are.

    Raises:
        ValueError: unless there are 1 to 4 graphs and at most 5 marks.
    """
    marks = marks or {}
    if not 1 <= len(graphs) <= 4 or len(marks) > len(_MARKS):
        raise ValueError(f"there is room for 4 graphs and 5 marks, got {len(graphs)} and {len(marks)}")
    picture, grid = new_picture(7.4, 0.3 + 1.25 * len(graphs), len(graphs), 1, squeeze=False)
    colors = {node: _MARKS[place] for place, nodes in enumerate(marks.values()) for node in nodes}
    for axes, (name, graph) in zip(grid[:, 0], graphs.items(), strict=True):
        axes.set_title(name, fontsize=10)
        _nodes_on(axes, graph, colors)
    if marks:
        legend = [Patch(facecolor=color, label=name) for name, color in zip(marks, _MARKS, strict=False)]
        picture.legend(handles=legend, loc="outside upper right", ncols=len(legend), handlelength=1.0)
    put_title(picture, title)
    words = [f"{name}: {len(graph)} nodes, {_skips(graph)} values go past others." for name, graph in graphs.items()]
    words += [f"{name}: {', '.join(map(str, nodes))}." for name, nodes in marks.items()]
    return finish(picture, origin="schematic", alt=" ".join(words), note=note)


def _skips(graph: Graph) -> int:
    places = {node: place for place, node in enumerate(graph)}
    return sum(places[node] - places[each] > 1 for node in graph for each in graph[node].inputs)


def _nodes_on(axes: Axes, graph: Graph, colors: Mapping[Hashable, str]) -> None:
    places = {node: place for place, node in enumerate(graph)}
    spans = [(places[each], places[node]) for node in graph for each in graph[node].inputs]
    highest = max((end - start for start, end in spans), default=1)
    empty(axes, len(graph), 1.35)
    axes.set_xlim(-0.7, len(graph) - 0.3)
    axes.set_ylim(-0.25, 1.1)
    axes.plot([0, len(graph) - 1], [0, 0], color="none")
    for start, end in spans:
        if end - start == 1:
            axes.plot([start, end], [0, 0], color=INK, linewidth=1.0, zorder=1)
        else:
            high = 2 * (0.25 + 0.75 * (end - start) / highest)
            axes.add_patch(Arc(((start + end) / 2, 0), end - start, high, theta1=0, theta2=180, color=MUTED, zorder=1))
    size = max(14.0, min(110.0, 4000 / len(graph)))
    for node, place in places.items():
        axes.scatter(place, 0, s=size, color=colors.get(node, _OTHER), edgecolor=INK, linewidth=0.6, zorder=2)
