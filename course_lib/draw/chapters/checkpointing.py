"""The pictures of chapter 07: plans, memory against cost, graphs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Arc, Patch

from course_lib.checkpointing import Graph, Plan, PlanStep, play_plan
from course_lib.draw.colors import COLORS, FILLS, INK, MUTED
from course_lib.draw.line_charts import PAGE_PX, Axis, scaled
from course_lib.draw.panels import Cell, Line, Lines, Matrix, Panel, axis
from course_lib.draw.panels.drawing import INK as INK_OF_PANELS
from course_lib.draw.panels.drawing import Key
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture, empty, finish, new_picture, put_title, styled
from course_lib.draw.units import format_count, format_range

_SHADES = ("held", "stored", "run", "recomputed", "back")
_MAX_PLANS = 4


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
    most = max(budget_bytes or 0, *(moment.now_bytes for moments in played.values() for moment in moments))
    panels: list[Panel] = [
        memory_panel(moments, budget_bytes, title=name, unit=unit, most=most, height_px=70.0)
        for name, moments in played.items()
    ]
    panels += [
        plan_panel(moments, list(graph)[::-1], title="", wide=False, gap_px=0.0, ends=True, down="layer")
        for moments in played.values()
    ]
    words = " ".join(describe_plan(moments, name, unit) for name, moments in played.items())
    return picture_of(panels, alt=words, note=note, title=title, columns=len(played), shared=True)


def describe_plan(moments: Sequence[PlanStep], name: str, unit: str) -> str:
    """A plan in words: how often it runs a layer, how often again, and the most that is alive."""
    runs = [moment for moment in moments if moment.action.kind in ("run", "store")]
    again = sum(moment.again for moment in runs)
    peak = max(moment.now_bytes for moment in moments)
    return f"{name}: {format_count(len(runs), 'forward run')}, {again} of them again; at most {peak} {unit} alive."


def memory_panel(
    moments: Sequence[PlanStep], budget: float | None, *, title: str, unit: str, most: float, **more: Any
) -> Lines:
    """What lives during each action, as steps, and the budget, if there is one. `more`: what else Lines have."""
    places = [place for number in range(len(moments)) for place in (number + 0.5, number + 1.5)]
    lives = [float(moment.now_bytes) for moment in moments for _ in range(2)]
    lines = {f"{unit} alive": Line(places, lives, FILLS["memory"]["activations"].color, drawn="area")}
    if budget is not None:
        lines["budget"] = Line([0.5, len(moments) + 0.5], [float(budget)] * 2, COLORS["gray"], (5, 4))
    return Lines(
        title=title,
        origin="computed",
        lines=lines,
        x=axis("action", [1, len(moments) + 0.5], low=0.5),
        y=axis(unit, [0, 1.1 * most]),
        **more,
    )


def plan_panel(
    moments: Sequence[PlanStep],
    nodes: Sequence[Hashable],
    *,
    title: str,
    first: int = 0,
    now: int | None = None,
    **more: Any,
) -> Matrix:
    """A plan, action by action: what is run, held, stored, run again. `more`: what else a Matrix has.

    Args:
        nodes: from the top row down.
        first: the number of the first action that is shown.
        now: the action to outline.
    """
    colors = {name: FILLS["plans"][name].color for name in _SHADES}

    def cell(node: Hashable, number: int, moment: PlanStep) -> Cell:
        action, again, held, stored, _ = moment
        if node == action.node:
            kinds = {"back": "back", "move": "held", "fetch": "held"}
            name = kinds.get(action.kind, "recomputed" if again else "run")
            return Cell(colors[name], now=number == now)
        return Cell(colors["stored" if node in stored else "held"] if node in (*held, *stored) else "paper")

    look: dict[str, Any] = {"wide": True, "across": "action", "outline": INK_OF_PANELS} | more
    return Matrix(
        title=title,
        origin="computed",
        cells=[[cell(node, number, each) for number, each in enumerate(moments, first)] for node in nodes],
        row_names=[str(node) for node in nodes],
        column_names=[str(first + number + 1) for number in range(len(moments))],
        keys=[Key(name, color) for name, color in colors.items()],
        **look,
    )


_TICKS = (1, 1.5, 2, 3, 5, 8, 15, 30, 60)


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
    everyone = [point for each in points.values() for point in each]
    if not everyone:
        raise ValueError("there must be a plan to draw, got none")
    lines = {name: _frontier_line(each, joined=name == line) for name, each in points.items() if each}
    panel = Lines(
        title=title,
        origin=origin,
        wide=True,
        lines=lines,
        x=axis(memory, [x for x, _ in everyone], show=show, most=6),
        y=scaled(Axis("forward passes", "{:g}×".format, log=True, ticks=_TICKS), [y for _, y in everyone]),
        height_px=PAGE_PX,
        grid="xy",
    )
    words = [
        f"{name}, {format_range([y for _, y in each], '{:.2g}'.format)} forward passes at "
        f"{format_range([x for x, _ in each], show)}"
        for name, each in points.items()
    ]
    return picture_of([panel], alt=f"Forward passes against {memory}: {'; '.join(words)}.", note=note)


def _frontier_line(points: Sequence[tuple[float, float]], joined: bool) -> Line:
    drawn = corners_of(points) if joined else points
    return Line([x for x, _ in drawn], [y for _, y in drawn], drawn="line" if joined else "dots")


def corners_of(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of steps through points: each height holds until the next point.

    >>> corners_of([(3, 2), (6, 1)])
    [(3, 2), (6, 2), (6, 1)]
    """
    return [corner for a, b in pairwise(points) for corner in (a, (b[0], a[1]))] + list(points[-1:])


_MARKS = (COLORS["vermillion"], COLORS["orange"], COLORS["blue"], COLORS["green"], COLORS["purple"])
_OTHER = COLORS["gray"]


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
