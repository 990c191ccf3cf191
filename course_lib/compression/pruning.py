"""Fewer parameters: single weights set to zero for good, or whole neurons taken out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import nn

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.compression.power_sgd import gradients_in
from course_lib.data_parallel.averaging import number_of, numbered


def magnitude_masks(module: nn.Module, kept_share: float) -> dict[nn.Parameter, torch.Tensor]:
    """For each matrix of the module, where its largest weights are: True for `kept_share` of them. Biases stay whole.

    The weights outside are set to zero.

    Raises:
        ValueError: unless 0 < kept_share <= 1.

    Source: S. Han et al., "Learning both weights and connections for efficient neural networks", NeurIPS 2015.
    """
    if not 0 < kept_share <= 1:
        raise ValueError(f"kept_share must be more than 0 and at most 1, got {kept_share}")
    masks = {}
    for parameter in module.parameters():
        if parameter.dim() > 1 and parameter.numel():
            kept = parameter.detach().abs().flatten().topk(max(1, round(kept_share * parameter.numel()))).indices
            mask = torch.zeros(parameter.numel(), dtype=torch.bool, device=parameter.device)
            mask[kept] = True
            masks[parameter] = mask.view_as(parameter)
            parameter.data.masked_fill_(~masks[parameter], 0)
    return masks


class MaskedAllReduce:
    """An `all_reduce` for `DataParallel`: only gradients of weights that are kept travel, and only they remain.

    Places need not travel, for all ranks have the same masks.
    """

    def __init__(
        self, masks: Mapping[nn.Parameter, torch.Tensor], all_reduce: Callable[..., None] = ring_all_reduce
    ) -> None:
        self.masks, self.all_reduce = masks, all_reduce

    def __call__(self, comm: Communicator, row: torch.Tensor) -> None:
        """Leave in the row the sums where a mask is True or there is none, and zeros."""
        flat, kept = row.detach().view(-1), torch.ones(row.numel(), dtype=torch.bool, device=row.device)
        for gradient in gradients_in(row, self.masks):
            begin = (gradient.data_ptr() - row.data_ptr()) // row.element_size()
            mask = next(mask for parameter, mask in self.masks.items() if _same(parameter.grad, gradient))
            kept[begin : begin + gradient.numel()] = mask.flatten()
        values = numbered(flat[kept], number_of(row))
        self.all_reduce(comm, values)
        flat.zero_()
        flat[kept] = values


def prune_neurons(first: nn.Linear, second: nn.Linear, kept: int) -> tuple[nn.Linear, nn.Linear]:
    """Two smaller layers: the `kept` hidden neurons whose weights to both sides have the largest product of norms.

    The result is dense, so it is faster on any machine, and all that is sent is smaller.

    Raises:
        ValueError: unless 1 <= kept <= the hidden neurons, and the second layer takes what the first gives.

    >>> [tuple(layer.weight.shape) for layer in prune_neurons(nn.Linear(64, 32), nn.Linear(32, 10), kept=8)]
    [(8, 64), (10, 8)]
    """
    if first.out_features != second.in_features:
        raise ValueError(f"layers must fit, got {first.out_features} outputs and {second.in_features} inputs")
    if not 1 <= kept <= first.out_features:
        raise ValueError(f"kept must be from 1 to {first.out_features}, got {kept}")
    weight = first.weight.detach().norm(dim=1) * second.weight.detach().norm(dim=0)
    chosen = weight.topk(kept).indices.sort().values
    smaller = (
        nn.Linear(first.in_features, kept, bias=first.bias is not None).to(first.weight.device),
        nn.Linear(kept, second.out_features, bias=second.bias is not None).to(second.weight.device),
    )
    smaller[0].weight.data, smaller[1].weight.data = first.weight.detach()[chosen], second.weight.detach()[:, chosen]
    if first.bias is not None:
        smaller[0].bias.data = first.bias.detach()[chosen]
    if second.bias is not None:
        smaller[1].bias.data = second.bias.detach().clone()
    return smaller


def _same(gradient: torch.Tensor | None, other: torch.Tensor) -> bool:
    return gradient is not None and gradient.data_ptr() == other.data_ptr()
