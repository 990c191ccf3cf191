"""A network that is trained, pruned, and trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

import torch
from torch import nn
from torch.nn import functional

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.compression.experiments.remedies import REMEDIES
from course_lib.data_parallel import average_gradients_in_buckets
from course_lib.tasks import Digits, accuracy, digit_batches, digits_model

__all__ = ["prune_and_train_on"]


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
