"""FP8: numbers of 8 bits with a scale for each tensor or block, from this step or the last ones (delayed); 8-bit Adam.

Source: P. Micikevicius et al., "FP8 formats for deep learning", arXiv 2209.05433, 2022: e4m3 for weights and
activations, e5m2 for gradients; sums are in fp32. Scales of 8 bits: Open Compute Project, "OCP Microscaling Formats
(MX) specification", 2023.

Delayed scaling:

current    tensor ─▶ read it all: the largest ─▶ read it again: scale, round ─▶ 8 bits
delayed    tensor ─▶ read it once: scale, round ─▶ 8 bits
                         ▲               └─▶ its largest, for the steps to come
             the largest of the last steps

Source: NVIDIA Transformer Engine, recipe `DelayedScaling` (there 1,024 steps, if nothing else is said).

8-bit Adam:

    e4m3      m, √v of a block ── times its scale ─▶ fp32 ── Adam's step ─▶ m, v ── new scale ─▶ e4m3

Source: T. Dettmers, M. Lewis, S. Shleifer and L. Zettlemoyer, "8-bit optimizers via block-wise quantization", arXiv
2110.02861, 2021. Theirs is a code of its own with 256 values; ours is e4m3, and v is kept as its root.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import pad


class Scaled(NamedTuple):
    """A tensor in 8 bits: its numbers are `values` divided by `scale`."""

    values: torch.Tensor
    scale: torch.Tensor

    def widened(self) -> torch.Tensor:
        """The numbers in fp32."""
        return self.values.float() / self.scale


def in_fp8(
    tensor: torch.Tensor, dtype: torch.dtype = torch.float8_e4m3fn, largest: torch.Tensor | None = None
) -> Scaled:
    """The tensor, scaled by a power of two so that its largest magnitude fits just so, rounded to 8 bits.

    Args:
        largest: the magnitude that fits just so, in place of the tensor's own; what is larger is cut off.

    >>> in_fp8(torch.tensor([1e-6, -3e-6])).widened()
    tensor([ 9.5367e-07, -3.0994e-06])
    """
    largest = magnitude(tensor) if largest is None else largest
    largest = largest.clamp(min=2.0**-110)  # else the scale of zeros would be infinite
    limit = torch.finfo(dtype).max
    scale = torch.exp2((limit / largest).log2().floor())
    return Scaled((tensor * scale).clamp(-limit, limit).to(dtype), scale)


def magnitude(tensor: torch.Tensor) -> torch.Tensor:
    """The largest magnitude there is, 0 where there is none."""
    return tensor.detach().abs().max() if tensor.numel() else tensor.new_zeros(())


# From what a block would have to be divided by, so that its largest number just fits, to what it is divided by. All but
# the first give powers of two, which is what the 8 bits of e8m0 can say.
SCALE_RULES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "fp32": lambda divisor: divisor,
    "e8m0, up": lambda divisor: torch.exp2(divisor.log2().ceil()),
    "e8m0, nearest": lambda divisor: torch.exp2(divisor.log2().round()),
    "e8m0, OCP": lambda divisor: torch.exp2((divisor * 1.75).log2().floor()),  # 448 is 1.75 * 2^8
}


def in_fp8_blocks(
    tensor: torch.Tensor, block: tuple[int, int], rule: str = "e8m0, up", dtype: torch.dtype = torch.float8_e4m3fn
) -> Scaled:  # [m, n] -> values [m, n], scale [m, n]
    """The matrix in 8 bits, with a scale for each block of so many rows and columns; the last ones may be smaller.

    (1, 32) with scales in e8m0 is MXFP8; (1, 128) for activations and (128, 128) for weights, in fp32, is DeepSeek-V3.

    Args:
        rule: one of SCALE_RULES. What is too large after scaling becomes the format's largest number.

    Raises:
        ValueError: unless it is a matrix, a block has a row and a column, and there is a rule of that name.

    >>> in_fp8_blocks(torch.tensor([[1.0, 3.0, 1e-6, 3e-6]]), (1, 2)).scale
    tensor([[1.2800e+02, 1.2800e+02, 1.3422e+08, 1.3422e+08]])
    """
    if tensor.ndim != 2 or min(block, default=0) < 1 or rule not in SCALE_RULES:
        raise ValueError(f"got {tensor.ndim} dimensions, blocks of {block} and rule {rule!r} (one of {[*SCALE_RULES]})")
    (m, n), (rows, columns) = tensor.shape, block
    whole = pad(tensor, (0, -n % columns, 0, -m % rows)).reshape(-(-m // rows), rows, -(-n // columns), columns)
    largest = whole.abs().amax((1, 3)).clamp(min=2.0**-110)
    scale = 1 / SCALE_RULES[rule](largest / torch.finfo(dtype).max)
    scale = scale.repeat_interleave(rows, 0).repeat_interleave(columns, 1)[:m, :n]
    limit = torch.finfo(dtype).max
    return Scaled((tensor * scale).clamp(-limit, limit).to(dtype), scale)


_Rounding = Callable[..., Scaled]  # (tensor, dtype)


class _Product(torch.autograd.Function):
    """x Wᵀ of 8-bit factors, and both products of its backward pass with an 8-bit gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, scaled: Sequence[_Rounding]) -> torch.Tensor:
        small_x, small_weight = scaled[0](x), scaled[1](weight)
        ctx.save_for_backward(*small_x, *small_weight)
        ctx.scaled = scaled[2]
        return small_x.widened() @ small_weight.widened().T

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        saved = ctx.saved_tensors
        x, weight = Scaled(*saved[:2]).widened(), Scaled(*saved[2:]).widened()
        small = ctx.scaled(gradient, torch.float8_e5m2).widened()
        outputs, inputs = weight.shape
        return small @ weight, small.reshape(-1, outputs).T @ x.reshape(-1, inputs), None


