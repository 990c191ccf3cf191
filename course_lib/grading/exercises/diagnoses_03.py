"""Programs of chapter 3 that do not come to their end: who waits for whom, and why, in a text or None."""

from __future__ import annotations

import re
from typing import NamedTuple

from course_lib.grading.exercise import Case, Outcome

__all__ = [
    "READ_FAILURES",
    "SERVED",
    "asked_too_early",
    "left_counts",
    "no_goodbye",
    "server_gone",
    "slowest_waits",
    "someone_unanswered",
    "version_0_is_no_goodbye",
    "waits_for_one",
    "wrong_letter",
    "zero_staleness",
]

WAIT = re.compile(r"^ *rank (\d+) waits in (?:i?)(send|recv) (?:to|from) (\w+)", re.MULTILINE)
FINISHED = re.compile(r"finished already: ranks? ([\d, ]+)")


DTYPE = re.compile(r"torch\.\w+")


class Stuck(NamedTuple):
    """A deadlock, read: what each blocked rank waits in, and who has finished."""

    waits: dict[int, tuple[str, str]]
    finished: set[int]


def _stuck(outcome: Outcome) -> Stuck | None:
    if outcome.failure is None or outcome.failure.kind not in ("deadlock", "unmatched"):
        return None
    finished = FINISHED.search(outcome.failure.text)
    return Stuck(
        {int(rank): (verb, peer) for rank, verb, peer in WAIT.findall(outcome.failure.text)},
        {int(rank) for rank in finished[1].replace(",", " ").split()} if finished else set(),
    )


def _with_details(text: str, outcome: Outcome) -> str:
    return f"{text}\n{outcome.failure.text}" if outcome.failure else text


# Programs that do not come to their end


def server_gone(case: Case, outcome: Outcome) -> str | None:
    """Rank 0 has returned, and a worker still wants something."""
    stuck = _stuck(outcome)
    if not stuck or 0 not in stuck.finished:
        return None
    for rank, (verb, _) in stuck.waits.items():
        wants = "has something to send" if verb == "send" else "waits for an answer"
        text = f"the server has ended, and rank {rank} still {wants}. Who may end last? Count who has left"
        return _with_details(text, outcome)
    return None


def no_goodbye(case: Case, outcome: Outcome) -> str | None:
    """All workers have left, and rank 0 waits for more."""
    stuck = _stuck(outcome)
    if not stuck or set(stuck.waits) != {0} or len(stuck.finished) != case.world_size - 1:
        return None
    verb, peer = stuck.waits[0]
    if verb == "send":
        text = f"the server has something to send to rank {peer}, which has left: it waits for nothing more"
        return _with_details(text, outcome)
    return _with_details("all workers have left, and the server still waits for a message: when is it done?", outcome)


def waits_for_one(case: Case, outcome: Outcome) -> str | None:
    """Rank 0 waits for a rank by name (to send or to receive) that does something else."""
    stuck = _stuck(outcome)
    verb, peer = stuck.waits.get(0, ("", "")) if stuck else ("", "")
    if not stuck or not peer.isdigit():
        return None
    if verb == "recv":
        state = "has left" if int(peer) in stuck.finished else "waits itself"
        text = f"the server waits for rank {peer} alone, which {state}. recv without a source takes whoever comes first"
    elif stuck.waits.get(int(peer)) == ("send", "0"):
        text = (
            f"the server wants to send to rank {peer}, which does not wait for an answer now: it has something to send "
            "itself. After a note of GRADIENT the gradient must be received, and only its sender is to be answered"
        )
    else:
        text = (
            f"the server wants to send to rank {peer}, which does not wait for an answer now. Answer only those whose "
            "gradient has come and who were not answered since"
        )
    return _with_details(text, outcome)


def someone_unanswered(case: Case, outcome: Outcome) -> str | None:
    """Workers wait for an answer, and rank 0 for the next message."""
    stuck = _stuck(outcome)
    if not stuck or stuck.waits.get(0) != ("recv", "anyone"):
        return None
    waiting = [rank for rank, (verb, _) in stuck.waits.items() if rank and verb == "recv"]
    if not waiting:
        return None
    who = f"rank {waiting[0]} waits" if len(waiting) == 1 else f"ranks {', '.join(map(str, waiting))} wait"
    return _with_details(f"{who} for an answer that never comes, and the server waits for the next message", outcome)


