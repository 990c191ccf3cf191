"""A small GPT: a decoder that reads tokens and gives, at each place, a score for every token that could come next.

tokens ─ embedding + position ─▶ x ─ block ─ block ─ … ─ norm ─ output ─▶ logits
block    x + attention(norm(x))  ─▶  x + mlp(norm(x))

Shapes: b sequences of t tokens, width d, h heads, v tokens in the vocabulary.

Source: A. Radford et al., "Language models are unsupervised multitask learners", 2019 (GPT-2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class GPTConfig:
    """The sizes of a GPT.

    Args:
        vocabulary: tokens that there are; 256: bytes.
        context: tokens that a sequence has at most.
        width: numbers that stand for a token between the layers.
        heads: parts of the width that attend by themselves.
        tied: the output uses the embedding's weights, in place of its own.

    Raises:
        ValueError: unless the heads divide the width.

    >>> GPTConfig().parameters, GPTConfig(tied=False).parameters
    (120576, 136960)
    """

    vocabulary: int = 256
    context: int = 64
    layers: int = 2
    width: int = 64
    heads: int = 4
    tied: bool = True

    def __post_init__(self) -> None:
        if self.heads < 1 or self.width % self.heads:
            raise ValueError(f"heads must divide the width, got {self.heads} heads and width {self.width}")

    @property
    def parameters(self) -> int:
        """How many numbers are trained: embeddings, 12 d² + 13 d in each block, the last norm, an output of its own."""
        embeddings = (self.vocabulary + self.context) * self.width
        block = 12 * self.width**2 + 13 * self.width
        output = 0 if self.tied else self.vocabulary * self.width
        return embeddings + self.layers * block + 2 * self.width + output


class GPT(nn.Module):
    """The model; the same weights for the same seed, on every rank.

    >>> GPT(GPTConfig())(torch.zeros(2, 7, dtype=torch.int64)).shape
    torch.Size([2, 7, 256])
    """

    def __init__(self, config: GPTConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)  # the processor's: an accelerator's numbers go on
            self.embedding = nn.Embedding(config.vocabulary, config.width)
            self.position = nn.Embedding(config.context, config.width)
            self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
            self.norm = nn.LayerNorm(config.width)
            self.output = nn.Linear(config.width, config.vocabulary, bias=False)
            self.apply(_initialize)
        if config.tied:
            self.output.weight = self.embedding.weight

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:  # [b, t] -> [b, t, d]
        """What goes into the first block.

        Raises:
            ValueError: if the sequences are longer than the context.
        """
        length = tokens.shape[1]
        if length > self.config.context:
            raise ValueError(f"sequences must have at most context = {self.config.context} tokens, got {length}")
        return self.embedding(tokens) + self.position(torch.arange(length, device=tokens.device))

    def score(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, d] -> [b, t, v]
        """The logits from what comes out of the last block."""
        return self.output(self.norm(x))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:  # [b, t] -> [b, t, v]
        """The logits of each next token."""
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.score(x)


class Block(nn.Module):
    """Attention, which mixes places, and a network of one hidden layer, which looks at each place by itself."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        d = config.width
        self.attention_norm = nn.LayerNorm(d)
        self.attention = Attention(config)
        self.mlp_norm = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, d] -> [b, t, d]
        """Add to x what both make of it."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Attention(nn.Module):
    """Causal self-attention: each place takes a mean of the values at its own place and those before it."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.queries_keys_values = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, d] -> [b, t, d]
        """The means of all heads, side by side, mixed by one more layer."""
        parts = self.queries_keys_values(x).unflatten(2, (3, self.heads, -1))
        q, k, v = parts.permute(2, 0, 3, 1, 4)  # [b, h, t, d/h] each
        t, size = q.shape[2:]
        scores = q @ k.transpose(2, 3) / math.sqrt(size)  # [b, h, t, t]
        later = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(later, -torch.inf).softmax(3)
        heads = weights @ v  # [b, h, t, d/h]
        return self.output(heads.transpose(1, 2).flatten(2))


def next_token_loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The mean cross-entropy over all places: [b, t, v], [b, t] -> []. Knowing nothing it is ln v."""
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def _initialize(module: nn.Module) -> None:
    """Small weights, so that a token's own embedding does not decide the first scores; biases 0."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
