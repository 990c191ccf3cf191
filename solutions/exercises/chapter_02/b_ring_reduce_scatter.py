"""Exercise 02b: the ring's first circle, after which rank r holds the sum of chunk r."""

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import ANYTHING, WIDE, Case, Outcome, Part, whole_numbers
from course_lib.grading.exercises.chapter_02.shared import SHAPES, chunks_finished, ring_rules, sum_of_all
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.diagnoses import SUMS


def scattered_sums(rng: np.random.Generator) -> Iterator[Case]:
    """Rank r ends with the sum in chunk r; the rest of its tensor is not looked at."""
    for world_size, length, perturb in SHAPES:
        inputs = [whole_numbers(rng, length, most=WIDE) for _ in range(world_size)]
        chunks, starts = sum(inputs).tensor_split(world_size), _starts(length, world_size)
        parts = [Part(start, chunk) if len(chunk) else ANYTHING for start, chunk in zip(starts, chunks, strict=True)]
        yield Case(world_size, [(tensor,) for tensor in inputs], parts, perturb)


def _starts(length: int, world_size: int) -> list[int]:
    """Where each chunk begins."""
    sizes = [len(chunk) for chunk in torch.empty(length).tensor_split(world_size)]
    return [sum(sizes[:rank]) for rank in range(world_size)]


def other_chunk_finished(case: Case, outcome: Outcome) -> str | None:
    """Each rank finished a chunk, and not its own."""
    finished = [chunks_finished(case, value) for value in outcome.values]
    if case.world_size == 1 or not all(len(chunks) == 1 and rank not in chunks for rank, chunks in enumerate(finished)):
        return None
    return (
        f"rank 0 ends with the finished sum of chunk {finished[0][0]}, rank 1 with that of chunk {finished[1][0]}; "
        "asked for is chunk r on rank r. Your circle is right, your chunk numbers are off by a constant."
    )


def evenly_cut(case: Case, outcome: Outcome) -> str | None:
    """Chunks of world_size equal parts, and a remainder that nobody has."""
    length, size = case.tensor.numel(), case.world_size
    part = length // size
    if not part or not length % size:
        return None
    total = sum_of_all(case)
    for rank, value in enumerate(outcome.values):
        if not torch.equal(value[rank * part : (rank + 1) * part], total[rank * part : (rank + 1) * part]):
            return None
    sizes = ", ".join(str(len(chunk)) for chunk in total.tensor_split(size))
    return (
        f"{length} elements in {size} equal chunks of {part} leave {length % size} over, and nobody adds those. "
        f"tensor.tensor_split({size}) gives chunks of {sizes}."
    )


MISTAKES = r"""
... leave 1 over, and nobody adds those
    chunks = tensor.tensor_split(comm.world_size) -> size = tensor.numel() // comm.world_size; chunks = [tensor[n * size : (n + 1) * size] for n in range(comm.world_size)]
... a step passes on one chunk, not the whole tensor
    answer whole_tensor
[3] ... your ranks wait for each other in a chain
    sending = comm.isend(chunks[outgoing], right)\n        comm.recv(incoming, left)\n        sending.wait() -> for act in (comm.send, comm.recv) if comm.rank == 0 else (comm.recv, comm.send):\n            act(*((chunks[outgoing], right) if act == comm.send else (incoming, left)))
... your chunk numbers are off by a constant
    comm.rank - 1 - step -> comm.rank - step
    comm.rank - 2 - step -> comm.rank - 1 - step
... every chunk has come round
    range(comm.world_size - 1) -> range(comm.world_size if comm.world_size > 1 else 0)
    add_(incoming) -> add_(incoming * (step + 1 < comm.world_size))
... tensor_split gives a tuple
    chunks[arriving].add_(incoming) -> chunks[arriving] += incoming
... no message crossed the wire
    range(comm.world_size - 1) -> range(1, comm.world_size - 1)
"""

EXERCISE = rank_exercise(
    __name__,
    cases=scattered_sums,
    rules=ring_rules(1),
    mistakes=MISTAKES,
    diagnoses=(other_chunk_finished, evenly_cut, *SUMS),
    hints="""
Follow one chunk. Chunk 0 must end on rank 0 after world_size - 1 steps to the right. So which rank sends it first? That rank is one to the right of rank 0.
In the first step rank r sends chunk r - 1 and receives chunk r - 2, both modulo world_size. In each later step both numbers are one less: a rank passes on what it has just added to.
One step: sending = comm.isend(chunks[outgoing], right), then comm.recv(incoming, left), then sending.wait(), then chunks[arriving].add_(incoming). The buffer `incoming` must be as long as chunks[arriving].
""",
)
