"""The pictures of the checkpoint explorer: the plan played, the memory it takes, and time against memory."""

from __future__ import annotations

from itertools import pairwise

from course_lib.checkpointing import Moment, PlanError
from course_lib.checkpointing.graphs import computed_nodes
from course_lib.draw.colors import COLORS
from course_lib.draw.looks import FILLS
from course_lib.draw.panels import Cell, Line, Lines, Matrix, Table, axis
from course_lib.draw.panels.drawing import INK, Key
from course_lib.widgets.checkpoint.model import (
    OPTIMUM,
    OWN,
    STRATEGIES,
    CheckpointSetting,
    frontier_of,
    graph_of,
    moments_of,
    points_of,
)

__all__ = ["describe_moment", "pictures"]

_MAX_COLUMNS = 100  # more actions than that have no room side by side
_STRATEGY_COLORS = dict(
    zip(
        (*STRATEGIES, OWN),
        (COLORS[name] for name in ("green", "purple", "orange", "sky", "blue", "vermillion")),
        strict=True,
    )
)
_SHADES = ("held", "stored", "run", "recomputed", "back")


def pictures(setting: CheckpointSetting) -> list[str | Table | Matrix | Lines]:
    """All that is shown of a setting; of a plan of your own that cannot be carried out, the reason."""
    setting = setting.fitting
    try:
        moments = moments_of(setting)
    except PlanError as error:
        return [f"This plan cannot be carried out: {error}.", _frontier(setting, None)]
    step = min(max(setting.step, 1), len(moments))
    here = _point(setting, moments)
    return [
        describe_moment(moments, step),
        _facts(setting, moments, here),
        _played(setting, moments, step),
        _memory(setting, moments, step),
        _frontier(setting, here),
    ]


def describe_moment(moments: list[Moment], step: int) -> str:
    """An action in words, and what lives meanwhile."""
    action, again, held, stored, lives = moments[step - 1]
    verb = {"run": "runs", "store": "runs and stores", "back": "goes back through"}[action.kind]
    names = ", ".join(map(str, stored)) or "nothing"
    return (
        f"Step {step} of {len(moments)}: {verb} {action.node}{' again' if again else ''}. Held: "
        f"{', '.join(map(str, held)) or 'nothing'}. Stored: {names}. {_count(lives)}."
    )


def _count(values: float) -> str:
    return f"{values:g} {'value lives' if values == 1 else 'values live'}"


def _point(setting: CheckpointSetting, moments: list[Moment]) -> tuple[int, float]:
    runs = sum(moment.action.kind != "back" for moment in moments)
    return max(moment.now_bytes for moment in moments), runs / len(computed_nodes(graph_of(*setting[:2])))


def _facts(setting: CheckpointSetting, moments: list[Moment], here: tuple[int, float]) -> Table:
    frontier = frontier_of(setting.graph, setting.size)
    nodes = len(computed_nodes(graph_of(setting.graph, setting.size)))
    fitting = [each.cost / nodes for each in frontier if each.peak_bytes <= here[0]]
    facts = {
        "most values": f"{here[0]}",
        "forward passes": f"{here[1]:.2f}",
        "nodes": f"{nodes}",
        "run again": f"{sum(moment.again for moment in moments)} times",
        "optimum in as much": f"{fitting[-1]:.2f} passes" if fitting else "none by cuts",
    }
    if setting.strategy == OPTIMUM:
        facts["budget"] = f"{setting.budget}" + (" (too small)" if here[0] > setting.budget else "")
    return Table(facts, "computed")


def _played(setting: CheckpointSetting, moments: list[Moment], step: int) -> Matrix:
    first = max(0, min(step - _MAX_COLUMNS // 2, len(moments) - _MAX_COLUMNS))
    window = moments[first : first + _MAX_COLUMNS]
    colors = {name: FILLS["plans"][name].color for name in _SHADES}
    nodes = list(graph_of(setting.graph, setting.size))

    def cell(node: object, number: int, moment: Moment) -> Cell:
        action, again, held, stored, _ = moment
        now = number == step - 1
        if node == action.node:
            name = "back" if action.kind == "back" else "recomputed" if again else "run"
            return Cell(colors[name], now=now)
        return Cell(colors["stored" if node in stored else "held"] if node in (*held, *stored) else "paper")

    return Matrix(
        title="The plan, action by action",
        origin="computed",
        label=f"{len(moments)} actions; the outlined one is number {step}",
        wide=True,
        cells=[[cell(node, first + number, each) for number, each in enumerate(window)] for node in nodes],
        row_names=[str(node) for node in nodes],
        column_names=[str(first + number + 1) for number in range(len(window))],
        outline=INK,
        across="action" + (f", {first + 1} to {first + len(window)}" if len(window) < len(moments) else ""),
        keys=[Key(name, color) for name, color in colors.items()],
    )


def _memory(setting: CheckpointSetting, moments: list[Moment], step: int) -> Lines:
    places = [place for number in range(len(moments)) for place in (number + 0.5, number + 1.5)]
    lives = [float(moment.now_bytes) for moment in moments for _ in range(2)]
    lines = {"values that live": Line(places, lives, FILLS["memory"]["activations"].color)}
    if setting.strategy == OPTIMUM:
        lines["budget"] = Line([0.5, len(moments) + 0.5], [float(setting.budget)] * 2, "#7a7a7a", (5, 4))
    now = moments[step - 1].now_bytes
    return Lines(
        title="What lives",
        origin="computed",
        label=f"at most {max(lives):g} values; {_count(now)} at step {step}",
        lines=lines,
        x=axis("action", [1, len(moments) + 0.5], low=0.5),
        y=axis("values", [0, 1.1 * max(*lives, setting.budget if len(lines) > 1 else 0)]),
        here=(step, now),
    )


def _frontier(setting: CheckpointSetting, here: tuple[int, float] | None) -> Lines:
    """The optimum as steps, the other strategies as dashes with their names."""
    nodes = len(computed_nodes(graph_of(setting.graph, setting.size)))
    best = [(each.peak_bytes, each.cost / nodes) for each in frontier_of(setting.graph, setting.size)]
    corners = [point for a, b in pairwise(best) for point in (a, (b[0], a[1]))] + best[-1:]
    points = points_of(setting)
    lines = {"optimum": Line([x for x, _ in corners], [y for _, y in corners], _STRATEGY_COLORS[OPTIMUM])}
    for name, (x, y) in points.items():
        lines[name] = Line([x - 0.2, x + 0.2], [y, y], _STRATEGY_COLORS[name])
    every = [*best, *points.values(), *([here] if here else [])]
    words = "; ".join(f"{name}: {_words(point)}" for name, point in points.items())
    return Lines(
        title="Time against memory: every strategy",
        origin="computed",
        label=f"optimum: {_words(best[0])} to {_words(best[-1])}; {words}",
        lines=lines,
        x=axis("most values", [x for x, _ in every], low=0, high=1.1 * max(x for x, _ in every)),
        y=axis("forward passes", [y for _, y in every], log=True, low=0.9, high=1.2 * max(y for _, y in every)),
        here=here,
    )


def _words(point: tuple[float, float]) -> str:
    return f"{point[0]:g} values, {point[1]:.2f} passes"
