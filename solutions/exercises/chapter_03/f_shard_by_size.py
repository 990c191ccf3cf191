"""Exercise 03f: tensors dealt out to servers so that none has much more than another. Many plans are right."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise


def shards(rng: np.random.Generator) -> Iterator[Case]:
    """Rows of tensors that fit exactly: one server takes the biggest, the others as much in small pieces."""
    questions: list[tuple[list[int], int, int]] = [([90, 10, 60, 40], 2, 100), ([7, 5], 3, 7), ([40, 2, 9], 1, 51)]
    questions.append(([40, 40, 7, 7, 7], 2, 54))
    for servers, small in ((2, 6), (3, 5), (4, 7)):
        total = int(rng.integers(1000, 9999))
        cuts = [np.sort(rng.choice(np.arange(1, total), small - 1, replace=False)) for _ in range(servers - 1)]
        pieces = [int(piece) for cut in cuts for piece in np.diff([0, *cut, total])]
        questions.append((sorted([*pieces, total]), servers, total))
        questions.append(([total, *(int(piece) for piece in rng.permutation(pieces))], servers, total))
    questions += questions[-3:]
    seen: dict[str, dict] = {}
    looks = [plan_checker(*question, seen.setdefault(str(question), {})) for question in questions]
    yield Case(1, [question[:2] for question in questions], looks, label="plans")


def plan_checker(lengths: list[int], servers: int, best: int, seen: dict[str, Any]) -> Callable[[Any], str | None]:
    """Looks at a plan: each tensor once, and the busiest server within Graham's bound of the best.

    `seen` is shared by questions that are alike: their plans must be alike, too.
    """

    def look(plan: Any) -> str | None:
        plan = _as_lists(plan)
        text = _is_no_plan(plan, len(lengths), servers)
        if text:
            return text
        loads = [sum(lengths[int(number)] for number in shard) for shard in plan]
        most = best * (4 * servers - 1) / (3 * servers)
        if max(loads) > most:
            busiest = loads.index(max(loads))
            return (
                f"gives server {busiest} {max(loads)} numbers; {best} are possible, and biggest first onto the "
                f"emptiest never takes more than {most:.4g}"
            )
        if seen.setdefault("plan", [list(shard) for shard in plan]) != [list(shard) for shard in plan]:
            return "gave two different plans for the same lengths: workers and servers would not agree on who has what"
        return None

    return look


def _as_lists(plan: Any) -> Any:
    """A plan as lists of plain numbers, where it is one of numpy's or torch's."""
    if hasattr(plan, "tolist"):
        return _as_lists(plan.tolist())
    return [_as_lists(each) for each in plan] if isinstance(plan, (list, tuple)) else plan


def _is_no_plan(plan: Any, tensors: int, servers: int) -> str | None:
    if not isinstance(plan, list | tuple) or not all(isinstance(shard, list | tuple) for shard in plan):
        return "is not a list of lists: one list of tensors' numbers for each server"
    if len(plan) != servers:
        return f"has lists for {len(plan)} servers; there are {servers} (a server may have an empty one)"
    numbers = [number for shard in plan for number in shard]
    strange = [number for number in numbers if not isinstance(number, int) or not 0 <= number < tensors]
    if strange:
        return f"names tensor {strange[0]}; the tensors are numbered from 0 to {tensors - 1}"
    missing = sorted(set(range(tensors)) - set(numbers))
    if missing:
        return f"leaves tensor {missing[0]} on no server at all ({len(missing)} of {tensors} are missing)"
    twice = next((number for number in numbers if numbers.count(number) > 1), None)
    return None if twice is None else f"puts tensor {twice} on two servers"


def with_these_tensors(plan: list[list[int]]) -> Callable[[Any], str | None]:
    """Looks whether a plan puts the same tensors on the same servers, in any order."""

    def look(other: Any) -> str | None:
        same = list(map(sorted, _as_lists(other))) == list(map(sorted, plan))
        return None if same else "puts other tensors there"

    return look


MISTAKES = r"""
... two different plans for the same lengths
    def shard_by_size(lengths, servers): -> turns = [0]\n\n\ndef shard_by_size(lengths, servers):\n    turns[0] += 1
    plan[emptiest] -> plan[(emptiest + turns[0]) % servers]
You dealt the tensors out in turn
    return plan -> return [list(range(server, len(lengths), servers)) for server in range(servers)]
You dealt them out in turn, the biggest first: look each time who has least
    return plan -> order = sorted(range(len(lengths)), key=lambda number: -lengths[number])\n    return [order[server::servers] for server in range(servers)]
You took them in the order given: the big ones may come last, and too late
    sorted(range(len(lengths)), key=lambda number: -lengths[number]) -> range(len(lengths))
You took the smallest first: the biggest come last, and nothing is left to even them out
    -lengths -> lengths
The numbers in your plan are places in a sorted list: the first is not the biggest tensor, but tensor 0
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]): -> lengths = sorted(lengths, reverse=True)\n    for number in range(len(lengths)):
You dealt them out in a snake, the biggest first: look each time who has least
    return plan -> order = sorted(range(len(lengths)), key=lambda number: -lengths[number])\n    return [sorted(order[server :: 2 * servers] + order[2 * servers - 1 - server :: 2 * servers]) for server in range(servers)]
You gave all of them to one server
    plan[emptiest] -> plan[0]
... has lists for 2 servers; there are 3
    return plan -> return [shard for shard in plan if shard]
... names tensor 90
    .append(number) -> .append(lengths[number])
"""

EXERCISE = function_exercise(
    __name__,
    cases=shards,
    mistakes=MISTAKES,
    like=with_these_tensors,
    hints="""
Big stones first, sand afterwards: sorted(range(len(lengths)), key=lambda number: -lengths[number]) gives the tensors' numbers, the biggest first.
Keep a list of loads, one for each server. The emptiest server is loads.index(min(loads)).
Put the tensor's number, not its length, into the plan; add its length to the load. Each server's list may be in any order, as long as it is the same for the same lengths.
""",
)
