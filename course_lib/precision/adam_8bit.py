"""Adam whose two numbers of each parameter have 8 bits: widened, used, and rounded again in each step.

    e4m3      m, √v of a block ── times its scale ─▶ fp32 ── Adam's step ─▶ m, v ── new scale ─▶ e4m3

Source: T. Dettmers, M. Lewis, S. Shleifer and L. Zettlemoyer, "8-bit optimizers via block-wise quantization", arXiv
2110.02861, 2021. Theirs is a code of its own with 256 values; ours is e4m3, and v is kept as its root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.nn.functional import pad

from course_lib.precision.fp8 import Scaled, in_fp8_blocks

__all__ = ["Adam8bit"]


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
