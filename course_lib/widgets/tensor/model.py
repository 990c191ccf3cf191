"""What the tensor explorer computes: memory, bytes and time of one step of a GPT on tensor × data ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from course_lib.tensor_parallel import MegatronModel, all_reduce_bytes, gpt_parameters, step_flops

__all__ = [
    "BLOCK",
    "HEADS",
    "IN_ORDER",
    "RANKS_PER_NODE",
    "RING_RANKS",
    "TENSOR_RANKS",
    "TOKENS",
    "ZIGZAG",
    "TensorSetting",
    "divisors",
    "efficiency_curve",
]

BLOCK, IN_ORDER = "a block, cut", "ring attention, in order"
ZIGZAG = "ring attention, zigzag"
TOKENS = 1024  # of a sequence
RANKS_PER_NODE = 8
RING_RANKS = 16  # at most: more have no room
TENSOR_RANKS = (1, 2, 4, 8, 16, 32, 64)
HEADS = (8, 12, 16, 20, 24, 32, 64, 96)
# Of a parameter: mixed precision with Adam (Rajbhandari et al., arXiv 1910.02054, section 3.1).
STATE_BYTES = {"parameters": 2, "gradients": 2, "optimizer states": 12}
ALL_REDUCES = 4  # in a layer: two forward, two backward


class TensorSetting(NamedTuple):
    """All that the controls say. `batch` is that of one copy of the model, in sequences of 1,024 tokens; `step`
    is one of ring attention."""

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    tensor: int
    data: int
    batch: int
    flops_per_s: float
    inside_bytes_per_s: float
    outside_bytes_per_s: float
    show: str = BLOCK
    step: int = 0

    @property
    def model(self) -> MegatronModel:
        """The model on so many tensor-parallel ranks; it has no published figures of its own."""
        return MegatronModel(self.hidden, self.layers, self.heads, self.tensor, 0.0, 0.0)

    @property
    def parameters(self) -> float:
        """Of the whole model."""
        return gpt_parameters(self.layers, self.hidden, self.vocabulary)

    @property
    def whole_bytes(self) -> dict[str, float]:
        """What the whole model takes, by what it is."""
        return {part: each * self.parameters for part, each in STATE_BYTES.items()}

    @property
    def state_bytes(self) -> float:
        """Parameters, gradients and optimizer states on one rank."""
        return sum(self.whole_bytes.values()) / self.tensor

    @property
    def inside(self) -> bool:
        """Whether a copy of the model fits into a node."""
        return self.tensor <= RANKS_PER_NODE

    @property
    def tensor_bytes(self) -> float:
        """What a rank sends inside its copy of the model: four all-reduces a layer."""
        return all_reduce_bytes(self.model, self.batch)

    @property
    def crossing_bytes(self) -> float:
        """What a rank sends in one of them."""
        return self.tensor_bytes / ALL_REDUCES / self.layers

    @property
    def data_bytes(self) -> float:
        """What a rank sends to the other copies: one all-reduce of its gradients."""
        return 2 * (self.data - 1) / self.data * self.whole_bytes["gradients"] / self.tensor

    @property
    def parts_s(self) -> dict[str, float]:
        """Seconds of a step; nothing overlaps. A copy that does not fit into a node uses the link outside."""
        return {
            "computing": step_flops(self.model, self.batch, self.vocabulary) / self.tensor / self.flops_per_s,
            "all-reduces in the layers": self.tensor_bytes
            / (self.inside_bytes_per_s if self.inside else self.outside_bytes_per_s),
            "all-reduce of the gradients": self.data_bytes
            / (self.inside_bytes_per_s if self.tensor * self.data <= RANKS_PER_NODE else self.outside_bytes_per_s),
        }

    @property
    def efficiency(self) -> float:
        """The share of a step in which a rank computes."""
        return self.parts_s["computing"] / sum(self.parts_s.values())


def divisors(number: int, among: Iterable[int]) -> list[int]:
    """Those that divide a number: heads share a width evenly, and tensor-parallel ranks share heads.

    >>> divisors(3072, HEADS), divisors(12, TENSOR_RANKS)
    ([8, 12, 16, 24, 32, 64, 96], [1, 2, 4])
    """
    return [each for each in among if number % each == 0] or [1]


def efficiency_curve(setting: TensorSetting, ranks: Iterable[int]) -> list[float]:
    """Efficiency by the number of tensor-parallel ranks; the setting's own number does not matter."""
    return [setting._replace(tensor=tensor).efficiency for tensor in ranks]
