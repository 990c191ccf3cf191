"""Exercise 03e: server and worker that count versions, and a gradient that counts the less the older it is."""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import NUMBERS, Case, Outcome, Rule
from course_lib.grading.exercises.chapter_03.contents import name_of, readings, wrong_contents
from course_lib.grading.exercises.chapter_03.schedules import Push, case_of, waiting_row
from course_lib.grading.exercises.chapter_03.shared import (
    NOTE_BYTES,
    PATIENCE_S,
    SERVED,
    counts_of,
    gradients_of,
    kept_waiting,
    on_time,
    stuck_of,
    with_details,
)
from course_lib.grading.exercises.common import rank_exercise

# Chosen so that each staleness is 0, 1, 2 or 4: then rate / staleness is exact.
STALE = (
    ("", 0, 5),
    ("a a a", 1, 5),
    ("a b a b b a a a a b", 2, 40),
    ("a b c a b c a b a b c", 3, 41),
)
RATE = 0.5
MAX = 2**15 - 1  # so that float32 holds eighths of the gradients and their sums, right or wrong


def stale(rng: np.random.Generator) -> Iterator[Case]:
    """A gradient counts rate / staleness; the server also tells each staleness."""
    for row, workers, length in STALE:
        schedule = waiting_row(row, workers, rng)
        values = schedule.staleness()
        weights = [RATE / max(value, 1) for value in values]
        case = case_of(
            schedule, length, rng, extra=(RATE,), weights=weights, multiple=8, most=MAX, label=f"rate {RATE}"
        )
        last, *answers = case.expected
        yield Case(
            case.world_size,
            case.inputs,
            [[last, values], *answers],
            label=case.label,
            about={**case.about, "staleness": values},
        )


def stale_messages(case: Case) -> int:
    """A row and up to two notes for each push, each answer and each goodbye."""
    return 3 * sum(counts_of(case))


def stale_bytes(case: Case) -> int:
    """A row and up to two numbers for each push, each answer and each goodbye."""
    pushes, answers, workers = counts_of(case)
    return (pushes + answers + workers) * (case.message_bytes + 2 * NOTE_BYTES)


def zero_staleness(case: Case, outcome: Outcome) -> str | None:
    """Division by the staleness of a fresh gradient."""
    if outcome.failure is None or outcome.failure.cause != "ZeroDivisionError":
        return None
    return with_details("a fresh gradient has staleness 0 and counts in full: rate / max(staleness, 1)", outcome)


def version_0_is_no_goodbye(case: Case, outcome: Outcome) -> str | None:
    """The server has ended before a worker could push its first gradient."""
    stuck = stuck_of(outcome)
    if not stuck or 0 not in stuck.finished or "send" not in {verb for verb, _ in stuck.waits.values()}:
        return None
    return with_details(
        "the server has ended, and a worker still has something to send. The first note says version 0: does the "
        "server read that as a goodbye? And who may end last?",
        outcome,
    )


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
    ". That is the plain rate, however old the gradient": lambda rate, old: rate,
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


def came_too_early(case: Case, outcome: Outcome) -> str | None:
    """A gradient was sent before there was time to compute it."""
    if outcome.failure is not None:
        return None
    schedule = case.about["schedule"]
    gradients = {rank: list(gradients_of(case, outcome.trace, rank)) for rank in range(1, case.world_size)}
    for (rank, number), at_s in zip(schedule.pushes(), schedule.arrival_s(), strict=True):
        if number < len(gradients[rank]) and gradients[rank][number].start_s < at_s - PATIENCE_S:
            return (
                f"{name_of((rank, number))} left at {gradients[rank][number].start_s:.3g} s; to compute it takes until "
                f"{at_s:.3g} s. comm.compute(pause) comes before each push"
            )
    return None


def one_answer_for_all(case: Case, outcome: Outcome) -> str | None:
    """A worker's answers are all alike: one tensor, overwritten each time."""
    if outcome.failure is not None:
        return None
    for rank, (answers, right) in enumerate(zip(outcome.values, case.expected, strict=True)):
        if rank and len(right) > 1 and len(answers) == len(right):
            alike = all(torch.equal(answer, answers[0]) for answer in answers)
            if alike and torch.equal(answers[-1], right[-1]):
                return (
                    f"all {len(answers)} answers of rank {rank} are the same numbers, those of the last one: each recv "
                    "overwrites one and the same tensor. Make a new one for each answer"
                )
    return None


MISTAKES = r"""
... Count before this update
    staleness.append(version - note.item()) -> version += 1; staleness.append(version - note.item())
    * gradient\n        version += 1 -> * gradient
... a fresh gradient has staleness 0 and counts in full
    max(staleness[-1], 1) -> staleness[-1]
... does the server read that as a goodbye
    torch.tensor([-1]) -> torch.tensor([GOODBYE])
    note.item() < 0 -> note.item() == GOODBYE
... That is the plain rate
    rate / max(staleness[-1], 1) -> rate
[3] ... a number or two each way
    comm.send(gradient, 0) -> comm.send(gradient, 0)\n            comm.send(answers[-1] if answers else parameters, 0)
    comm.recv(gradient, worker) -> comm.recv(gradient, worker)\n        comm.recv(torch.empty_like(parameters), worker)
... does the version travel back
    version = note.item() -> pass
"""

EXERCISE = rank_exercise(
    id="03e",
    title="Old gradients count less",
    function="staleness_aware",
    points=4,
    cases=stale,
    dtypes=NUMBERS,
    answer="return",
    rules=(
        rules.total_bytes(stale_bytes, "one row and a number or two each way, for each gradient", costs=1),
        rules.max_messages(stale_messages, "a row, and a number or two"),
        Rule(on_time),
    ),
    mistakes=MISTAKES,
    diagnoses=(
        version_0_is_no_goodbye,
        *SERVED,
        zero_staleness,
        one_answer_for_all,
        came_too_early,
        wrong_staleness,
        wrong_rate,
        kept_waiting,
        wrong_contents,
    ),
    perturbation=None,
    clock=True,
    hints="""
Each answer is two messages: a note with the server's version, then the parameters. The worker keeps the version and sends it back as the note before its next gradient. Any negative number can mean goodbye.
When a gradient comes: staleness = version - note.item(), where version is the server's before this update. Then subtract rate / max(staleness, 1) * gradient, and count the version up.
Check with your finger: one worker alone always has staleness 0. Two workers that take turns have 1.
""",
)
