"""What goes wrong with the age of gradients in chapter 3: the staleness that is told, and what it makes of the rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.diagnoses_03_values import name_of, readings
from course_lib.grading.exercises.schedules_03 import Push

__all__ = ["wrong_rate", "wrong_staleness"]


def wrong_staleness(case: Case, outcome: Outcome) -> str | None:
    """The list of staleness is off."""
    if outcome.failure is not None:
        return None
    if not isinstance(outcome.values[0], list | tuple):
        return "rank 0 returns two things: the parameters, and the list of staleness in order of arrival"
    came, right = [float(value) for value in outcome.values[0][1]], case.about["staleness"]
    pushes: list[Push] = case.about["schedule"].pushes()
    for number, (value, wanted) in enumerate(zip(came, right, strict=False)):
        if value != wanted:
            reasons = [text for text, values in _other_counts(pushes, right) if values == came]
            return f"{name_of(pushes[number])} was {wanted} updates old, and you say {value:g}" + "".join(reasons[:1])
    return None


def _other_counts(pushes: list[Push], right: list[int]) -> Iterator[tuple[str, list[int]]]:
    yield (
        ". Count before this update, not after it; and max(staleness, 1) belongs into the rate, not into the list",
        [value + 1 for value in right],
    )
    yield ". max(staleness, 1) belongs into the rate, not into the list", [max(value, 1) for value in right]
    by_rank = sorted(range(len(right)), key=lambda place: pushes[place])
    yield ". That is worker by worker: in order of arrival, please", [right[place] for place in by_rank]
    yield ". You count from the very beginning: does the version travel back with the gradient?", [*range(len(right))]
    yield (
        ". The version that goes out must be that of the parameters that go out: count the update first",
        [value + (number > 0) for value, (_, number) in zip(right, pushes, strict=True)],
    )
    yield (
        ". You subtract how many gradients this worker has made; a version counts everybody's",
        [made - number for made, (_, number) in enumerate(pushes)],
    )
    yield ". With you no gradient is ever old", [0] * len(right)


OTHER_RATES: dict[str, Callable[[float, int], float]] = {
    ". Staleness 1 counts in full: it is max(staleness, 1), not staleness + 1": lambda rate, old: rate / (old + 1),
    ". You halve it with every update": lambda rate, old: rate / 2**old,
    ". You multiply by the staleness": lambda rate, old: rate * max(old, 1),
    ". That is the plain rate, however old the gradient": lambda rate, old: rate,
    ". You count gradients that are old as if they had never come": lambda rate, old: rate * (old <= 1),
}


def wrong_rate(case: Case, outcome: Outcome) -> str | None:
    """The staleness is right, and the gradient counts too much or too little."""
    rate, old = case.inputs[0][3], dict(zip(case.about["schedule"].pushes(), case.about["staleness"], strict=True))
    for found in readings(case, outcome):
        for push, wanted in found.right.items():
            amount = found.came.get(push, 0.0)
            if amount not in (wanted, -wanted):
                text = f"{found} in which {name_of(push)}, {old[push]} updates old, counts {amount:g}"
                return f"{text}; rate / max(staleness, 1) is {wanted:g}" + _reason(case, outcome, rate, old)
    return None


def _reason(case: Case, outcome: Outcome, rate: float, old: dict[Push, int]) -> str:
    """For which other rule the server's last parameters would be right."""
    last = list(readings(case, outcome))[-1].came
    for text, rule in OTHER_RATES.items():
        if all(abs(last.get(push, 0.0) - rule(rate, age)) < 1e-3 for push, age in old.items()):
            return text
    return ""
