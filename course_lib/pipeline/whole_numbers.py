"""Small stages and data of whole numbers: sums are exact in any order, so a pipeline's gradients must be equal."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

__all__ = ["equal_to_one_process", "whole_number_batch", "whole_number_stage"]

_WIDTH = 6


def whole_number_stage(number: int, seed: int = 0) -> nn.Sequential:
    """A linear layer of 6 by 6 and ReLU, in float64; its weights are whole numbers from -2 to 2.

    >>> whole_number_stage(3)[0].weight.abs().max().item()
    2.0
    """
    layer = nn.Linear(_WIDTH, _WIDTH, dtype=torch.float64)
    draw = torch.Generator().manual_seed(100 * seed + number)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randint(-2, 3, parameter.shape, generator=draw))
    return nn.Sequential(layer, nn.ReLU())


def whole_number_batch(seed: int = 0, examples: int = 16) -> torch.Tensor:
    """Examples for these stages: whole numbers from -3 to 3, in float64.

    >>> whole_number_batch(examples=13).shape
    torch.Size([13, 6])
    """
    return torch.randint(-3, 4, (examples, _WIDTH), generator=torch.Generator().manual_seed(seed)).double()


def equal_to_one_process(gradients: Sequence[Sequence[torch.Tensor]], batch: torch.Tensor, seed: int = 0) -> bool:
    """Whether these are, to the last bit, the gradients that one process finds for the sum of all outputs.

    Args:
        gradients: for each stage, in order, those of its parameters.
    """
    model = nn.Sequential(*(whole_number_stage(number, seed) for number in range(len(gradients))))
    model(batch).sum().backward()
    pairs = zip(model, gradients, strict=True)
    return all(
        torch.equal(parameter.grad, gradient)
        for stage, found in pairs
        for parameter, gradient in zip(stage.parameters(), found, strict=True)
    )
