"""The exact parameter count of a decoder (grouped-query or latent attention, experts), in all and for one token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from course_lib.mesh import TransformerShape


class MlaSizes(NamedTuple):
    """Multi-head latent attention: ranks of queries (0: not compressed) and of keys, sizes of a head."""

    query_rank: int
    key_rank: int
    plain: int
    rotary: int
    value: int

    @property
    def key(self) -> int:
        """Numbers of one head's query, and of its key."""
        return self.plain + self.rotary


@dataclass(frozen=True)
class ModelShape(TransformerShape):
    """A published model; a layer of the cost models is the mean of its layers.

    Args:
        family: one of config.FAMILIES.
        head_dim: numbers of one head. mla: sizes of latent attention, in place of head_dim.
        attention_bias, mlp_bias: where a family lets one choose.
        expert_hidden: width of one expert. shared_hidden: of what every token meets beside its experts.
        dense_layers: layers that have one MLP in place of experts.
        predicting_layers: modules that predict further tokens; they are counted apart and not planned.
    """

    family: str = "llama"
    head_dim: int = 0
    mla: MlaSizes | None = None
    attention_bias: bool = False
    mlp_bias: bool = False
    expert_hidden: int = 0
    shared_hidden: int = 0
    dense_layers: int = 0
    predicting_layers: int = 0

    @property
    def key_width(self) -> int:
        """Numbers of a token's query, all heads."""
        return self.heads * (self.mla.key if self.mla else self.head_dim)

    @property
    def value_width(self) -> int:
        """Numbers that attention gives for a token, all heads."""
        return self.heads * (self.mla.value if self.mla else self.head_dim)

    @property
    def attention_matrices(self) -> int:
        """Weights of a layer's attention in matrices."""
        h = self.hidden
        if (mla := self.mla) is None:
            shared = 2 * (self.key_value_heads or self.heads) * self.head_dim
            return h * (2 * self.key_width + shared)
        query = mla.query_rank * (h + self.key_width) if mla.query_rank else h * self.key_width
        keys = h * (mla.key_rank + mla.rotary) + mla.key_rank * self.heads * (mla.plain + mla.value)
        return query + keys + h * self.value_width

    @property
    def attention_vectors(self) -> int:
        """Its biases and norms."""
        if (mla := self.mla) is not None:
            biases = (mla.query_rank + mla.key_rank + mla.rotary + self.hidden) if self.attention_bias else 0
            return biases + mla.query_rank + mla.key_rank
        shared = 2 * (self.key_value_heads or self.heads) * self.head_dim
        norms = 2 * self.head_dim if self.family.startswith("qwen3") else 0
        if self.family.startswith("qwen2"):  # these always have biases of queries, keys and values
            return norms + self.key_width + shared
        biases = self.key_width + shared + self.hidden if self.attention_bias else 0
        return norms + biases

    def mlp_parameters(self, width: int) -> int:
        """Three matrices, and biases where the family has them."""
        return 3 * self.hidden * width + (2 * width + self.hidden if self.mlp_bias else 0)

    @property
    def sparse_layers(self) -> int:
        """Layers that have experts."""
        return self.layers - self.dense_layers if self.experts > 1 else 0

    @property
    def router_parameters(self) -> int:
        """A layer's choice of experts: a row each; DeepSeek's bias of each; the gate of Qwen2's shared expert."""
        extra = {"deepseek_v3": self.experts, "qwen2_moe": self.hidden}.get(self.family, 0)
        return self.experts * self.hidden + extra

    @property
    def sparse_mlp_parameters(self) -> int:
        """All experts of one layer, the shared ones, and their router."""
        shared = self.mlp_parameters(self.shared_hidden) if self.shared_hidden else 0
        return self.router_parameters + shared + self.experts * self.mlp_parameters(self.expert_hidden)

    @property
    def attention_parameters(self) -> int:
        """Of a layer, with its two norms."""
        return self.attention_matrices + self.attention_vectors + 2 * self.hidden

    @property
    def count(self) -> int:
        """All parameters: what `model.parameters()` has, tied ones once."""
        plain = self.layers - self.sparse_layers
        mlps = plain * self.mlp_parameters(self.mlp_hidden or 0) + self.sparse_layers * self.sparse_mlp_parameters
        ends = (1 if self.tied else 2) * self.vocabulary * self.hidden + self.hidden
        return ends + self.layers * self.attention_parameters + mlps

    @property
    def active_count(self) -> int:
        """Those that one token meets."""
        return self.count - self.sparse_layers * (self.experts - self.active) * self.mlp_parameters(self.expert_hidden)

    @property
    def predicting_count(self) -> int:
        """Parameters of the modules that predict further tokens: a layer, three norms, one projection of two rows."""
        layer = self.attention_parameters + self.sparse_mlp_parameters
        return self.predicting_layers * (layer + 3 * self.hidden + 2 * self.hidden**2)

    # What the cost models of course_lib.mesh ask of a shape: the mean of its layers.

    @property
    def parameters(self) -> float:
        """All of them; no position embedding is learned."""
        return self.count

    @property
    def active_parameters(self) -> float:
        """Those that a token meets."""
        return self.active_count

    @property
    def expert_parameters(self) -> float:
        """Of one expert, or of the only MLP."""
        if self.experts == 1:
            return self.mlp_parameters(self.mlp_hidden or 0)
        return self.sparse_layers / self.layers * self.mlp_parameters(self.expert_hidden)

    @property
    def dense_parameters(self) -> float:
        """All of a layer but its experts."""
        mlps = 0.0
        if self.experts > 1:
            always = self.sparse_mlp_parameters - self.experts * self.mlp_parameters(self.expert_hidden)
            mlps = self.dense_layers * self.mlp_parameters(self.mlp_hidden or 0) + self.sparse_layers * always
        return self.attention_parameters + mlps / self.layers

    @property
    def matrix_parameters(self) -> float:
        """What a token meets of a layer; the few vectors among them are counted, too."""
        return self.dense_parameters + self.active * self.expert_parameters

    def attention_flops(self, sequences: float) -> float:
        """Scores and weighted values forward, of a causal mask half."""
        return sequences * self.sequence**2 * (self.key_width + self.value_width)

    @property
    def norms_kept(self) -> float:
        """Inputs of two norms, and what these give; none of the families has dropout."""
        return 8

    @property
    def attention_kept(self) -> float:
        """Bytes for each token and number of h: queries, keys, values, and what attention gives."""
        if self.mla:
            return 2 * (2 * self.key_width + 2 * self.value_width) / self.hidden
        shared = 2 * (self.key_value_heads or self.heads) * self.head_dim
        return 2 * (2 * self.key_width + shared) / self.hidden

    @property
    def mlp_kept(self) -> float:
        """The same of the MLPs that a token meets: gate, other half and their product."""
        if self.experts == 1:
            return 6 * (self.mlp_hidden or 0) / self.hidden
        sparse = self.sparse_layers * (self.active * self.expert_hidden + self.shared_hidden)
        return 6 * (sparse + self.dense_layers * (self.mlp_hidden or 0)) / self.layers / self.hidden
