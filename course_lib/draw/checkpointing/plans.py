"""Plans as pictures: a row a node, a column an action; what lives is shaded, and the bytes stand above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from course_lib.checkpointing import Graph, Moment, Plan, play_plan
from course_lib.draw.style import FILLS, Picture, finish, new_picture, put_title, styled
from course_lib.draw.units import format_count

__all__ = ["describe_plan", "draw_plans"]

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