def wrong_letter(case: Case, outcome: Outcome) -> str | None:
    """A note met a row of parameters, or rows of two dtypes met."""
    if outcome.failure is None or outcome.failure.kind != "mismatch":
        return None
    text = outcome.failure.text
    if "int64" not in text and len(set(DTYPE.findall(text))) == 2:
        return _with_details(
            "two rows of numbers met, of different dtypes: send what the other side waits for", outcome
        )
    if "rank 0 sends torch.int64" in text:
        return _with_details(
            "the server sent a note (int64) where the worker waits for parameters: look at the worker that is given, "
            "what it receives, and in which order",
            outcome,
        )
    return _with_details(
        "a note (one int64) and a row of parameters met. Two messages belong together: after a note from rank w, take "
        "the gradient from rank w by name, for another worker's note may come between",
        outcome,
    )


# Slack


def _all_wait(case: Case, outcome: Outcome) -> Stuck | None:
    """All workers that have not left wait for their answers."""
    stuck = _stuck(outcome)
    if not stuck or stuck.waits.get(0) != ("recv", "anyone"):
        return None
    return stuck if all(verb == "recv" for verb, _ in stuck.waits.values()) else None


def slowest_waits(case: Case, outcome: Outcome) -> str | None:
    """Everybody who is still here waits."""
    stuck = _all_wait(case, outcome)
    if not stuck:
        return None
    if case.world_size == 2:
        text = "the only worker waits, and there is nobody to wait for. Does the server count as a slow worker?"
        return _with_details(text, outcome)
    return _with_details(
        "all workers wait at once, so the slowest waits, too. It may always go on: if it was held back before, look at "
        "it again whenever somebody has come",
        outcome,
    )


def left_counts(case: Case, outcome: Outcome) -> str | None:
    """Those who left with fewer gradients hold back the others."""
    stuck = _all_wait(case, outcome)
    made = {rank: len(rows) for rank, rows in case.about["gradients"].items() if rank}
    if not stuck or not stuck.finished:
        return None
    if min(made[rank] for rank in stuck.finished) >= max(made.values()):
        return None
    gone = min(stuck.finished, key=lambda rank: made[rank])
    waiting = [rank for rank in stuck.waits if rank]
    text = (
        f"rank {gone} said goodbye after {made[gone]} gradients, and rank {waiting[0]} waits for it for ever. Who has "
        "left is nobody's slowest any more (infinity is a good clock for it)"
    )
    return _with_details(text, outcome)


# Reads


def asked_too_early(case: Case, outcome: Outcome) -> str | None:
    """A version was asked for that the server does not have yet."""
    failure = outcome.failure
    if failure is None or failure.cause != "IndexError" or failure.rank not in (0, 1):
        return None
    return (
        f"server {failure.rank} was asked for a version that it has not made yet. Both have the older of the two "
        "versions: ask the server that is ahead for that one"
    )


def _reader_stays(case: Case, outcome: Outcome) -> str | None:
    """All readers have returned, and the servers wait for them."""
    stuck = _stuck(outcome)
    if not stuck or not set(range(2, case.world_size)) <= stuck.finished:
        return None
    return _with_details("all have ended but the servers, and nobody told them: leave(comm) comes last", outcome)


def zero_staleness(case: Case, outcome: Outcome) -> str | None:
    """Division by the staleness of a fresh gradient."""
    if outcome.failure is None or outcome.failure.cause != "ZeroDivisionError":
        return None
    return _with_details("a fresh gradient has staleness 0 and counts in full: rate / max(staleness, 1)", outcome)


def version_0_is_no_goodbye(case: Case, outcome: Outcome) -> str | None:
    """The server has ended before a worker could push its first gradient."""
    stuck = _stuck(outcome)
    if not stuck or 0 not in stuck.finished or "send" not in {verb for verb, _ in stuck.waits.values()}:
        return None
    return _with_details(
        "the server has ended, and a worker still has something to send. The first note says version 0: does the "
        "server read that as a goodbye? And who may end last?",
        outcome,
    )


READ_FAILURES = (wrong_letter, _reader_stays)
SERVED = (server_gone, no_goodbye, waits_for_one, wrong_letter, someone_unanswered)
