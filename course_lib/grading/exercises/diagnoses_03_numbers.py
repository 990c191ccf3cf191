"""What goes wrong in the exercises of chapter 3 without messages: the rule of slack, plans of shards, n-softsync."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from course_lib.grading.exercise import Case, Outcome

__all__ = ["other_plan", "other_rule", "other_softsync", "plan_checker"]

Rule = Callable[[list[float], int, int], bool]
Plan = Callable[[list[int], int], list[int]]  # lengths and servers -> the load of each server


def other_rule(case: Case, outcome: Outcome) -> str | None:
    """Which other rule of slack gives these answers."""
    if outcome.failure is not None:
        return None
    came = [bool(value) if value is not None else None for value in outcome.values]
    for number, (call, right, value) in enumerate(zip(case.inputs, case.expected, came, strict=True)):
        if value == right:
            continue
        clocks, worker, slack = call
        if value is None:
            return "the answer is True or False; your function returns nothing"
        ahead = clocks[worker] - min(clocks)
        text = (
            f"may_go_on({_clocks(clocks)}, worker={worker}, slack={slack}) gave {value}: the worker's clock is "
            f"{clocks[worker]:g}, {ahead:g} ahead of the slowest, so it may {'' if right else 'not '}go on"
        )
        reasons = [reason for reason, rule in OTHER_RULES.items() if came == _answers(case, rule)]
        return text + f". {reasons[0]}" * bool(reasons) + f" (question {number + 1})"
    return None


def _answers(case: Case, rule: Rule) -> list[bool]:
    return [rule(*call) for call in case.inputs]


def _finite(clocks: Sequence[float]) -> list[float]:
    return [clock for clock in clocks if clock != math.inf]


OTHER_RULES: dict[str, Rule] = {
    "Exactly slack ahead is allowed": lambda clocks, worker, slack: clocks[worker] - min(clocks) < slack,
    "You let a worker go one further than that": lambda clocks, worker, slack: (
        clocks[worker] - min(clocks) <= slack + 1
    ),
    "You look at the fastest and the slowest; then the slowest waits, too, and nobody ever comes after": (
        lambda clocks, worker, slack: max(_finite(clocks)) - min(clocks) <= slack
    ),
    "Infinity is the clock of those who are not there: you look at the largest clock": (
        lambda clocks, worker, slack: max(clocks) - min(clocks) <= slack
    ),
    "You measure how far behind the fastest it is: that holds back the slow ones": (
        lambda clocks, worker, slack: max(_finite(clocks)) - clocks[worker] <= slack
    ),
    "You compare with the mean; the slowest is what counts": lambda clocks, worker, slack: (
        clocks[worker] - sum(_finite(clocks)) / len(_finite(clocks)) <= slack
    ),
    "That lets everybody go on, as an asynchronous server does": lambda clocks, worker, slack: True,
    "You compare with worker 1, not with the slowest": lambda clocks, worker, slack: (
        clocks[worker] - clocks[1] <= slack
    ),
    "That lets only the slowest go on": lambda clocks, worker, slack: clocks[worker] == min(clocks),
}


def _clocks(clocks: Sequence[float]) -> str:
    return "[" + ", ".join(f"{clock:g}" for clock in clocks) + "]"


# Shards


def plan_checker(lengths: list[int], servers: int, best: int, seen: dict[str, Any]) -> Callable[[Any], str | None]:
    """Looks at a plan: each tensor once, and the busiest server within Graham's bound of the best.

    `seen` is shared by questions that are alike: their plans must be alike, too.
    """

    def look(plan: Any) -> str | None:
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


def other_plan(case: Case, outcome: Outcome) -> str | None:
    """Which other rule gives plans of these loads, to all questions."""
    if outcome.failure is not None:
        return None
    for call, look, plan in zip(case.inputs, case.expected, outcome.values, strict=True):
        text = look(plan)
        if text:
            reasons = [
                reason for reason, rule in OTHER_PLANS.items() if "possible" in text and _gives(rule, case, outcome)
            ]
            return f"shard_by_size({call[0]}, {call[1]}) {text}" + f". {reasons[0]}" * bool(reasons)
    return None


def _gives(rule: Plan, case: Case, outcome: Outcome) -> bool:
    """Whether this rule's loads are those of all plans that came."""
    for (lengths, servers), plan in zip(case.inputs, outcome.values, strict=True):
        if rule(lengths, servers) != [sum(lengths[int(number)] for number in shard) for shard in plan]:
            return False
    return True


