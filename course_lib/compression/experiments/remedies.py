"""One training of the digits for each remedy: the same batches, the same steps, other messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice, product, starmap
from statistics import mean
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator, Report, simulate
from course_lib.compression.compressed_sums import CompressedSums
from course_lib.compression.error_feedback import CompressedAllReduce
from course_lib.compression.experiments.cores import on_all_cores
from course_lib.compression.power_sgd import PowerSGD
from course_lib.compression.pruning import MaskedAllReduce, magnitude_masks, prune_neurons
from course_lib.compression.quantize import OneBit
from course_lib.compression.top_k import TopK
from course_lib.data_parallel import average_gradients_in_buckets
from course_lib.decomposition import TTLinear
from course_lib.precision import all_reduce_in
from course_lib.tasks import Digits, accuracy, digit_batches, digits_model, load_digits

__all__ = ["REMEDIES", "Outcome", "compare", "train_with"]

AllReduce = Callable[..., None]


class Outcome(NamedTuple):
    """A remedy's accuracies on the test digits, one for each seed, and the bytes that a rank sent in each step."""

    remedy: str
    accuracies: list[float]
    step_bytes: float


# Each makes an all-reduce for a model; what it prunes or replaces, it does so before the training.
REMEDIES: Mapping[str, Callable[[nn.Sequential], AllReduce]] = {
    "fp32": lambda model: ring_all_reduce,
    "magnitude pruning, 25% kept": lambda model: MaskedAllReduce(magnitude_masks(model, 0.25)),
    "half of the neurons": lambda model: _halve(model),
    "thin matrices, rank 4": lambda model: _replace_first(model, _thin(4)),
    "tensor train, rank 4": lambda model: _replace_first(model, TTLinear((4, 4, 4), (4, 4, 2), ranks=4)),
    "fp16": lambda model: all_reduce_in(torch.float16),
    "1 bit, to all": lambda model: CompressedAllReduce(OneBit()),
    "1 bit, cut": lambda model: CompressedSums(OneBit()),
    "1 bit, no feedback": lambda model: CompressedAllReduce(OneBit(), error_feedback=False),
    "top 1%": lambda model: CompressedAllReduce(TopK(0.01)),
    "top 1%, no feedback": lambda model: CompressedAllReduce(TopK(0.01), error_feedback=False),
    "PowerSGD, rank 2": lambda model: PowerSGD(model.parameters(), rank=2),
}


def compare(
    remedies: Sequence[str],
    world_size: int = 4,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    steps: int = 80,
    rate: float = 0.5,
    launch: Callable[..., Report] = simulate,
) -> list[Outcome]:
    """Train the digits' model with each remedy, and count what a rank sends; `launch=run` does so on real processes.

    Simulated trainings are dealt out to the machine's cores.
    """
    simulated = launch is simulate
    stacks = {"ranks": "greenlets"} if simulated else {}  # for no rank waits inside a backward pass
    digits = load_digits()  # given to the ranks, which need not read them

    def train(remedy: str, seed: int) -> tuple[float, float]:
        training = partial(train_with, seed=seed, steps=steps, rate=rate)
        report = launch(training, world_size, (digits, remedy), **stacks)
        return report.results[0], report.trace.bytes_sent[0] / steps

    jobs = list(product(remedies, seeds))
    deal = on_all_cores if simulated else starmap  # real ranks take all cores for one training
    found = dict(zip(jobs, deal(train, jobs), strict=True))
    return [
        Outcome(remedy, [found[remedy, seed][0] for seed in seeds], mean(found[remedy, seed][1] for seed in seeds))
        for remedy in remedies
    ]


def train_with(
    comm: Communicator, digits: Digits, remedy: str, *, seed: int = 0, steps: int = 80, rate: float = 0.5
) -> float:
    """Train the digits' model by plain SGD, 16 digits a rank, gradients averaged by a remedy; the test accuracy.

    Raises:
        KeyError: if `remedy` is no name of REMEDIES.
    """
    torch.manual_seed(seed)
    module = digits_model(seed)
    all_reduce = REMEDIES[remedy](module)
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
