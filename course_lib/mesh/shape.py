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
        experts: MLPs that a layer has in place of one. active: how many of them take a token.

    >>> gpt = TransformerShape(layers=96, hidden=12288, heads=96)
    >>> f"{gpt.parameters / 1e9:.1f} B"
    '174.6 B'
    >>> mixtral = TransformerShape(32, 4096, 32, 32_000, 4096, 8, 14_336, True, tied=False, experts=8, active=2)
    >>> f"{mixtral.parameters / 1e9:.1f} B, of which a token meets {mixtral.active_parameters / 1e9:.1f} B"
    '46.7 B, of which a token meets 12.9 B'
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
    experts: int = 1
    active: int = 1

    @property
    def expert_parameters(self) -> float:
        """Weights of an MLP, or of one expert; 8 h² in a GPT."""
        return (3 if self.gated else 2) * self.hidden * (self.mlp_hidden or 4 * self.hidden)

    @property
    def dense_parameters(self) -> float:
        """All of a layer but its MLPs: attention, 13 h for biases and norms, and a router if there are experts."""
        shared = (self.key_value_heads or self.heads) / self.heads
        router = self.experts if self.experts > 1 else 0
        return 2 * self.hidden**2 * (1 + shared) + (13 + router) * self.hidden

    @property
    def matrix_parameters(self) -> float:
        """Weights of a layer's matrices that a token meets; 12 h² in a GPT."""
        return self.dense_parameters - 13 * self.hidden + self.active * self.expert_parameters

    @property
    def norms_kept(self) -> float:
        """Bytes for each token and number of h of norms, dropout and their inputs, which all tensor ranks keep."""
        return 10

    @property
    def attention_kept(self) -> float:
        """Bytes of attention for each token and number of h that tensor ranks share, but for scores."""
        return 8

    @property
    def mlp_kept(self) -> float:
        """The same of MLPs, once for each expert that takes a token."""
        return 16 * self.active

    @property
    def layer_parameters(self) -> float:
        """All of a layer."""
        return self.dense_parameters + self.experts * self.expert_parameters

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

    @property
    def active_parameters(self) -> float:
        """Those that a token meets: all but the experts that others take."""
        return self.parameters - self.layers * (self.experts - self.active) * self.expert_parameters

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
