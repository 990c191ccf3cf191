"""What several servers of chapter 3 share: the bytes of the protocol, when answers are due, and why a program stops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from course_lib.comm.trace import Message, Trace
from course_lib.grading import rules
from course_lib.grading.exercise import Case, Outcome, Rule
from course_lib.grading.exercises.chapter_03.contents import name_of
from course_lib.grading.exercises.chapter_03.schedules import case_of, waiting_row
from course_lib.grading.exercises.diagnoses import direction_of

__all__ = [
    "NOTE_BYTES",
    "PATIENCE_S",
    "SERVED",
    "SERVED_RULES",
    "Stuck",
    "asynchronous",
    "counts_of",
    "kept_waiting",
    "on_time",
    "stuck_of",
    "with_details",
    "wrong_letter",
]

# Cases

# Order of arrival, workers, elements, trials with a changed message.
ASYNCHRONOUS = (
    ("", 0, 5, 0),
    ("a a a", 1, 5, 0),
    ("a b a a b a", 2, 40, 1),
    ("a b c b b a b c", 3, 41, 1),
    ("b d a c b b d b c", 4, 33, 0),
)


def asynchronous(rng: np.random.Generator) -> Iterator[Case]:
    """Each gradient is answered at once, with all that has arrived."""
    for row, workers, length, perturb in ASYNCHRONOUS:
        yield case_of(waiting_row(row, workers, rng), length, rng, perturb=perturb)


# Rules

NOTE_BYTES = 8
PATIENCE_S = 0.5


def counts_of(case: Case) -> tuple[int, int, int]:
    """How many gradients are pushed, how many parameters come back, and how many workers there are."""
    schedule, held = case.about["schedule"], case.about["held"]
    return len(schedule.arrivals), sum(map(len, held[1:])), schedule.workers


def protocol_bytes(case: Case) -> int:
    """A note and a gradient for each push, parameters for each answer, a note of each worker that leaves, and, where
    there are steps, a note with every answer."""
    pushes, answers, workers = counts_of(case)
    notes = pushes + workers + (answers if case.about["schedule"].updates is not None else 0)
    return notes * NOTE_BYTES + (pushes + answers) * case.message_bytes


def protocol_messages(case: Case) -> int:
    """A note and a row for each push and each answer, and a note of each worker that leaves."""
    pushes, answers, workers = counts_of(case)
    return 2 * (pushes + answers) + workers


def on_time(case: Case, trace: Trace) -> str | None:
    """Every answer leaves when it may."""
    for due_s, rank, number, answer in late_answers(case, trace):
        return (
            f"the answer to gradient {number} of rank {rank} left at {answer.start_s:.3g} s; it could have "
            f"left at {due_s:.3g} s, and nobody should wait without need"
        )
    return None


def late_answers(case: Case, trace: Trace) -> Iterator[tuple[float, int, int, Message]]:
    """(when it was due, worker, its gradient, the answer) of each that left later, in order of when it was due."""
    schedule, seen = case.about["schedule"], dict.fromkeys(range(case.world_size), 0)
    answers = {rank: list(answers_to(case, trace, rank)) for rank in range(1, case.world_size)}
    for due_s, arrival in zip(schedule.arrival_s(), schedule.arrivals, strict=True):
        for rank in arrival.answered:
            number = seen[rank]
            seen[rank] += 1
            if number < len(answers[rank]) and answers[rank][number].start_s > due_s + PATIENCE_S:
                yield due_s, rank, number, answers[rank][number]


def answers_to(case: Case, trace: Trace, rank: int) -> Iterator[Message]:
    """The messages with parameters that this worker was answered with, in order."""
    return (m for m in trace.messages if m.src == 0 and m.dst == rank and m.message_bytes >= case.message_bytes)


def gradients_of(case: Case, trace: Trace, rank: int) -> Iterator[Message]:
    """The messages with gradients of this worker, in order."""
    return (m for m in trace.messages if m.src == rank and m.dst == 0 and m.message_bytes >= case.message_bytes)


# Diagnoses


class Stuck(NamedTuple):
    """A deadlock: for each blocked rank whether it sends or receives and its peer (None: anyone); who has finished."""

    waits: dict[int, tuple[str, int | None]]
    finished: set[int]


def stuck_of(outcome: Outcome) -> Stuck | None:
    failure = outcome.failure
    if failure is None or failure.kind != "deadlock":
        return None
    waits = {rank: (direction_of(what), what.peer) for rank, what in failure.pending.items()}
    return Stuck(waits, set(failure.finished))


def with_details(text: str, outcome: Outcome) -> str:
    return f"{text}\n{outcome.failure.text}" if outcome.failure else text


def server_gone(case: Case, outcome: Outcome) -> str | None:
    """Rank 0 has returned, and a worker still wants something."""
    stuck = stuck_of(outcome)
    if not stuck or 0 not in stuck.finished:
        return None
    for rank, (verb, _) in stuck.waits.items():
        wants = "has something to send" if verb == "send" else "waits for an answer"
        text = f"the server has ended, and rank {rank} still {wants}. Who may end last? Count who has left"
        return with_details(text, outcome)
    return None


def no_goodbye(case: Case, outcome: Outcome) -> str | None:
    """All workers have left, and rank 0 waits for more."""
    stuck = stuck_of(outcome)
    if not stuck or set(stuck.waits) != {0} or len(stuck.finished) != case.world_size - 1:
        return None
    verb, peer = stuck.waits[0]
    if verb == "send":
        text = f"the server has something to send to rank {peer}, which has left: it waits for nothing more"
        return with_details(text, outcome)
    return with_details("all workers have left, and the server still waits for a message: when is it done?", outcome)


def waits_for_one(case: Case, outcome: Outcome) -> str | None:
    """Rank 0 waits for a rank by name (to send or to receive) that does something else."""
    stuck = stuck_of(outcome)
    verb, peer = stuck.waits.get(0, ("", None)) if stuck else ("", None)
    if not stuck or peer is None:
        return None
    if verb == "recv":
        state = "has left" if peer in stuck.finished else "waits itself"
        text = f"the server waits for rank {peer} alone, which {state}. recv without a source takes whoever comes first"
    elif stuck.waits.get(peer) == ("send", 0):
        text = (
            f"the server wants to send to rank {peer}, which does not wait for an answer now: it has something to send "
            "itself. After its note its gradient must be received, and only its sender is to be answered"
        )
    else:
        text = (
            f"the server wants to send to rank {peer}, which does not wait for an answer now. Answer only those whose "
            "gradient has come and who were not answered since"
        )
    return with_details(text, outcome)


def someone_unanswered(case: Case, outcome: Outcome) -> str | None:
    """Workers wait for an answer, and rank 0 for the next message."""
    stuck = stuck_of(outcome)
    if not stuck or stuck.waits.get(0) != ("recv", None):
        return None
    waiting = [rank for rank, (verb, _) in stuck.waits.items() if rank and verb == "recv"]
    if not waiting:
        return None
    who = f"rank {waiting[0]} waits" if len(waiting) == 1 else f"ranks {', '.join(map(str, waiting))} wait"
    return with_details(f"{who} for an answer that never comes, and the server waits for the next message", outcome)


def wrong_letter(case: Case, outcome: Outcome) -> str | None:
    """A note met a row of parameters, or rows of two dtypes or notes of two shapes met."""
    if outcome.failure is None or outcome.failure.kind != "mismatch":
        return None
    rank, sent, expected = outcome.failure.rank, outcome.failure.sent, outcome.failure.expected
    if "torch.int64" not in (sent, expected) and sent != expected:
        return with_details("two rows of numbers met, of different dtypes: send what the other side waits for", outcome)
    if sent == expected == "torch.int64":
        return with_details("two notes of different shapes met: a note is a tensor of one element, [1]", outcome)
    if rank == 0 and sent == "torch.int64":
        return with_details(
            "the server sent a note (int64) where the worker waits for parameters: look at the worker that is given, "
            "what it receives, and in which order",
            outcome,
        )
    return with_details(
        "a note (one int64) and a row of parameters met. Two messages belong together: after a note from rank w, take "
        "the gradient from rank w by name, for another worker's note may come between",
        outcome,
    )


SERVED = (server_gone, no_goodbye, waits_for_one, wrong_letter, someone_unanswered)


def kept_waiting(case: Case, outcome: Outcome) -> str | None:
    """Somebody was answered late: because nobody listened to it, or because its answer was kept."""
    for due_s, rank, number, answer in late_answers(case, outcome.trace) if outcome.failure is None else ():
        gradient = list(gradients_of(case, outcome.trace, rank))[number]
        text = f"the answer to {name_of((rank, number))}"
        if gradient.start_s > due_s + PATIENCE_S:
            return (
                f"{text} came late: it knocked at {due_s:.3g} s, and the server listened at {gradient.start_s:.3g} s. "
                "Do not wait for one rank by name: recv without a source takes whoever comes first"
            )
        return (
            f"{text} could have left at {due_s:.3g} s and left at {answer.start_s:.3g} s: the gradient was "
            "there, and its worker sat idle until others had come"
        )
    return None


# Failures

SERVED_RULES = (
    rules.total_bytes(protocol_bytes, "a note and a gradient for each push, one row of parameters for each answer"),
    rules.max_messages(protocol_messages, "a row is one message, and a note is one"),
    Rule(on_time),
)
