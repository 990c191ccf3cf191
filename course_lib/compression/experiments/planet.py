"""Training at sites that are far from each other: many steps alone, then an averaging of what has changed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import torch
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_lib.comm import Communicator
from course_lib.tasks import Digits, digit_batches, digits_model

__all__ = ["train_at_site"]


def train_at_site(
    comm: Communicator, digits: Digits, period: int, all_reduce: Callable[..., None], steps: int = 16
) -> float:
    """Train the digits' model, average what has changed after every `period` steps; the seconds of a step.

    Source: S. Stich, "Local SGD converges fast and communicates little", ICLR 2019.
    """
    model = digits_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    common = parameters_to_vector(model.parameters()).detach().clone()
    change, batches = torch.zeros_like(common), list(islice(digit_batches(16, rank=comm.rank, digits=digits), steps))
    began_s = comm.now()
    for step, (inputs, labels) in enumerate(batches, start=1):
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        if step % period == 0:
            change.copy_((parameters_to_vector(model.parameters()).detach() - common) / comm.world_size)
            all_reduce(comm, change)
            common += change
            vector_to_parameters(common.clone(), model.parameters())
    return (comm.now() - began_s) / steps
