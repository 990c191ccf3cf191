"""The checkpoint explorer: a graph, a strategy and a budget, and the plan to be played; or a plan of one's own."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

from course_lib.checkpointing import (
    Action,
    Graph,
    PlanError,
    PlanStep,
    halving,
    plan_cost,
    plan_peak,
    play_plan,
    read_plan,
)
from course_lib.checkpointing.graphs import (
    SHAPES,
    FrontierPlan,
    computed_nodes,
    cut_plan,
    graph_frontier,
    separator_plan,
    with_frees,
)
from course_lib.draw.chapters.checkpointing import corners_of, memory_panel, plan_panel
from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Line, Lines, Matrix, Table, axis
from course_lib.widgets.controls import disable, menu, number, step_slider
from course_lib.widgets.settings import EVERY, SteppedExplorer, control, control_of

Plan = tuple[Action, ...]

BEST, OWN = "best plan for the budget", "your own"
STRATEGIES = ("plain autograd", "keep nothing", "√n segments", "halving", BEST)
SIZES = {"chain": (2, 20), "residual network": (1, 6), "U-Net": (1, 6), "tree": (1, 4)}


@dataclass(frozen=True)
class CheckpointSetting:
    """All that the controls say."""

    graph: str = control("chain", menu, "graph", list(SIZES))
    size: int = control(10, number, "size", 1, 20, about="layers, blocks or levels; the nearest that the graph has")
    strategy: str = control_of(
        BEST, lambda s, value: menu("strategy", [*STRATEGIES, *([] if s.own is None else [OWN])], value), book=EVERY
    )
    budget: int = control(5, number, "budget", 1, 24, book=[3, 4, 5, 6, 8])
    step: int = control(1, step_slider, "step", book=EVERY)
    own: Plan | None = None

    @property
    def fitting(self) -> CheckpointSetting:
        """The same with a size that its graph has."""
        low, high = SIZES[self.graph]
        return replace(self, size=min(max(self.size, low), high))


@functools.lru_cache(maxsize=64)
def graph_of(graph: str, size: int) -> Graph:
    """The graph of equal nodes; what it is given counts as a value, too."""
    shape = SHAPES[graph](size)
    return {name: node if node.inputs else replace(node, output_bytes=1) for name, node in shape.items()}


@functools.lru_cache(maxsize=64)
def frontier_of(graph: str, size: int) -> list[FrontierPlan]:
    """The best plans by cuts, for every budget."""
    return graph_frontier(graph_of(graph, size))


@functools.lru_cache(maxsize=256)
def _fixed(graph: str, size: int, strategy: str) -> Plan:
    """The plan of a strategy that knows no budget."""
    shape = graph_of(graph, size)
    nodes = computed_nodes(shape)
    if strategy == "keep nothing":
        return _keep_nothing(shape, nodes)
    if strategy == "√n segments":
        long = isqrt(len(nodes) - 1) + 1
        return tuple(cut_plan(shape, nodes[long - 1 : -1 : long]))
    if strategy == "halving":
        return tuple(halving(0, size) if graph == "chain" else separator_plan(shape))
    return tuple(cut_plan(shape))


def _keep_nothing(shape: Graph, nodes: list[Hashable]) -> Plan:
    """Run all that a node depends on, store the node, go back through it; and again for the node before it."""
    order: list[tuple[str, Hashable]] = []
    for node in reversed(nodes):
        needed = {node}
        for each in reversed(nodes[: nodes.index(node) + 1]):
            needed.update(shape[each].inputs if each in needed else ())
        order += [("run", each) for each in nodes if each in needed - {node}] + [("store", node), ("back", node)]
    return tuple(with_frees(order, shape))


def plan_of(setting: CheckpointSetting) -> Plan:
    """The plan that the setting chooses; where nothing fits into the budget, the smallest there is."""
    if setting.strategy == OWN:
        return setting.own or ()
    if setting.strategy != BEST:
        return _fixed(setting.graph, setting.size, setting.strategy)
    frontier = frontier_of(setting.graph, setting.size)
    return tuple(([each for each in frontier if each.peak_bytes <= setting.budget] or frontier[:1])[-1].plan)


@functools.lru_cache(maxsize=64)
def _played(graph: str, size: int, plan: Plan) -> list[PlanStep]:
    return [each for each in play_plan(plan, graph_of(graph, size)) if each.action.kind != "free"]


def moments_of(setting: CheckpointSetting) -> list[PlanStep]:
    """What lives during every action but those that free.

    Raises:
        PlanError: if it is your own and cannot be carried out.
    """
    return _played(setting.graph, setting.size, plan_of(setting))


def points_of(setting: CheckpointSetting) -> dict[str, tuple[int, float]]:
    """(values at the peak, forward passes) of each strategy, and of your own if it can be carried out."""
    shape = graph_of(setting.graph, setting.size)
    one = len(computed_nodes(shape))
    plans = {name: _fixed(setting.graph, setting.size, name) for name in STRATEGIES if name != BEST}
    points = {name: (plan_peak(plan, shape), plan_cost(plan, shape) / one) for name, plan in plans.items()}
    try:
        own = {OWN: (plan_peak(setting.own, shape), plan_cost(setting.own, shape) / one)} if setting.own else {}
    except PlanError:
        own = {}
    return points | own


# The pictures of the checkpoint explorer: the plan played, the memory it takes, and time against memory.

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
    return max(moment.now_bytes for moment in moments), runs / len(
        computed_nodes(graph_of(setting.graph, setting.size))
    )


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


def _plan_panel(setting: CheckpointSetting, moments: list[PlanStep], step: int) -> Matrix:
    first = max(0, min(step - _MAX_COLUMNS // 2, len(moments) - _MAX_COLUMNS))
    window = moments[first : first + _MAX_COLUMNS]
    return plan_panel(
        window,
        list(graph_of(setting.graph, setting.size))[::-1],  # as in `draw_plans`
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
    """The best plans as steps, the other strategies as dots."""
    nodes = len(computed_nodes(graph_of(setting.graph, setting.size)))
    best = [(each.peak_bytes, each.cost / nodes) for each in frontier_of(setting.graph, setting.size)]
    corners = corners_of(best)
    points = points_of(setting)
    lines = {"best plan": Line([x for x, _ in corners], [y for _, y in corners], _STRATEGY_COLORS[BEST])}
    for name, (x, y) in points.items():
        lines[name] = Line([x], [y], _STRATEGY_COLORS[name], drawn="dots")
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


class CheckpointExplorer(SteppedExplorer):
    """A plan of checkpointing to play: what is alive, what is recomputed, and how it stands among all strategies.

    Every layer takes one unit of time and every value one of memory, the input too. All is computed by `play_plan`;
    the best plans are those by cuts.

    Args:
        own: a plan of your own for the graph, as actions or as words ("store 1, back 1"); it stands in the menu as
            "your own". Nodes of a chain are 1, 2, …; of a residual network 1a, 1b, 1, 2a, …; of a U-Net down0, …,
            bottom, …, up0; of a tree root, root0, root1, root00, ….
    """

    Setting = CheckpointSetting

    def __init__(self, own: Sequence[Action] | str | None = None, **asked: Any) -> None:
        plan = None if own is None else tuple(read_plan(own) if isinstance(own, str) else own)
        if plan is not None:
            asked["strategy"] = OWN
        super().__init__(own=plan, **asked)

    @staticmethod
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
            _plan_panel(setting, moments, step),
            _memory(setting, moments, step),
            _frontier(setting, here),
        ]

    def prepare(self) -> None:
        """Let sizes be those of the graph, and steps those of the plan; only the best plan asks for a budget."""
        controls = self.controls
        low, high = SIZES[controls["graph"].value]
        controls["size"].min, controls["size"].max = low, high
        disable(controls["budget"], controls["strategy"].value != BEST, "only the best plan has a budget")
        super().prepare()

    def steps(self, setting: CheckpointSetting) -> int:
        """The actions of the plan."""
        try:
            return max(len(moments_of(setting.fitting)), 1)
        except PlanError:
            return 1
