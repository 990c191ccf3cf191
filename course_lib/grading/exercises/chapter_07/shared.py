"""What several exercises of chapter 7 use: plans as lists of words, and what is wrong with one that was given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from course_lib.checkpointing.plan import Action, Graph, Moment, Node, Plan, PlanError, play_plan, read_plan

__all__ = ["Explanation", "chain", "within", "words_of"]

Explanation = Callable[[Sequence[Moment]], str]  # what a plan that takes too much does, if that can be told


def chain(length: int, sizes: Sequence[int] | None = None) -> dict[Hashable, Node]:
    """Layers one behind the other, each of which needs its input to go back; values of size 1 if not said."""
    sizes = sizes or [1] * (length + 1)
    given = Node(output_bytes=sizes[0])
    return {i: Node((i - 1,), (i - 1,), output_bytes=sizes[i]) if i else given for i in range(length + 1)}


def words_of(plan: Plan) -> list[str]:
    """A plan as students write it: ["store 1", "back 1"]."""
    return [str(action) for action in plan]


def within(graph: Graph, most_values: int, most_runs: int, explain: Explanation) -> Callable[[object], str | None]:
    """What a plan may take, as an expected value: any plan that can be carried out and takes no more is right."""

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
        if peak.now_bytes > most_values:
            lists = f"held are {_listed(peak.held)}, stored {_listed(peak.stored)}"
            number = moments.index(peak)
            text = f"has {peak.now_bytes} values alive in action {number}, {peak.action}; {most_values} are enough"
            return f"{text} ({lists}). {explain(moments)}".strip()
        if runs > most_runs:
            again = sum(moment.again for moment in moments)
            return f"runs {runs} times, {again} of them again; {most_runs} are enough. {explain(moments)}".strip()
        return None

    return wrong


def _read(value: object) -> list[Action] | str:
    """The plan, or why it is none."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(word, str) for word in value):
        return 'must give a list of words such as ["store 1", "back 1"]'
    try:
        return read_plan(", ".join(value))
    except PlanError as error:
        return f"gave a plan that cannot be read: {error}"


def _listed(nodes: Sequence[object]) -> str:
    return ", ".join(map(str, nodes)) or "none"
