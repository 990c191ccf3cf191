"""Training at sites that are far from each other: many steps alone, then an outer step."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import torch
from torch.nn import functional

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.compression.outer_step import OuterStep
from course_lib.data_parallel import average_gradients_in_buckets
from course_lib.tasks import Digits, digit_batches, digits_model, scores

__all__ = ["train_at_site"]


def train_at_site(
    comm: Communicator,
    digits: Digits,
    period: int | None,
    outer_rate: float = 1.0,
    momentum: float = 0.0,
    *,
    rate: float = 0.004,
    steps: int = 80,
    seed: int = 0,
    all_reduce: Callable[..., None] = ring_all_reduce,
) -> tuple[float, float]:
    """Train the digits' model, 16 digits a step and site, by AdamW; the loss on test digits, and seconds of a step.

    Args:
        period: inner steps from one outer step to the next; None: gradients are averaged in every step instead.
    """
    module = digits_model(seed)
    inner = torch.optim.AdamW(module.parameters(), lr=rate)
    outer = OuterStep(module, rate=outer_rate, momentum=momentum, all_reduce=all_reduce)
    batches = list(islice(digit_batches(16, rank=comm.rank, seed=seed, digits=digits), steps))
    began_s = comm.now()
    for step, (inputs, labels) in enumerate(batches, start=1):
        inner.zero_grad()
        functional.cross_entropy(module(inputs), labels).backward()
        if period is None:
            average_gradients_in_buckets(comm, module, all_reduce=all_reduce)
        inner.step()
        if period is not None and step % period == 0:
            outer(comm)
    step_s = (comm.now() - began_s) / steps
    return scores(module, digits.test_inputs, digits.test_labels)[0], step_s
