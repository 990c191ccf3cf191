"""The pictures of the checkpoint explorer: the plan played, the memory it takes, and time against memory."""

from __future__ import annotations

from course_lib.checkpointing import PlanError, PlanStep
from course_lib.checkpointing.graphs import computed_nodes
from course_lib.draw.checkpointing import corners_of, memory_panel, plan_panel
from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Line, Lines, Matrix, Table, axis
from course_lib.widgets.checkpoint.model import (
    BEST,
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
_VERBS = {"run": "runs", "store": "runs and stores", "back": "goes back through"}
_VERBS |= {"move": "gives the host", "fetch": "fetches from the host"}


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


def describe_moment(moments: list[PlanStep], step: int) -> str:
    """An action in words, and what is alive meanwhile."""
    action, again, held, stored, lives = moments[step - 1]
    verb = _VERBS[action.kind]
    names = ", ".join(map(str, stored)) or "nothing"
    return (
        f"Step {step} of {len(moments)}: {verb} {action.node}{' again' if again else ''}. Held: "
        f"{', '.join(map(str, held)) or 'nothing'}. Stored: {names}. {_count(lives)}."
    )


def _count(values: float) -> str:
    return f"{values:g} {'value is' if values == 1 else 'values are'} alive"


def _point(setting: CheckpointSetting, moments: list[PlanStep]) -> tuple[int, float]:
    runs = sum(moment.action.kind in ("run", "store") for moment in moments)
    return max(moment.now_bytes for moment in moments), runs / len(computed_nodes(graph_of(*setting[:2])))


def _facts(setting: CheckpointSetting, moments: list[PlanStep], here: tuple[int, float]) -> Table:
    frontier = frontier_of(setting.graph, setting.size)
    nodes = len(computed_nodes(graph_of(setting.graph, setting.size)))
    fitting = [each.cost / nodes for each in frontier if each.peak_bytes <= here[0]]
    facts = {
        "values at the peak": f"{here[0]}",
        "layers": f"{nodes}",
        "forward runs": f"{sum(moment.action.kind in ('run', 'store') for moment in moments)}",
        "forward passes": f"{here[1]:.2f}",
        "run again": f"{sum(moment.again for moment in moments)} times",
        "best plan in this memory": f"{fitting[-1]:.2f} passes" if fitting else "none by cuts",
    }
    if setting.strategy == BEST:
        facts["budget"] = f"{setting.budget}" + (" (too small)" if here[0] > setting.budget else "")
    return Table(facts, "computed")


def _played(setting: CheckpointSetting, moments: list[PlanStep], step: int) -> Matrix:
    first = max(0, min(step - _MAX_COLUMNS // 2, len(moments) - _MAX_COLUMNS))
    window = moments[first : first + _MAX_COLUMNS]
    return plan_panel(
        window,
        list(graph_of(setting.graph, setting.size)),
        title="The plan, action by action",
        label=f"{len(moments)} actions; the outlined one is number {step}",
        first=first,
        now=step - 1,
        across="action" + (f", {first + 1} to {first + len(window)}" if len(window) < len(moments) else ""),
    )


def _memory(setting: CheckpointSetting, moments: list[PlanStep], step: int) -> Lines:
    budget = setting.budget if setting.strategy == BEST else None
    most = max(moment.now_bytes for moment in moments)
    now = moments[step - 1].now_bytes
    return memory_panel(
        moments,
        budget,
        title="Values alive",
        label=f"at most {most:g} values; {_count(now)} at step {step}",
        unit="values",
        most=max(most, budget or 0),
        here=(step, now),
    )


def _frontier(setting: CheckpointSetting, here: tuple[int, float] | None) -> Lines:
    """The best plans as steps, the other strategies as dashes with their names."""
    nodes = len(computed_nodes(graph_of(setting.graph, setting.size)))
    best = [(each.peak_bytes, each.cost / nodes) for each in frontier_of(setting.graph, setting.size)]
    corners = corners_of(best)
    points = points_of(setting)
    lines = {"best plan": Line([x for x, _ in corners], [y for _, y in corners], _STRATEGY_COLORS[BEST])}
    for name, (x, y) in points.items():
        lines[name] = Line([x - 0.2, x + 0.2], [y, y], _STRATEGY_COLORS[name])
    every = [*best, *points.values(), *([here] if here else [])]
    words = "; ".join(f"{name}: {_words(point)}" for name, point in points.items())
    return Lines(
        title="Time against memory: every strategy",
        origin="computed",
        label=f"best plan: {_words(best[0])} to {_words(best[-1])}; {words}",
        lines=lines,
        x=axis("values at the peak", [x for x, _ in every], low=0, high=1.1 * max(x for x, _ in every)),
        y=axis("forward passes", [y for _, y in every], log=True, low=0.9, high=1.2 * max(y for _, y in every)),
        here=here,
    )


def _words(point: tuple[float, float]) -> str:
    return f"{point[0]:g} values, {point[1]:.2f} passes"
