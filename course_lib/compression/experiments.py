"""Experiments of chapter 10: every remedy trained on the digits, before a network is pruned and after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn import functional

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator, run
from course_lib.compression.compressed_sums import CompressedSums
from course_lib.compression.compressors import CompressedAllReduce, OneBit, TopK
from course_lib.compression.power_sgd import PowerSGD
from course_lib.compression.pruning import MaskedAllReduce, magnitude_masks, prune_neurons
from course_lib.data_parallel import average_gradients_in_buckets
from course_lib.decomposition import TTLinear
from course_lib.tasks import Digits, accuracy, digit_batches, digits_model

T = TypeVar("T")


def on_all_cores(function: Callable[..., T], jobs: Sequence[tuple[Any, ...]], timeout_s: float = 900.0) -> list[T]:
    """What `function(*job)` gives for each job, in their order; each core takes its share of them in a process.

    >>> on_all_cores(pow, [(2, 3), (3, 2), (5, 1)])
    [8, 9, 5]
    """
    cores = min(len(jobs), os.cpu_count() or 1)
    if cores < 2:
        return [function(*job) for job in jobs]
    shares = run(_share, cores, args=(function, list(jobs)), timeout_s=timeout_s).results
    return [shares[place % cores][place // cores] for place in range(len(jobs))]


def _share(comm: Communicator, function: Callable[..., T], jobs: list[tuple[Any, ...]]) -> list[T]:
    return [function(*job) for job in jobs[comm.rank :: comm.world_size]]


AllReduce = Callable[..., None]


# Each makes an all-reduce for a model; what it prunes or replaces, it does so before the training.
REMEDIES: Mapping[str, Callable[[nn.Sequential], AllReduce]] = {
    "fp32": lambda model: ring_all_reduce,
    "magnitude pruning, 25% kept": lambda model: MaskedAllReduce(magnitude_masks(model, 0.25)),
    "half of the neurons": lambda model: _halve(model),
    "thin matrices, rank 4": lambda model: _replace_first(model, _thin(4)),
    "tensor train, rank 4": lambda model: _replace_first(model, TTLinear((4, 4, 4), (4, 4, 2), ranks=4)),
    "1 bit, to all": lambda model: CompressedAllReduce(OneBit()),
    "1 bit, cut": lambda model: CompressedSums(OneBit()),
    "1 bit, no feedback": lambda model: CompressedAllReduce(OneBit(), error_feedback=False),
    "top 1%": lambda model: CompressedAllReduce(TopK(0.01)),
    "top 1%, no feedback": lambda model: CompressedAllReduce(TopK(0.01), error_feedback=False),
    "PowerSGD, rank 2": lambda model: PowerSGD(model.parameters(), rank=2),
}


def train_with(
    comm: Communicator, digits: Digits, remedy: str, *, seed: int = 0, steps: int = 80, rate: float = 0.5
) -> float:
    """Train the digits' model by plain SGD, 16 digits a rank, gradients averaged by a remedy; the test accuracy.

    Raises:
        KeyError: if `remedy` is no name of REMEDIES.
    """
    torch.manual_seed(seed)
    module = digits_model(seed).to(digits.train_inputs.device)
    all_reduce = REMEDIES[remedy](module)
    module.to(digits.train_inputs.device)  # and the layers that the remedy has put into it
    optimizer = torch.optim.SGD(module.parameters(), lr=rate)
    for inputs, labels in islice(digit_batches(16, rank=comm.rank, seed=seed, digits=digits), steps):
        optimizer.zero_grad()
        functional.cross_entropy(module(inputs), labels).backward()
        average_gradients_in_buckets(comm, module, all_reduce=all_reduce)
        optimizer.step()
    return accuracy(module, digits.test_inputs, digits.test_labels)


def _halve(model: nn.Sequential) -> AllReduce:
    first, second = model[0], model[2]
    assert isinstance(first, nn.Linear)
    assert isinstance(second, nn.Linear)
    model[0], model[2] = prune_neurons(first, second, first.out_features // 2)
    return ring_all_reduce


def _replace_first(model: nn.Sequential, smaller: nn.Module) -> AllReduce:
    model[0] = smaller
    return ring_all_reduce


def _thin(rank: int) -> nn.Module:
    """64 → 32 by two thin matrices."""
    return nn.Sequential(nn.Linear(64, rank, bias=False), nn.Linear(rank, 32))


def prune_and_train_on(
    comm: Communicator, digits: Digits, remedy: str, hidden: int = 32, steps: int = 40, seed: int = 0
) -> list[float]:
    """Test accuracies of a network: after `steps` steps, right after a remedy has pruned it, and `steps` steps later.

    Source: S. Han et al., "Learning both weights and connections for efficient neural networks", NeurIPS 2015.
    """
    device = digits.train_inputs.device
    model = digits_model(seed, hidden).to(device)
    batches = digit_batches(16, rank=comm.rank, seed=seed, digits=digits)
    _train(comm, model, ring_all_reduce, islice(batches, steps))
    pruned = digits_model(hidden=hidden).to(device)
    pruned.load_state_dict(model.state_dict())
    all_reduce = REMEDIES[remedy](pruned)
    pruned.to(device)  # and the layers that the remedy has put into it
    right_after = _accuracy(pruned, digits)
    _train(comm, pruned, all_reduce, islice(batches, steps))
    return [_accuracy(model, digits), right_after, _accuracy(pruned, digits)]


def _train(
    comm: Communicator, module: nn.Module, all_reduce: Callable[..., None], batches: Iterable[tuple[torch.Tensor, ...]]
) -> None:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    for inputs, labels in batches:
        optimizer.zero_grad()
        functional.cross_entropy(module(inputs), labels).backward()
        average_gradients_in_buckets(comm, module, all_reduce=all_reduce)
        optimizer.step()


def _accuracy(model: nn.Module, digits: Digits) -> float:
    return accuracy(model, digits.test_inputs, digits.test_labels)
