"""A small LSTM language model: it reads tokens one by one, keeps a state, and scores every token that could come next.

tokens ─ embedding ─▶ x ─ layer ─ layer ─ … ─ output ─▶ logits
layer    i, f, g, o from x and h;  c ← σ(f) c + σ(i) tanh(g);  h ← P (σ(o) tanh(c)), one token after the other

Shapes: b sequences of t tokens, width d, n cells in a layer, v tokens in the vocabulary. The projection P, from n cells
to a width of d < n, is what lets a layer have many cells: bigLSTM has 8,192 of them and a width of 1,024.

Source: R. Jozefowicz et al., "Exploring the limits of language modeling", arXiv 1602.02410, 2016 (bigLSTM); the
projection: H. Sak, A. Senior and F. Beaufays, "Long short-term memory based recurrent neural network architectures for
large vocabulary speech recognition", arXiv 1402.1128, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class LSTMConfig:
    """The sizes of an LSTM language model.

    Args:
        vocabulary: tokens that there are; 256: bytes.
        width: numbers that stand for a token between the layers.
        cells: what each layer remembers.

    Raises:
        ValueError: unless every size is at least 1.

    >>> LSTMConfig().parameters
    91392
    """

    vocabulary: int = 256
    layers: int = 2
    width: int = 32
    cells: int = 128

    def __post_init__(self) -> None:
        if min(self.vocabulary, self.layers, self.width, self.cells) < 1:
            raise ValueError(f"every size must be at least 1, got {self}")

    @property
    def parameters(self) -> int:
        """How many numbers are trained: embedding, 9 n d + 4 n in each layer, output with a bias."""
        d, n = self.width, self.cells
        return self.vocabulary * d + self.layers * (9 * n * d + 4 * n) + self.vocabulary * (d + 1)


class LanguageLSTM(nn.Module):
    """The model; the same weights for the same seed, on every rank. Each sequence begins with a state of zeros.

    >>> LanguageLSTM(LSTMConfig())(torch.zeros(2, 7, dtype=torch.int64)).shape
    torch.Size([2, 7, 256])
    """

    def __init__(self, config: LSTMConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)  # the processor's: an accelerator's numbers go on
            self.embedding = nn.Embedding(config.vocabulary, config.width)
            self.layers = nn.ModuleList(LSTMLayer(config.width, config.cells) for _ in range(config.layers))
            self.output = nn.Linear(config.width, config.vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:  # [b, t] -> [b, t, v]
        """The logits of each next token."""
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output(x)


class LSTMLayer(nn.Module):
    """One layer: four gates from the input and from what the layer said last, and a projection of its cells."""

    def __init__(self, width: int, cells: int) -> None:
        super().__init__()
        self.input_gates = nn.Linear(width, 4 * cells)
        self.state_gates = nn.Linear(width, 4 * cells, bias=False)
        self.projection = nn.Linear(cells, width, bias=False)
        with torch.no_grad():
            self.input_gates.bias[cells : 2 * cells] = 1  # remember at first

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, d] -> [b, t, d]
        """What the layer says after each token; the input's part of the gates needs no state, so it is one product."""
        from_inputs = self.input_gates(x)
        said = x.new_zeros(len(x), x.shape[2])
        cells = x.new_zeros(len(x), self.projection.in_features)
        outputs = []
        for from_input in from_inputs.unbind(1):
            i, f, g, o = (from_input + self.state_gates(said)).chunk(4, dim=1)
            cells = f.sigmoid() * cells + i.sigmoid() * g.tanh()
            said = self.projection(o.sigmoid() * cells.tanh())
            outputs.append(said)
        return torch.stack(outputs, dim=1)
