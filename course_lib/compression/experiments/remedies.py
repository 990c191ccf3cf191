"""Runs of the digits, one for each remedy: the same batches, the same steps, other messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

import torch
from torch import nn
from torch.nn import functional

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.compression.compressed_sums import CompressedSums
from course_lib.compression.error_feedback import CompressedAllReduce
from course_lib.compression.power_sgd import PowerSGD
from course_lib.compression.pruning import MaskedAllReduce, magnitude_masks, prune_neurons
from course_lib.compression.quantize import OneBit
from course_lib.compression.top_k import TopK
from course_lib.data_parallel import average_gradients_in_buckets
from course_lib.decomposition import TTLinear
from course_lib.tasks import Digits, accuracy, digit_batches, digits_model

__all__ = ["REMEDIES", "train_with"]

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
