"""What several exercises of chapter 7 use: plans as lists of words, and what is wrong with one that was given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from course_lib.checkpointing.plan import Action, Graph, Node, Plan, PlanError, PlanStep, play_plan, read_plan

__all__ = ["Explanation", "chain", "within", "words_of"]

_KINDS = ("run", "store", "back", "free")  # the page has no others; what is on the host would cost nothing
Explanation = Callable[[Sequence[PlanStep]], str]  # what a plan that takes too much does, if that can be told


def chain(length: int, sizes: Sequence[int] | None = None) -> dict[Hashable, Node]:
    """Layers one behind the other, each of which needs its input to go back; values of size 1 if not said."""
    sizes = sizes or [1] * (length + 1)
    given = Node(output_bytes=sizes[0])
    return {i: Node((i - 1,), (i - 1,), output_bytes=sizes[i]) if i else given for i in range(length + 1)}


def words_of(plan: Plan) -> list[str]:
    """A plan as students write it: ["store 1", "back 1"]."""
    return [str(action) for action in plan]


def within(
    graph: Graph, max_values: int, max_runs: int, explain: Explanation, tidy: bool = False
) -> Callable[[object], str | None]:
    """What a plan may take, as an expected value: any plan that can be carried out and takes no more is right.

    A tidy plan also holds nothing for nobody while a layer goes back.
    """

    def wrong(value: object) -> str | None:
        plan = _read(value)
        if isinstance(plan, str):
            return plan
        try:
            moments = list(play_plan(plan, graph))
        except PlanError as error:
            return f"gave a plan that cannot be carried out: {error}"
        peak = max(moments, key=lambda moment: moment.now_bytes)
        runs = sum(action.kind in ("run", "store") for action in plan)
        if peak.now_bytes > max_values:
            lists = f"held are {_listed(peak.held)}, stored {_listed(peak.stored)}"
            number = moments.index(peak)
            text = f"has {peak.now_bytes} values alive in action {number}, {peak.action}; {max_values} are enough"
            return f"{text} ({lists}). {explain(moments)}".strip()
        if runs > max_runs:
            again = sum(moment.again for moment in moments)
            return f"runs {runs} times, {again} of them again; {max_runs} are enough. {explain(moments)}".strip()
        return _left_lying(graph, moments) if tidy else None

    return wrong


def _left_lying(graph: Graph, moments: Sequence[PlanStep]) -> str | None:
    """Which value is held although nothing takes it any more: when a layer goes back, or when it is made anew."""
    wanted: set[Hashable] = set()  # what is taken, from this action on, before it is freed or made anew
    for number, (kind, node) in reversed(list(enumerate(moment.action for moment in moments))):
        if kind in ("run", "store"):
            wanted = wanted - {node} | set(graph[node].inputs)
        elif kind == "free":
            wanted -= {node}
        before = moments[number - 1].held if number else ()
        lying = [node] if kind in ("run", "store") and node in before else []
        if kind == "back":
            lying = [value for value in before if value not in wanted | {node, *graph[node].inputs}]
        if lying:
            text = f"still holds value {lying[0]} in action {number}, {kind} {node}, and takes it no more"
            return f"{text}: free a value as soon as all is done that is made of it"
    return None


def _read(value: object) -> list[Action] | str:
    """The plan, or why it is none."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(word, str) for word in value):
        return 'must give a list of words such as ["store 1", "back 1"]'
    try:
        plan = read_plan(", ".join(value))
    except PlanError as error:
        return f"gave a plan that cannot be read: {error}"
    others = [kind for kind, _ in plan if kind not in _KINDS]
    return f"must give actions that are {', '.join(_KINDS[:3])} or free, got {others[0]!r}" if others else plan


def _listed(nodes: Sequence[object]) -> str:
    return ", ".join(map(str, nodes)) or "none"
