"""Exercise 02c: the ring's second circle, which hands the finished chunks round."""

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import WIDE, Case, Outcome, whole_numbers
from course_lib.grading.exercises.chapter_02.shared import SHAPES, ring_rules
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.diagnoses import FAILURES


def finished_chunks(rng: np.random.Generator) -> Iterator[Case]:
    """Rank r begins with chunk r finished and other numbers around it; every rank ends with all finished chunks."""
    for world_size, length, perturb in SHAPES:
        finished, *inputs = (whole_numbers(rng, length, most=WIDE) for _ in range(world_size + 1))
        for rank, tensor in enumerate(inputs):
            tensor.tensor_split(world_size)[rank].copy_(finished.tensor_split(world_size)[rank])
        yield Case(world_size, [(tensor,) for tensor in inputs], [finished] * world_size, perturb)


def added_again(case: Case, outcome: Outcome) -> str | None:
    """In an all-gather what arrives was added to what was there."""
    for rank, number, came, right, own in _chunks(case, outcome):
        if torch.equal(came, own + right):
            return (
                f"rank {rank} added the finished chunk {number} to what stood there before: in this circle a chunk is "
                "finished, so what arrives replaces the old numbers"
            )
    return None


def sent_too_early(case: Case, outcome: Outcome) -> str | None:
    """Someone passed on a chunk before it was finished."""
    for rank, number, came, _, _ in _chunks(case, outcome):
        for other, inputs in enumerate(case.inputs):
            if other not in (rank, number) and torch.equal(came, inputs[0].tensor_split(case.world_size)[number]):
                return (
                    f"rank {rank} got chunk {number} as it was on rank {other} in the beginning: rank {other} sent it "
                    "before the finished one had reached it. In the first step each rank sends its own chunk."
                )
    return None


def never_came(case: Case, outcome: Outcome) -> str | None:
    """A chunk is still as it was."""
    if case.world_size == 1:
        return None
    count = len(outcome.trace.messages)
    for rank, number, came, _, own in _chunks(case, outcome):
        if torch.equal(came, own):
            return (
                f"rank {rank}'s chunk {number} is what it was in the beginning, after {count} messages in all; every "
                f"rank must receive {case.world_size - 1}, straight into the chunks of `tensor`"
            )
    return None


def _chunks(case: Case, outcome: Outcome) -> Iterator[tuple[int, int, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """(rank, chunk number, what came, what is right, what was there) of each chunk that is wrong."""
    if outcome.failure is not None:
        return
    for rank, (value, right, inputs) in enumerate(zip(outcome.values, case.expected, case.inputs, strict=True)):
        pieces = [tensor.tensor_split(case.world_size) for tensor in (value, right, inputs[0])]
        for number, (came, good, own) in enumerate(zip(*pieces, strict=True)):
            if not torch.equal(came, good):
                yield rank, number, came, good, own


MISTAKES = r"""
... chunk 1 is what it was in the beginning
    chunks = tensor.tensor_split(comm.world_size) -> chunks = [chunk.clone() for chunk in tensor.tensor_split(comm.world_size)]
... the program ended while messages waited
    comm.recv(chunks[(comm.rank - step - 1) % comm.world_size], left)\n        sending.wait() -> pass
... everybody waits for a message and nobody sends one
    sending = comm.isend -> sending = (comm.recv(chunks[(comm.rank - step - 1) % comm.world_size], left), comm.isend
    [(comm.rank - step) % comm.world_size], right) -> [(comm.rank - step) % comm.world_size], right))[1]
    right))[1]\n        comm.recv(chunks[(comm.rank - step - 1) % comm.world_size], left) -> right))[1]
... added the finished chunk
    comm.recv(chunks[(comm.rank - step - 1) % comm.world_size], left) -> incoming = torch.empty_like(chunks[(comm.rank - step - 1) % comm.world_size])\n        comm.recv(incoming, left)\n        chunks[(comm.rank - step - 1) % comm.world_size].add_(incoming)
... here a rank sends only to its right neighbor
    answer each_to_each
... In the first step each rank sends its own chunk
    range(comm.world_size - 1) -> range(1, comm.world_size)
    (comm.rank - step - 1) -> (comm.rank - step - 2)
    (comm.rank - step) -> (comm.rank - step - 1)
"""

EXERCISE = rank_exercise(
    __name__,
    cases=finished_chunks,
    rules=ring_rules(1),
    mistakes=MISTAKES,
    diagnoses=(added_again, sent_too_early, never_came, *FAILURES),
    perturbation="receiver",
    hints="""
In the first step each rank has one finished chunk to give away: its own. What does it have to give next?
In the first step rank r sends chunk r and receives chunk r - 1, modulo world_size. After that, both numbers are one less each time.
A chunk from tensor_split is a view: comm.recv(chunks[arriving], left) writes right into `tensor`.
""",
)
