"""The pictures of chapter 07: plans, memory against cost, graphs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Arc, Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from course_lib.checkpointing import Graph, Moment, Plan, play_plan
from course_lib.draw.schematics.blocks import empty
from course_lib.draw.style import COLORS, FILLS, INK, MUTED, Picture, finish, looks_of, new_picture, put_title, styled
from course_lib.draw.units import format_count, format_range

__all__ = [
    "describe_plan",
    "draw_frontier",
    "draw_graphs",
    "draw_plans",
]

_SHADES = ("held", "stored", "run", "recomputed", "back")
_MAX_PLANS = 4


@styled
def draw_plans(
    plans: Mapping[str, Plan],
    graph: Graph,
    *,
    budget_bytes: float | None = None,
    unit: str = "values",
    title: str = "",
    note: str = "",
) -> Picture:
    """Plans for one graph, by name, on one scale of memory.

    Args:
        unit: what `output_bytes` counts.

    Raises:
        ValueError: unless there are 1 to 4.
        PlanError: if one cannot be carried out.
    """
    if not 1 <= len(plans) <= _MAX_PLANS:
        raise ValueError(f"there is room for 1 to {_MAX_PLANS} plans, got {len(plans)}")
    played = {
        name: [each for each in play_plan(plan, graph) if each.action.kind != "free"] for name, plan in plans.items()
    }
    look = {"squeeze": False, "sharey": "row", "sharex": "col", "height_ratios": [1, 2.2]}
    picture, grid = new_picture(7.7, 3.9, 2, len(played), **look)
    for column, (name, moments) in zip(grid.T, played.items(), strict=True):
        _memory_on(column[0], moments, budget_bytes)
        _actions_on(column[1], moments, list(graph))
        column[0].set_title(name, fontsize=10)
        column[1].set_xlabel("action")
    grid[0, 0].set_ylabel(unit)
    grid[1, 0].set_ylabel("layer")
    legend = [
        Patch(facecolor=FILLS["plans"][name].color, edgecolor="#999999", linewidth=0.4, label=name) for name in _SHADES
    ]
    picture.legend(handles=legend, loc="outside upper right", ncols=5, columnspacing=1.2, handlelength=1.2)
    put_title(picture, title)
    words = " ".join(describe_plan(moments, name, unit) for name, moments in played.items())
    return finish(picture, origin="computed", alt=words, note=note)


def _lasting(plan: Plan, graph: Graph) -> list[Moment]:
    """The moments of all actions that take time: those that free take none."""
    return [moment for moment in play_plan(plan, graph) if moment.action.kind != "free"]


def describe_plan(moments: Sequence[Moment], name: str, unit: str) -> str:
    """A plan in words: how often it runs a layer, how often again, and the most that lives."""
    runs = [moment for moment in moments if moment.action.kind in ("run", "store")]
    again = sum(moment.again for moment in runs)
    peak = max(moment.now_bytes for moment in moments)
    return f"{name}: {format_count(len(runs), 'forward run')}, {again} of them again; at most {peak} {unit} live."


def _memory_on(axes: Axes, moments: Sequence[Moment], budget_bytes: float | None) -> None:
    sizes = [moment.now_bytes for moment in moments]
    axes.fill_between(
        range(len(sizes)), sizes, step="mid", color=FILLS["memory"]["activations"].color, alpha=0.75, lw=0
    )
    if budget_bytes is not None:
        axes.axhline(budget_bytes, color="#3a3a3a", linestyle=(0, (4, 2)), linewidth=1)
    axes.set_ylim(0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))


def _actions_on(axes: Axes, moments: Sequence[Moment], nodes: Sequence[Any]) -> None:
    rows = {node: row for row, node in enumerate(nodes)}
    shades = np.zeros((len(nodes), len(moments)), dtype=int)
    for column, (action, again, held, stored, _) in enumerate(moments):
        shades[[rows[node] for node in held], column] = 1
        shades[[rows[node] for node in stored], column] = 2
        shades[rows[action.node], column] = 5 if action.kind == "back" else 4 if again else 3
    colors = ListedColormap(["#ffffff", *(FILLS["plans"][name].color for name in _SHADES)])
    axes.imshow(shades, cmap=colors, vmin=0, vmax=len(_SHADES), aspect="auto", interpolation="nearest", origin="lower")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))


_TICKS = (1, 1.5, 2, 3, 5, 8, 15, 30, 60)


@styled
def draw_frontier(
    plans: Mapping[str, Iterable[tuple[float, float]]],
    *,
    line: str = "optimum",
    memory: str = "memory",
    show: Callable[[float], str] = "{:g}".format,
    origin: str = "computed",
    title: str = "",
    note: str = "",
) -> Picture:
    """Plans by name, each (memory, forward passes): points, and for `line` steps.

    Raises:
        ValueError: if there is none.
    """
    points = {name: sorted(each) for name, each in plans.items()}
    if not any(points.values()):
        raise ValueError("there must be a plan to draw, got none")
    picture, axes = new_picture(7.4, 4.0)
    looks, words = looks_of(points), []
    for name, each in points.items():
        color, marker, _ = looks[name]
        x, y = [x for x, _ in each], [y for _, y in each]
        if name == line:
            axes.step(x, y, where="post", color=color, linewidth=2, label=name, zorder=1)
        else:
            axes.plot(x, y, linestyle="", marker=marker, color=color, markersize=6.5, alpha=0.85, label=name)
        words.append(f"{name}, {format_range(y, '{:.2g}'.format)} forward passes at {format_range(x, show)}")
    axes.set_yscale("log")
    highest = max(y for each in points.values() for _, y in each)
    axes.set_yticks([tick for tick in _TICKS if tick <= 1.1 * highest])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda passes, _: f"{passes:g}×"))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda amount, _: show(amount)))
    axes.set_xlim(0)
    axes.grid(True)
    axes.set_xlabel(memory)
    axes.set_ylabel("forward passes")
    axes.set_title(title)
    picture.legend(loc="outside right upper")
    return finish(picture, origin=origin, alt=f"Forward passes against {memory}: {'; '.join(words)}.", note=note)


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
