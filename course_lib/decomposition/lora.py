"""LoRA and QLoRA: a frozen weight, in 4 bits too, and two thin matrices beside it that learn what changes.

    ┌─▶ W, frozen ───────────────▶ + ─▶ y        W + B A has the size of W, B A is of rank r:
x ──┤                              ▲             r (inputs + outputs) numbers learn,
    └─▶ A [r, inputs] ─▶ B [outputs, r] ┘        and B begins at 0, so the first step changes nothing

weight ── its largest magnitude in 64 ─▶ scale (fp32)
       └─ divided by that: the nearest level ─▶ 4 bits, two of them in a byte

Source: T. Dettmers, A. Pagnoni, A. Holtzman and L. Zettlemoyer, "QLoRA: efficient finetuning of quantized LLMs", arXiv
2305.14314, 2023: the levels (NF4) lie where a normal distribution has its quantiles. Scales have 8 bits there.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import linear, pad

_OUTERMOST = 1 - (1 / 32 + 1 / 30) / 2  # of the quantiles: infinity would be no level
_ABOVE, _BELOW = (
    torch.special.ndtri(torch.linspace(_OUTERMOST, 0.5, count, dtype=torch.float64)[:-1]) for count in (9, 8)
)
LEVELS = (torch.cat([-_BELOW, _BELOW.new_zeros(1), _ABOVE.flip(0)]) / _ABOVE[0]).float()


class FourBitLinear(nn.Module):
    """A linear layer that does not learn, its weight in 4 bits and widened for each product.

    Attributes:
        codes, scales: what is stored, the first with two weights in a byte.

    Raises:
        ValueError: unless a block has a weight or more.

    >>> layer = FourBitLinear(nn.Linear(256, 240))
    >>> layer.weight_bytes, 4 * 256 * 240
    (34560, 245760)
    """

    codes: torch.Tensor
    scales: torch.Tensor

    def __init__(self, dense: nn.Linear, block: int = 64) -> None:
        """Round a layer's weight; the layer stays as it is."""
        super().__init__()
        if block < 1:
            raise ValueError(f"a block must have 1 weight or more, got {block}")
        self.block, (self.out_features, self.in_features) = block, dense.weight.shape
        weight = dense.weight.detach().float().flatten()
        rows = pad(weight, (0, -len(weight) % block)).view(-1, block)
        scales = rows.abs().amax(1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny)
        halfway = ((LEVELS[1:] + LEVELS[:-1]) / 2).to(rows.device)
        codes = torch.bucketize(rows / scales, halfway).flatten().to(torch.uint8)
        codes = pad(codes, (0, len(codes) % 2))
        self.register_buffer("codes", 16 * codes[::2] + codes[1::2])
        self.register_buffer("scales", scales)
        self.bias = None if dense.bias is None else nn.Parameter(dense.bias.detach().clone(), requires_grad=False)

    @property
    def weight(self) -> torch.Tensor:  # [out_features, in_features]
        """The weight, widened: made anew each time."""
        codes = torch.stack([self.codes // 16, self.codes % 16], 1).flatten()
        levels = LEVELS.to(codes.device)[codes.long()][: len(self.scales) * self.block]
        rows = levels.view(-1, self.block) * self.scales
        shape = self.out_features, self.in_features
        return rows.flatten()[: shape[0] * shape[1]].view(shape)

    @property
    def weight_bytes(self) -> int:
        """Bytes of the codes and the scales."""
        return self.codes.nbytes + self.scales.nbytes

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [..., in_features] -> [..., out_features]
        return linear(x, self.weight, self.bias)


class LoRALinear(nn.Module):
    """A linear layer whose weight is frozen, with two thin matrices beside it that learn.

    Only the thin matrices have gradients: only they cross the wire, and only they have an optimizer's state. Beside a
    `FourBitLinear` this is QLoRA.

    Source: E. J. Hu et al., "LoRA: low-rank adaptation of large language models", arXiv 2106.09685. Its factor
    alpha / r is 1 here.

    >>> layer = LoRALinear(nn.Linear(6, 4), rank=2)
    >>> [tuple(p.shape) for p in layer.parameters() if p.requires_grad]
    [(2, 6), (4, 2)]
    """

    def __init__(self, dense: nn.Linear | FourBitLinear, rank: int) -> None:
        """Freeze a layer and put the matrices beside it; the layer is not copied.

        Raises:
            ValueError: unless rank is from 1 to the shorter side of the weight.
        """
        super().__init__()
        outputs, inputs = dense.weight.shape
        if not 1 <= rank <= min(outputs, inputs):
            raise ValueError(f"rank must be from 1 to {min(outputs, inputs)}, got {rank}")
        self.dense = dense.requires_grad_(False)
        self.a = nn.Parameter(torch.empty(rank, inputs).uniform_(-1, 1).to(dense.weight) / inputs**0.5)
        self.b = nn.Parameter(torch.zeros(outputs, rank).to(dense.weight))

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [..., inputs] -> [..., outputs]
        return self.dense(x) + x @ self.a.T @ self.b.T

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """One layer that gives the same: after training, the thin matrices cost nothing."""
        layer = nn.Linear(self.dense.in_features, self.dense.out_features, bias=self.dense.bias is not None)
        layer = layer.to(self.dense.weight)
        layer.weight.copy_(self.dense.weight + self.b @ self.a)
        if self.dense.bias is not None:
            layer.bias.copy_(self.dense.bias)
        return layer
