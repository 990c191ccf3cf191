"""A small exercise for the graders' own tests: a sum all-reduce in which a rank sends only to its right neighbor."""

from __future__ import annotations

import numpy as np

from course_lib.grading import rules
from course_lib.grading.exercise import WIDE, Case, Exercise, whole_numbers

__all__ = ["ANSWERS", "RING", "PASSING_ROUND", "RIGHT", "cells"]


def _cases(rng: np.random.Generator):
    for world_size, length, perturb in [(1, 5, 0), (2, 8, 0), (3, 40, 1), (4, 67, 1)]:
        inputs = [whole_numbers(rng, length, most=WIDE) for _ in range(world_size)]
        yield Case(world_size, [(tensor,) for tensor in inputs], [sum(inputs)] * world_size, perturb)


RING = Exercise(
    id="99a",
    title="Sum on a ring",
    function="ring_sum",
    points=4,
    cases=_cases,
    rules=(
        rules.neighbors(lambda rank, size: {(rank + 1) % size}, "its right neighbor"),
        rules.bytes_per_rank(
            lambda case: 2 * (case.world_size - 1) * -(-case.tensor.numel() // case.world_size) * 4, costs=1
        ),
        rules.max_messages(lambda case: 2 * (case.world_size - 1) * case.world_size),
    ),
    perturbation="receiver",
    hints=("Cut the tensor into world_size chunks.", "First circle: add. Second circle: copy."),
)

RIGHT = """
import torch

def ring_sum(comm, tensor):
    p, r = comm.world_size, comm.rank
    chunks = list(torch.tensor_split(tensor, p))
    for step in range(2 * (p - 1)):
        there, here = chunks[(r - step) % p], chunks[(r - step - 1) % p]
        sending = comm.isend(there.contiguous(), (r + 1) % p)
        incoming = torch.empty_like(here)
        comm.recv(incoming, (r - 1) % p)
        sending.wait()
        here.add_(incoming) if step < p - 1 else here.copy_(incoming)
"""

PASSING_ROUND = """
import torch

def ring_sum(comm, tensor):
    moving = tensor.clone()
    for _ in range(comm.world_size - 1):
        work = comm.isend(moving, (comm.rank + 1) % comm.world_size)
        incoming = torch.empty_like(moving)
        comm.recv(incoming)
        work.wait()
        tensor += incoming
        moving = incoming
"""

PADDED = """
import torch

def ring_sum(comm, tensor):
    p, r, n = comm.world_size, comm.rank, tensor.numel()
    size = -(-n // p)
    padded = torch.zeros(size * p, dtype=torch.float64)
    padded[:n] = tensor
    chunk = lambda i: padded[(i % p) * size : (i % p + 1) * size]
    for circle in range(2):
        for step in range(p - 1):
            i = r + 1 - step if circle else r - step
            buffer = torch.empty(size, dtype=torch.float32)
            receive = comm.irecv(buffer, (r - 1) % p)
            comm.send(chunk(i).float(), (r + 1) % p)
            receive.wait()
            chunk(i - 1).copy_(buffer if circle else chunk(i - 1) + buffer)
    tensor.copy_(padded[:n])
"""

ANSWERS = {"chunks": (RIGHT, 4.0), "padded": (PADDED, 4.0), "passing round": (PASSING_ROUND, 3.0)}


def cells(source: str) -> list[tuple[str, str]]:
    """A submission of one cell."""
    return [("answer", source)]