class Fp8Linear(nn.Linear):
    """A fully connected layer whose three products have factors of 8 bits (emulated: multiplied in fp32).

    Attributes:
        scaled: what puts the input, the weight and the gradient into 8 bits, each `in_fp8` at first.
    """

    scaled: Sequence[_Rounding] = (in_fp8, in_fp8, in_fp8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [..., n] -> [..., m]
        """x Wᵀ + b, b where there is one."""
        product = _Product.apply(x, self.weight, self.scaled)
        return product if self.bias is None else product + self.bias


class DelayedScale:
    """`in_fp8` for the same tensor of each step, by the largest magnitude of the last steps.

    The first tensor has no step before it, and goes by its own. A magnitude that is no finite number is not remembered.

    Raises:
        ValueError: unless it remembers a step or more.

    >>> scaled, usual = DelayedScale(history=2), torch.tensor([1.0])
    >>> [scaled(x).widened().item() for x in (usual, 900 * usual, usual)]  # the second is cut off
    [1.0, 1.75, 1.0]
    """

    def __init__(self, history: int = 16) -> None:
        if history < 1:
            raise ValueError(f"a scale must remember 1 step or more, got {history}")
        self.magnitudes: deque[torch.Tensor] = deque(maxlen=history)

    def __call__(self, tensor: torch.Tensor, dtype: torch.dtype = torch.float8_e4m3fn) -> Scaled:
        largest = max(self.magnitudes, default=None)
        own = magnitude(tensor)
        if own.isfinite():
            self.magnitudes.append(own)
        return in_fp8(tensor, dtype, largest)


class Adam8bit(torch.optim.Optimizer):
    """Adam with states of 8 bits: 2 + 8 / block bytes a parameter in place of 8.

    Args:
        block: numbers in a row that share a scale of fp32; None: all of a parameter's share one.
        root: keep √v, which has half of v's powers of two. Without it small v become 0 beside large ones, and what is
            divided by their root is far too large.

    Raises:
        ValueError: unless a block has a number or more.
    """

    def __init__(
        self,
        params: Iterable[torch.Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        *,
        block: int | None = 256,
        root: bool = True,
    ) -> None:
        if block is not None and block < 1:
            raise ValueError(f"a block must have 1 number or more, or be None, got {block}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})
        self.block, self.root = block, root

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter that has a gradient; what `closure` gives, which is called before, if there is one."""
        with torch.enable_grad():
            loss = closure() if closure else None
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and parameter.numel():
                    self._change(parameter, group)
        return loss

    def _change(self, parameter: torch.Tensor, group: dict[str, Any]) -> None:
        gradient, (beta1, beta2) = parameter.grad, group["betas"]
        self.state[parameter]["step"] = steps = self.state[parameter].get("step", 0) + 1
        m = self._widened("m", parameter).lerp(gradient, 1 - beta1)
        v = self._widened("v", parameter)
        v = (v * v if self.root else v).lerp(gradient * gradient, 1 - beta2)
        self._round("m", parameter, m)
        self._round("v", parameter, v.sqrt() if self.root else v)
        parameter -= group["lr"] * (m / (1 - beta1**steps)) / ((v / (1 - beta2**steps)).sqrt() + group["eps"])

    def _widened(self, name: str, parameter: torch.Tensor) -> torch.Tensor:
        state = self.state[parameter]
        if name not in state:
            return torch.zeros_like(parameter)
        widened = Scaled(state[name], state[f"scale of {name}"]).widened()
        return widened.flatten()[: parameter.numel()].view_as(parameter)

    def _round(self, name: str, parameter: torch.Tensor, values: torch.Tensor) -> None:
        block = self.block or values.numel()
        rows = pad(values.flatten(), (0, -values.numel() % block)).view(-1, block)
        small = in_fp8_blocks(rows, (1, block), "fp32")
        self.state[parameter][name] = small.values
        self.state[parameter][f"scale of {name}"] = small.scale[:, :1].clone()
