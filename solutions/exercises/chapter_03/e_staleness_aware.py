"""Exercise 03e: server and worker that count versions, and a gradient that counts the less the older it is."""

from collections.abc import Iterator

import numpy as np

from course_lib.grading import rules
from course_lib.grading.exercise import NUMBERS, Case, Rule
from course_lib.grading.exercises.chapter_03.contents import wrong_contents
from course_lib.grading.exercises.chapter_03.schedules import case_of, waiting_row
from course_lib.grading.exercises.chapter_03.shared import NOTE_BYTES, SERVED, counts_of, kept_waiting, on_time
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.verdict import difference

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


MISTAKES = r"""
says staleness 1 where it is 0: count before this update, not after it; and max(staleness, 1) belongs into the rate, not into the list
    staleness.append(version - note.item()) -> version += 1; staleness.append(version - note.item())
    * gradient\n        version += 1 -> * gradient
or
    staleness.append(version - note.item()) -> staleness.append(max(version - note.item(), 1))
lists staleness worker by worker: in order of arrival, please
    while here: -> who = []\n    while here:
    staleness.append(version - note.item()) -> staleness.append(version - note.item()); who.append(worker)
    return parameters, staleness -> return parameters, [staleness[i] for i in sorted(range(len(who)), key=who.__getitem__)]
counts staleness from the very beginning: does the version travel back with the gradient?
    version = note.item() -> pass
counts one update too many: the version that goes out must be that of the parameters that go out, so count the update first
    version += 1\n        comm.send(torch.tensor([version]), worker) -> comm.send(torch.tensor([version]), worker)\n        version += 1
subtracts how many gradients this worker has made; a version counts everybody's
    while here: -> made = [0] * comm.world_size\n    while here:
    staleness.append(version - note.item()) -> staleness.append(version - made[worker]); made[worker] += 1
finds no gradient ever old
    version - note.item() -> 0
counts old gradients too little. Staleness 1 counts in full: it is max(staleness, 1), not staleness + 1
    max(staleness[-1], 1) -> (staleness[-1] + 1)
counts old gradients in full. That is the plain rate, however old the gradient
    rate / max(staleness[-1], 1) -> rate
a fresh gradient has staleness 0 and counts in full: rate / max(staleness, 1)
    max(staleness[-1], 1) -> staleness[-1]
the server has ended, and a worker still has something to send. The first note says version 0: does the server read that as a goodbye? And who may end last?
    torch.tensor([-1]) -> torch.tensor([GOODBYE])
    note.item() < 0 -> note.item() == GOODBYE
got other parameters: gradients left before there was time to compute them. comm.compute(pause) comes before each push
    comm.compute(pause) -> pass
has the same numbers in all its answers, those of the last one: each recv overwrites one and the same tensor. Make a new one for each answer
    version, answers = 0, [] -> version, answers, answer = 0, [], torch.empty_like(parameters)
    answer = torch.empty_like(parameters)\n            comm.recv -> comm.recv
[3] ... a number or two each way
    comm.send(gradient, 0) -> comm.send(gradient, 0)\n            comm.send(answers[-1] if answers else parameters, 0)
    comm.recv(gradient, worker) -> comm.recv(gradient, worker)\n        comm.recv(torch.empty_like(parameters), worker)
"""

EXERCISE = rank_exercise(
    __name__,
    cases=stale,
    dtypes=NUMBERS,
    answer="return",
    rules=(
        rules.total_bytes(stale_bytes, "one row and a number or two each way, for each gradient", costs=1),
        rules.max_messages(stale_messages, "a row, and a number or two"),
        Rule(on_time),
    ),
    mistakes=MISTAKES,
    diagnoses=(*SERVED, kept_waiting, wrong_contents),
    in_part=True,
    alike=lambda one, other: difference(one, other, 1e-5) is None,
    perturbation=None,
    clock=True,
    hints="""
Each answer is two messages: a note with the server's version, then the parameters. The worker keeps the version and sends it back as the note before its next gradient. Any negative number can mean goodbye.
When a gradient comes: staleness = version - note.item(), where version is the server's before this update. Then subtract rate / max(staleness, 1) * gradient, and count the version up.
Check with your finger: one worker alone always has staleness 0. Two workers that take turns have 1.
""",
)
