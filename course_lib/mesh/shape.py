"""A transformer as the cost models see it: its parameters and the work of a step.

s tokens of a sequence, b sequences, h numbers a token, l layers, a heads, V tokens of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RECOMPUTE", "TransformerShape"]

RECOMPUTE = ("none", "selective", "full")


@dataclass(frozen=True)
class TransformerShape:
    """The sizes of a decoder.

    Args:
        key_value_heads: fewer than heads where several share keys and values; None: as many.
        mlp_hidden: width of the hidden layer; None: 4 h. gated: it has three matrices in place of two.
        tied: the output uses the embedding's weights.
        fused_attention: scores never reach the memory, and those of later places, half of them, are not computed.

    >>> gpt = TransformerShape(layers=96, hidden=12288, heads=96)
    >>> f"{gpt.parameters / 1e9:.1f} B"
    '174.6 B'
    """

    layers: int
    hidden: int
    heads: int
    vocabulary: int = 51_200
    sequence: int = 2_048
    key_value_heads: int | None = None
    mlp_hidden: int | None = None
    gated: bool = False
    tied: bool = True
    fused_attention: bool = False

    @property
    def matrix_parameters(self) -> float:
        """Weights of a layer's matrices; 12 h² in a GPT."""
        h = self.hidden
        shared = (self.key_value_heads or self.heads) / self.heads
        mlp = (3 if self.gated else 2) * h * (self.mlp_hidden or 4 * h)
        return 2 * h**2 + 2 * h**2 * shared + mlp

    @property
    def layer_parameters(self) -> float:
        """All of a layer: 13 h more for biases and norms."""
        return self.matrix_parameters + 13 * self.hidden

    @property
    def embedding_parameters(self) -> float:
        """One copy of the embedding."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> float:
        """All of them, with one position embedding a token of a sequence: 12 l h² + 13 l h + (V + s) h in a GPT.

        Source: Narayanan et al., arXiv 2104.04473, equation 2.
        """
        ends = (1 if self.tied else 2) * self.embedding_parameters + self.sequence * self.hidden
        return self.layers * self.layer_parameters + ends

    def layer_flops(self, sequences: float) -> float:
        """One layer forward: 2 for each weight and token, and 4 b s² h for attention; 24 b s h² + 4 b s² h in a GPT."""
        return 2 * sequences * self.sequence * self.matrix_parameters + self.attention_flops(sequences)

    def attention_flops(self, sequences: float) -> float:
        """Of these the scores and the weighted values, which selective recomputation does again."""
        return (2 if self.fused_attention else 4) * sequences * self.sequence**2 * self.hidden

    def flops(self, sequences: float, recompute: str = "none") -> float:
        """Floating-point operations of a step; backward is twice forward.

        "none" counts those of the model. With "full" the layers go forward twice: 96 b s l h² (1 + s/6h + V/16lh).

        Raises:
            ValueError: unless `recompute` is one of RECOMPUTE.

        Source: Narayanan et al., arXiv 2104.04473, appendix; Korthikanti et al., arXiv 2205.05198, appendix A.
        """
        if recompute not in RECOMPUTE:
            raise ValueError(f"recompute must be one of {RECOMPUTE}, got {recompute!r}")
        again = {"none": 0.0, "selective": self.attention_flops(sequences), "full": self.layer_flops(sequences)}
        logits = 2 * sequences * self.sequence * self.embedding_parameters
        return self.layers * (3 * self.layer_flops(sequences) + again[recompute]) + 3 * logits
