"""Eight bits, with a scale for each tensor: the largest number of the tensor becomes the format's largest.

Source: P. Micikevicius et al., "FP8 formats for deep learning", arXiv 2209.05433, 2022: e4m3 for weights and
activations, e5m2 for gradients; sums are in fp32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

__all__ = ["Fp8Linear", "Scaled", "in_fp8"]


class Scaled(NamedTuple):
    """A tensor in 8 bits: its numbers are `values` divided by `scale`."""

    values: torch.Tensor
    scale: torch.Tensor

    def widened(self) -> torch.Tensor:
        """The numbers in fp32."""
        return self.values.float() / self.scale


def in_fp8(tensor: torch.Tensor, dtype: torch.dtype = torch.float8_e4m3fn) -> Scaled:
    """The tensor, scaled by a power of two so that its largest magnitude fits just so, rounded to 8 bits.

    >>> in_fp8(torch.tensor([1e-6, -3e-6])).widened()
    tensor([ 9.5367e-07, -3.0994e-06])
    """
    largest = tensor.abs().max() if tensor.numel() else tensor.new_zeros(())
    largest = largest.clamp(min=2.0**-110)  # else the scale of zeros would be infinite
    scale = torch.exp2((torch.finfo(dtype).max / largest).log2().floor())
    return Scaled((tensor * scale).to(dtype), scale)


class _Product(torch.autograd.Function):
    """x Wᵀ of 8-bit factors, and both products of its backward pass with an 8-bit gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        small_x, small_weight = in_fp8(x), in_fp8(weight)
        ctx.save_for_backward(*small_x, *small_weight)
        return small_x.widened() @ small_weight.widened().T

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        saved = ctx.saved_tensors
        x, weight = Scaled(*saved[:2]).widened(), Scaled(*saved[2:]).widened()
        small = in_fp8(gradient, torch.float8_e5m2).widened()
        outputs, inputs = weight.shape
        return small @ weight, small.reshape(-1, outputs).T @ x.reshape(-1, inputs)


class Fp8Linear(nn.Linear):
    """A fully connected layer whose three products have factors of 8 bits (emulated: multiplied in fp32)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [..., n] -> [..., m]
        """x Wᵀ + b, b where there is one."""
        product = _Product.apply(x, self.weight)
        return product if self.bias is None else product + self.bias
