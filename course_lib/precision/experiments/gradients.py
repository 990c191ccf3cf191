"""The digits' gradients as many ranks would have them, without the ranks."""

from __future__ import annotations

import torch
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from course_lib.tasks import digit_batches, digits_model


def gradients_of_ranks(ranks: int, batch_size: int = 8, seed: int = 1) -> torch.Tensor:  # [ranks, parameters]
    """Each rank's gradient of the network's first weights, of a batch of its own."""
    model = digits_model()

    def loss(parameters: dict[str, torch.Tensor], inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(functional_call(model, parameters, (inputs,)), labels)

    batches = [next(digit_batches(batch_size, rank=rank, seed=seed)) for rank in range(ranks)]
    inputs, labels = map(torch.stack, zip(*batches, strict=True))
    weights = {name: parameter.detach() for name, parameter in model.named_parameters()}
    found = vmap(grad(loss), in_dims=(None, 0, 0))(weights, inputs, labels)
    return torch.cat([gradient.flatten(1) for gradient in found.values()], 1)
