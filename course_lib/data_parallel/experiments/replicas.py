"""Many small networks trained side by side: one batched matrix product serves them all, so twenty seeds cost like few.

Shapes: r networks (replicas), b examples in the batch of each. Parameters are [r, in, out] and [r, 1, out].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch.nn import functional

from course_lib.checks import at_least


def start_replicas(sizes: Sequence[int], seeds: Sequence[int], start_scale: float = 1.0) -> list[torch.Tensor]:
    """Weights and biases of one network for each seed; a seed's network is the same whichever others are there.

    Weights are normal with deviation start_scale × √(2/in), biases 0.

    Source: He et al., "Delving deep into rectifiers", arXiv 1502.01852, 2015, for start_scale 1.

    >>> [tuple(parameter.shape) for parameter in start_replicas((64, 32, 10), seeds=range(5))]
    [(5, 64, 32), (5, 1, 32), (5, 32, 10), (5, 1, 10)]
    """
    at_least(1, seeds=len(seeds), inputs=min(sizes[:-1], default=0))
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    parameters = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        draws = torch.stack([torch.randn(fan_in, fan_out, generator=generator) for generator in generators])
        parameters += [draws * start_scale * math.sqrt(2 / fan_in), torch.zeros(len(seeds), 1, fan_out)]
    return parameters


def replica_outputs(parameters: Sequence[torch.Tensor], inputs: torch.Tensor) -> torch.Tensor:
    """Outputs of every network: [r, b, in] -> [r, b, classes]; layers with ReLU between them."""
    hidden = inputs
    for number in range(0, len(parameters), 2):
        weight, bias = parameters[number : number + 2]
        hidden = torch.baddbmm(bias, functional.relu(hidden) if number else hidden, weight)
    return hidden


def replica_losses(parameters: Sequence[torch.Tensor], inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean cross-entropy of every network over its own batch: [r, b, in], [r, b] -> [r]."""
    outputs = replica_outputs(parameters, inputs)
    return functional.cross_entropy(outputs.transpose(1, 2), labels, reduction="none").mean(1)


def replica_gradients(
    parameters: Sequence[torch.Tensor], inputs: torch.Tensor, labels: torch.Tensor
) -> list[torch.Tensor]:
    """The gradient of every network's mean loss, in the parameters' shapes; by hand, in half of autograd's time."""
    seen = [inputs]  # by each layer
    for number in range(0, len(parameters) - 2, 2):
        seen.append(functional.relu(torch.baddbmm(parameters[number + 1], seen[-1], parameters[number])))
    error = torch.softmax(torch.baddbmm(parameters[-1], seen[-1], parameters[-2]), 2)
    error -= functional.one_hot(labels, error.shape[2])
    error /= labels.shape[1]
    gradients: list[torch.Tensor] = []
    for number in range(len(seen) - 1, -1, -1):
        gradients = [seen[number].transpose(1, 2) @ error, error.sum(1, keepdim=True), *gradients]
        if number:
            error = error @ parameters[2 * number].transpose(1, 2) * (seen[number] > 0)
    return gradients


def momentum_step(
    parameters: Sequence[torch.Tensor],
    velocities: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
    rates: torch.Tensor,
    *,
    momentum: float,
    weight_decay: float,
) -> None:
    """One step of torch.optim.SGD for every network, in place, each at its own rate.

    Args:
        rates: [r].
    """
    rates = rates.view(-1, 1, 1)
    for parameter, velocity, gradient in zip(parameters, velocities, gradients, strict=True):
        velocity.mul_(momentum).add_(gradient).add_(parameter, alpha=weight_decay)
        parameter.addcmul_(rates, velocity, value=-1)
