"""Plans: a transformer's shape, the devices and links of a cluster, and how the model lies on the cluster.

s tokens of a sequence, b sequences, h numbers a token, l layers, a heads, V tokens of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from course_lib.comm import Link
from course_lib.comm.presets import INFINIBAND_HDR, INFINIBAND_NDR, NVLINK_A100, NVLINK_H100
from course_lib.mesh.coordinates import Mesh

RECOMPUTE = ("none", "selective", "full")


@dataclass(frozen=True)
class TransformerShape:
    """Sizes of a decoder-only transformer.

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


_DATA_OUTERMOST = ("data", "pipeline", "context", "tensor")


@dataclass(frozen=True)
class Cluster:
    """Equal devices in equal nodes, each with a network port of its own.

    Attributes:
        flops_per_s: peak of one device, dense 16-bit. memory_bytes: of one device.
        memory_bytes_per_s: between a device and its own memory.
        inside, outside: links of one device within and between nodes.
        matrix_efficiency: the share of the peak that matrix products reach; the one number that is fitted
            (`fit_matrix_efficiency`, to the ten rows of NARAYANAN_2021).
        attention_slower: by which factor attention's products are slower than all others, such as 2 where those alone
            are done in 8 bits.
    """

    flops_per_s: float
    memory_bytes: float
    memory_bytes_per_s: float
    inside: Link
    outside: Link
    devices_per_node: int = 8
    matrix_efficiency: float = 0.63
    attention_slower: float = 1.0

    def but(self, **changes: Any) -> Cluster:
        """The same with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Plan:
    """Where the model lies, and how a step goes.

    Args:
        micro_batch: sequences. chunks: stages a pipeline rank has (interleaved schedule).
        recompute: one of RECOMPUTE. zero: ZeRO's stage over the copies, 0 to 3; 3 is FSDP.
        sequence_parallel: the tensor dimension cuts norms and dropout along the sequence.
        context: ranks that a sequence is cut over; they share parameters as data ranks do.
        expert: over so many of the copies (data and context ranks) the experts of a layer are dealt out.
        shards: over so many copies side by side ZeRO cuts, and those groups are copies (HSDP); 0: over all.

    Raises:
        ValueError: if a number is less than 1 or not whole, recompute or zero is none of these, or expert or shards do
            not divide the copies.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    micro_batch: int = 1
    chunks: int = 1
    recompute: str = "full"
    zero: int = 0
    sequence_parallel: bool = False
    context: int = 1
    expert: int = 1
    shards: int = 0

    def __post_init__(self) -> None:
        names = ("tensor", "pipeline", "data", "micro_batch", "chunks", "context", "expert")
        numbers = tuple(getattr(self, name) for name in names)
        if not all(number >= 1 and number == int(number) for number in numbers):
            raise ValueError(f"{', '.join(names)} must be 1 or more, got {numbers}")
        if self.copies % self.expert:
            raise ValueError(f"expert must divide data × context = {self.copies}, got {self.expert}")
        if self.recompute not in RECOMPUTE or self.zero not in (0, 1, 2, 3):
            raise ValueError(f"recompute must be one of {RECOMPUTE}, zero 0 to 3, got {self.recompute!r}, {self.zero}")
        if self.shards < 0 or self.copies % self.sharded_over:
            raise ValueError(f"shards must divide data × context = {self.copies}, got {self.shards}")

    @property
    def devices(self) -> int:
        """How many it needs."""
        return self.tensor * self.context * self.pipeline * self.data

    @property
    def copies(self) -> int:
        """Ranks that hold the same part of the model, but for its experts."""
        return self.data * self.context

    @property
    def sharded_over(self) -> int:
        """Of these copies, over how many ZeRO cuts."""
        return self.shards or self.copies

    @property
    def mesh(self) -> Mesh:
        """The mesh, tensor innermost, then context; with experts pipeline is outermost, so that copies are near."""
        order = ("pipeline", "data", "context", "tensor") if self.expert > 1 else _DATA_OUTERMOST
        return Mesh(self.data, self.pipeline, self.tensor, order, self.context)

    def expert_group(self, rank: int) -> tuple[int, ...]:
        """The ranks over which the experts of this rank's layers are dealt: of its copies those that are next to it.

        >>> Plan(tensor=2, data=2, context=2, expert=2).expert_group(7)
        (5, 7)
        """
        copies = self.mesh.group_of(rank, "data", "context")
        first = copies.index(rank) // self.expert * self.expert
        return copies[first : first + self.expert]

    def micro_batches(self, batch: int) -> int:
        """How many a data rank takes through its pipeline in a step.

        Raises:
            ValueError: unless data ranks and micro-batches divide the batch.
        """
        if batch % (self.data * self.micro_batch):
            raise ValueError(f"{self.data} data ranks with micro-batches of {self.micro_batch} must divide {batch}")
        return batch // (self.data * self.micro_batch)


# Peak and memory: NVIDIA's data sheets of the A100 and the H100 (SXM, 80 GB); links: course_lib.comm.presets.
A100_CLUSTER = Cluster(312e12, 80e9, 2.039e12, NVLINK_A100, INFINIBAND_HDR)
H100_CLUSTER = Cluster(989e12, 80e9, 3.35e12, NVLINK_H100, INFINIBAND_NDR)
