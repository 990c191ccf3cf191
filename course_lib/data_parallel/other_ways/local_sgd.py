"""Local SGD: every rank takes k steps of its own, then all average their parameters.

k = 1    s ⇄ s ⇄ s ⇄ s ⇄ s ⇄ s ⇄      six all-reduces: data-parallel SGD
k = 3    s   s   s ⇄ s   s   s ⇄      two, a third of the bytes; the ranks drift apart in between
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from inspect import signature
from itertools import islice
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.data_parallel.averaging import trained_parameters
from course_lib.data_parallel.sharding import split_batch
from course_lib.tasks import Digits, digits_model, random_batches, scores


class LocalRun(NamedTuple):
    """What came out of a training with local steps; all but `step_s` is the same on every rank.

    Attributes:
        period: local steps from one averaging to the next.
        loss: of the averaged model on the test digits.
        accuracy: of the averaged model on the test digits.
        parameters: the last ones, in one row.
        step_s: mean seconds of a step.
    """

    period: int
    loss: float
    accuracy: float
    parameters: torch.Tensor
    step_s: float


def average_parameters(
    comm: Communicator, module: nn.Module, all_reduce: Callable[..., None] = ring_all_reduce
) -> None:
    """Leave on every rank the mean of all ranks' trained parameters, with one all-reduce for each dtype and device.

    With plain SGD, after one step, that is the same as averaging gradients: mean(w - α g) = w - α mean(g). With
    momentum too, for that is linear in all gradients so far. With Adam it is not, nor where ranks took several steps.

    Raises:
        TypeError: if the all-reduce knows only sums, as those do that compress gradients.
    """
    _refuse_sums_only(all_reduce)
    alike = defaultdict(list)
    for parameter in trained_parameters(module):
        alike[parameter.dtype, parameter.device].append(parameter)
    for parameters in alike.values():
        mean = parameters_to_vector(parameters).detach()
        all_reduce(comm, mean, "mean")
        vector_to_parameters(mean, parameters)


def _refuse_sums_only(all_reduce: Callable[..., None]) -> None:
    try:
        signature(all_reduce).bind("comm", "row", "mean")
    except TypeError:
        name = getattr(all_reduce, "__name__", type(all_reduce).__name__)
        raise TypeError(
            f"average_parameters needs an all-reduce of (comm, tensor, op), got {name}, which sums gradients: "
            "hand that to average_gradients or DataParallel"
        ) from None


def drift(comm: Communicator, module: nn.Module) -> float:
    """How far apart the ranks are: root mean square distance of their parameters from the mean of all.

    Cost: two all-reduces, of all parameters and of one number.
    """
    if not any(True for _ in module.parameters()):
        return 0.0
    own = parameters_to_vector(module.parameters()).detach()
    mean = own.clone()
    ring_all_reduce(comm, mean, "mean")
    square = ((own - mean) ** 2).sum().view(1)
    ring_all_reduce(comm, square, "mean")
    return square.sqrt().item()


def part_batches(
    comm: Communicator, digits: Digits, part_size: int, steps: int | None = None, *, sort: bool = False, seed: int = 0
) -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
    """Yield this rank's (inputs, labels) of each step: `part_size` random digits of its own part of the data.

    Args:
        steps: None: without end.
        sort: parts hold neighboring labels, as where every machine has the data of its own users; False: all labels.

    Raises:
        ValueError: if there are more ranks than digits.
    """
    if comm.world_size > len(digits.train_labels):
        raise ValueError(f"{comm.world_size} ranks must have a digit each, got {len(digits.train_labels)}")
    order = digits.train_labels.argsort(stable=True) if sort else torch.arange(len(digits.train_labels))
    own = split_batch(order, comm.world_size)[comm.rank]
    for chosen in islice(random_batches(len(own), part_size, rank=comm.rank, seed=seed), steps):
        yield digits.train_inputs[own[chosen]], digits.train_labels[own[chosen]]


def train_local_sgd(
    comm: Communicator,
    digits: Digits,
    period: int,
    *,
    steps: int = 96,
    part_size: int = 8,
    rate: float = 0.2,
    sort: bool = False,
    seed: int = 0,
) -> LocalRun:
    """Train a classifier of digits with an averaging of the parameters after every `period` steps, and after the last.

    Raises:
        ValueError: if `period` or `steps` is less than 1.

    Cost: ceil(steps / period) all-reduces of the parameters: 1/period of the bytes of data-parallel SGD.
    Source: M. Zinkevich et al., "Parallelized stochastic gradient descent", NeurIPS 2010 (one averaging at the end);
    S. Stich, "Local SGD converges fast and communicates little", ICLR 2019 (arXiv 1805.09767).
    """
    if min(period, steps) < 1:
        raise ValueError(f"period and steps must be at least 1, got a period of {period} and {steps} steps")
    model = digits_model(seed).to(digits.train_inputs.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    began_s = comm.now()
    for step, (inputs, labels) in enumerate(part_batches(comm, digits, part_size, steps, sort=sort, seed=seed), 1):
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        if step % period == 0 or step == steps:
            average_parameters(comm, model)
    step_s = (comm.now() - began_s) / steps
    parameters = parameters_to_vector(model.parameters()).detach()
    return LocalRun(period, *scores(model, digits.test_inputs, digits.test_labels), parameters, step_s)