def _biggest_first(lengths: list[int]) -> list[int]:
    return sorted(range(len(lengths)), key=lambda number: -lengths[number])


def _in_turn(lengths: list[int], servers: int, order: Sequence[int]) -> list[int]:
    return [sum(lengths[number] for number in order[server::servers]) for server in range(servers)]


def _emptiest(lengths: list[int], servers: int, order: Sequence[int]) -> list[int]:
    loads = [0] * servers
    for number in order:
        loads[loads.index(min(loads))] += lengths[number]
    return loads


OTHER_PLANS: dict[str, Plan] = {
    "You dealt the tensors out in turn": lambda lengths, servers: _in_turn(lengths, servers, range(len(lengths))),
    "You dealt them out in turn, the biggest first: look each time who has least": lambda lengths, servers: _in_turn(
        lengths, servers, _biggest_first(lengths)
    ),
    "You took them in the order given: the big ones may come last, and too late": lambda lengths, servers: _emptiest(
        lengths, servers, range(len(lengths))
    ),
    "You took the smallest first: the biggest come last, and nothing is left to even them out": (
        lambda lengths, servers: _emptiest(lengths, servers, _biggest_first(lengths)[::-1])
    ),
    "You gave all of them to one server": lambda lengths, servers: [sum(lengths)] + [0] * (servers - 1),
}


# n-softsync


def other_softsync(case: Case, outcome: Outcome) -> str | None:
    """Which of three numbers is off, and what it would be right for."""
    if outcome.failure is not None:
        return None
    for call, (c, updates, mean), came in zip(case.inputs, case.expected, outcome.values, strict=True):
        if not isinstance(came, list | tuple) or len(came) != 3:
            return f"three numbers are asked for: gradients_per_update, updates, mean_staleness; you gave {came}"
        workers, n, gradients = call
        reasons = (
            ("gradients_per_update", c, came[0], _why_c(workers, n)),
            ("updates", updates, came[1], _why_updates(workers, n, gradients, c)),
            ("mean_staleness", mean, came[2], _why_mean(workers, n, c)),
        )
        for name, right, value, others in reasons:
            if not math.isclose(value, right, rel_tol=1e-9):
                why = "".join(f". {text}" for text, other in others if math.isclose(value, other, rel_tol=1e-9))
                return f"softsync_numbers{call}: {name} is {right:g}, you gave {value:g}" + why
    return None


def _why_c(workers: int, n: int) -> list[tuple[str, float]]:
    return [
        ("Nobody can wait for part of a gradient: round down", workers / n),
        ("Round down, not up", float(-(-workers // n))),
        ("n says how many updates there are while everybody pushes once, not how many gradients are in one", float(n)),
    ]


def _why_updates(workers: int, n: int, gradients: int, c: int) -> list[tuple[str, float]]:
    return [
        ("Each gradient is an update only if c = 1", float(gradients)),
        ("An update that is not full is none: round down", gradients / c),
        (
            "n updates come of c * n gradients, and that is fewer than one of each worker if n does not divide",
            (float(gradients * n // workers)),
        ),
        ("Each worker's gradient counts by itself: count gradients, not rounds", float(gradients // workers)),
    ]


def _why_mean(workers: int, n: int, c: int) -> list[tuple[str, float]]:
    return [
        ("That is the rule of thumb; the exact mean is a little different", float(n)),
        ("A worker does not overtake itself: only the others' pushes make its gradient old", workers / c),
        ("Staleness counts updates, not gradients: each update takes c of them", float(workers - 1)),
        ("Divide by the gradients in an update", (workers - 1) / n),
        (
            "Half of it would be right if a pull fell somewhere between two pushes of the others at random",
            ((workers - 1) / c / 2),
        ),
    ]
