"""What a wrong sum says about the mistake: diagnoses that any exercise on sums over ranks can use.

The inputs are random numbers, so a wrong result can be taken apart: `ingredients` says whose numbers are in it, and how
often. Each function takes the case and what came of it, and returns a text for the student or None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch

from course_lib.comm.errors import Pending
from course_lib.grading.exercise import ANYTHING, Case, Outcome, Part


def no_such_method(case: Case, outcome: Outcome) -> str | None:
    """A method that the communicator does not have."""
    text = outcome.failure.text if outcome.failure else ""
    name = re.search(r"Communicator' object has no attribute '(\w+)'", text)
    if not name:
        return None
    return (
        f"comm has no {name[1]}: it has rank, world_size, send, recv, isend, irecv and barrier. Functions that the "
        f"notebook gives are called by their names, with comm as their first argument. {text}"
    )


def alone(case: Case, outcome: Outcome) -> str | None:
    """A world of one rank, and the program wants to talk to somebody."""
    failure = outcome.failure
    if case.world_size > 1 or failure is None:
        return None
    wants_others = (
        failure.kind in ("deadlock", "mismatch", "unmatched")
        or failure.cause == "ZeroDivisionError"
        or any(words in failure.text for words in ("must be a rank from", "itself: a rank cannot"))
    )
    return f"a single rank has nobody to talk to, and yet the program stopped: {failure.text}" if wants_others else None


def direction_of(what: Pending) -> str:
    """Whether a rank is blocked in a "send" or a "recv", or in the wait() for one; "" if in nothing of that."""
    return next((verb for verb in ("send", "recv") if verb in what.verb), "")


def deadlocked(case: Case, outcome: Outcome) -> str | None:
    """A deadlock, with the reason in words before who waits for whom."""
    failure = outcome.failure
    if failure is None or failure.kind != "deadlock":
        return None
    for rank, what in failure.pending.items():
        if what.peer in failure.finished:
            sends = direction_of(what) == "send"
            wants, other = ("sends to", "receiving it") if sends else ("waits for a message from", "sending it")
            reason = f"deadlock: rank {rank} {wants} rank {what.peer}, which has ended without {other}."
            return f"{reason} For each send there must be one recv, and for each recv one send.\n{failure.text}"
    reason = {
        frozenset({"send"}): "deadlock, everybody sends and nobody receives. A send returns only when the other side "
        "has begun to receive, so start it with isend, receive, and wait() for it afterwards.",
        frozenset({"recv"}): "deadlock, everybody waits for a message and nobody sends one. Who receives first and "
        "sends afterwards never comes to its send: start that with isend before. And count: for each recv there must "
        "be one send by the rank that it names.",
    }.get(
        frozenset(map(direction_of, failure.pending.values())),
        "deadlock: some ranks wait for messages that nobody will ever send or take.",
    )
    return f"{reason}\n{failure.text}"


def global_collective(case: Case, outcome: Outcome) -> str | None:
    """torch.distributed instead of the communicator."""
    text = outcome.failure.text if outcome.failure else ""
    if "torch.distributed" not in text and "process group" not in text:
        return None
    return "torch.distributed's own collectives do not count here: build the sum from comm.send and comm.recv"


def chunks_in_a_tuple(case: Case, outcome: Outcome) -> str | None:
    """`chunks[i] += ...` on what tensor_split returned."""
    if outcome.failure is None or "'tuple' object does not support item assignment" not in outcome.failure.text:
        return None
    return (
        "tensor_split gives a tuple, and chunks[i] += ... also puts a new entry into it. Add in place, with "
        f"chunks[i].add_(...), or make a list of it first. {outcome.failure.text}"
    )


def unchanged(case: Case, outcome: Outcome) -> str | None:
    """Every rank still holds what it began with."""
    if outcome.failure or case.world_size == 1 or not case.tensor.numel():
        return None
    if not all(torch.equal(value, inputs[0]) for value, inputs in zip(outcome.values, case.inputs, strict=True)):
        return None
    count = len(outcome.trace.messages)
    if not count:
        return (
            "no message crossed the wire, and every rank still holds its own numbers. How often does your loop run "
            f"with {case.world_size} ranks?"
        )
    return (
        f"{count} messages crossed the wire, and yet every rank still holds its own numbers. Write the result into "
        "`tensor` itself (tensor += ..., tensor.copy_(...)): `tensor = tensor + ...` makes a new tensor that nobody "
        "else sees. And call wait() on a receive before you use what it brings."
    )


def mean(case: Case, outcome: Outcome) -> str | None:
    """The sum, divided by the number of ranks."""
    for rank, start, stop, value in _stretches(case, outcome):
        total = _sum(case, start, stop)
        if case.world_size > 1 and total.any() and torch.allclose(value * case.world_size, total):
            return f"rank {rank} holds the mean of all ranks; the sum was asked for, so leave out the division"
    return None


def remainder(case: Case, outcome: Outcome) -> str | None:
    """Everything is right but the last elements, which world_size does not divide evenly."""
    length, size = case.tensor.numel(), case.world_size
    even = length - length % size
    for rank, start, stop, value in _stretches(case, outcome, whole=True):
        wrong = torch.nonzero(value != _sum(case, start, stop)).reshape(-1) + start
        if len(wrong) and even < length and stop - start == length and int(wrong.min()) >= even:
            sizes = ", ".join(str(len(chunk)) for chunk in case.tensor.tensor_split(size))
            return (
                f"on rank {rank} all is right but what comes after element {even - 1}: {length} elements do not "
                f"divide evenly among {size} ranks. tensor.tensor_split({size}) gives chunks of {sizes} and forgets "
                "none."
            )
    return None


def ingredients(case: Case, outcome: Outcome) -> str | None:
    """Whose numbers a wrong stretch holds, and how often each."""
    for rank, start, stop, counts in counted(case, outcome):
        terms = " + ".join(f"{count} × rank {source}" for source, count in enumerate(counts))
        return f"rank {rank} holds in elements {start} to {stop - 1}: {terms}; each belongs in once, so {_off(counts)}"
    return None


def counted(case: Case, outcome: Outcome) -> Iterator[tuple[int, int, int, list[int]]]:
    """(rank, first element, end, how often each rank's numbers are in it) of each wrong stretch that can be read."""
    for rank, start, stop, value in _stretches(case, outcome):
        if not torch.equal(value, _sum(case, start, stop)):
            counts = _counts(case, start, stop, value)
            if counts is not None:
                yield rank, start, stop, counts


FAILURES = (global_collective, no_such_method, chunks_in_a_tuple, alone, deadlocked)
SUMS = (*FAILURES, mean, unchanged, remainder, ingredients)


def _off(counts: list[int]) -> str:
    said = [f"rank {source} is missing" for source, count in enumerate(counts) if not count]
    said += [f"rank {source} is counted {count} times" for source, count in enumerate(counts) if count not in (0, 1)]
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def _counts(case: Case, start: int, stop: int, value: torch.Tensor) -> list[int] | None:
    """How often each rank's numbers are in a stretch, if it is a sum of them at all and long enough to tell."""
    sources = torch.stack([inputs[0].double().reshape(-1)[start:stop] for inputs in case.inputs], dim=1)
    if stop - start <= case.world_size or not value.isfinite().all() or not sources.isfinite().all():
        return None  # of what is no number LAPACK would print its complaint, past Python
    counts = torch.linalg.lstsq(sources, value.unsqueeze(1)).solution.round()
    if not torch.equal(sources @ counts, value.unsqueeze(1)) or counts.abs().max() > 1000:
        return None
    return [int(count) for count in counts.reshape(-1)]


def _sum(case: Case, start: int, stop: int) -> torch.Tensor:
    return torch.stack([inputs[0].double().reshape(-1)[start:stop] for inputs in case.inputs]).sum(0)


def _stretches(case: Case, outcome: Outcome, whole: bool = False) -> Iterator[tuple[int, int, int, torch.Tensor]]:
    """(rank, start, stop, values) of all that must hold the sum of all ranks: chunk by chunk, or as a whole."""
    if outcome.failure is not None:
        return
    for rank, (expected, value) in enumerate(zip(case.expected, outcome.values, strict=True)):
        if expected is ANYTHING or value.shape != case.tensor.shape:
            continue
        start, right = (expected.start, expected.values) if isinstance(expected, Part) else (0, expected)
        stop = start + right.numel()
        if not torch.allclose(right.reshape(-1).double(), _sum(case, start, stop)):
            continue
        indices = torch.arange(start, stop)
        pieces = (indices,) if whole or isinstance(expected, Part) else indices.tensor_split(case.world_size)
        for piece in pieces:
            if len(piece):
                first, last = int(piece[0]), int(piece[-1]) + 1
                yield rank, first, last, value.reshape(-1)[first:last].double()
