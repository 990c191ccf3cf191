"""Costs of a tensor-parallel step: what each GPU holds, sends and computes, and Megatron's and torchtitan's numbers.

A block keeps 34 bytes for each token and each number of its width: 16 of hidden numbers, 8 of heads, and 10 outside of
both, which every GPU has until the sequence is cut.

Source: Korthikanti et al., "Reducing activation recomputation in large transformer models", arXiv 2205.05198, section
4, here without the scores of attention, which fused attention does not keep; Narayanan et al., "Efficient large-scale
language model training on GPU clusters", arXiv 2104.04473, appendix, for the operations.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

# What is cut so far; each goes on from the one before.
CUTS = ("nothing", "MLPs", "heads", "vocabulary", "sequence", "gathered again")
STATE_BYTES = 16  # of a parameter: mixed precision with Adam (Rajbhandari et al., arXiv 1910.02054, section 3.1)
LOGIT_BYTES = 4  # the loss is computed in fp32
# Bytes of activations for each token and number of the width.
_HIDDEN = 16
_HEADS = 8
_BETWEEN = 10
_GATHERED = 4  # of the ten: what attention and `up` are given


class CutStep(NamedTuple):
    """A step on `sequences` of `sequence` tokens; by default of Megatron-LM's largest GPT, with nothing cut.

    Attributes:
        ranks: tensor-parallel GPUs. cut: one of CUTS; everything up to it is cut over the ranks, the rest is whole on
            each of them.
    """

    layers: int = 72
    hidden: int = 3072
    vocabulary: int = 51_200
    sequence: int = 1024
    sequences: int = 8
    ranks: int = 8
    cut: str = CUTS[0]

    @property
    def tokens(self) -> int:
        """Of all sequences."""
        return self.sequences * self.sequence

    def over(self, cut: str) -> int:
        """Among how many ranks this is divided: all, or one if it is not cut yet.

        >>> CutStep(cut="heads").over("MLPs"), CutStep(cut="heads").over("vocabulary")
        (8, 1)
        """
        return self.ranks if CUTS.index(cut) <= CUTS.index(self.cut) else 1

    @property
    def parameters(self) -> float:
        """That a GPU holds: its parts, and norms, positions and late biases whole."""
        h, layers = self.hidden, self.layers
        mlps = layers * ((8 * h**2 + 4 * h) / self.over("MLPs") + h)
        attention = layers * ((4 * h**2 + 3 * h) / self.over("heads") + h)
        words = self.vocabulary * h / self.over("vocabulary")
        return mlps + attention + words + self.sequence * h + 4 * h * layers + 2 * h

    @property
    def held_bytes(self) -> dict[str, float]:
        """What a GPU holds at the end of its forward pass.

        >>> [f"{each / 1e9:.1f}" for each in CutStep().held_bytes.values()]
        ['133.1', '61.6', '1.7']
        >>> round(sum(CutStep(cut="gathered again").held_bytes.values()) / 1e9, 1)
        24.6
        """
        again = self.over("gathered again") > 1
        gathered = 0.0 if again else _GATHERED * (1 - 1 / self.over("sequence"))
        kept = _HIDDEN / self.over("MLPs") + _HEADS / self.over("heads") + _BETWEEN / self.over("sequence") + gathered
        return {
            "states": STATE_BYTES * self.parameters,
            "activations": kept * self.tokens * self.hidden * self.layers,
            "logits": LOGIT_BYTES * self.tokens * self.vocabulary / self.over("vocabulary"),
        }

    @property
    def all_reduces(self) -> float:
        """Of activations in a block, forward and backward; a gather or a scatter is half of one."""
        whole = 2 * (self.over("MLPs") > 1) + 2 * (self.over("heads") > 1)
        return whole * 5 / 4 if self.over("gathered again") > 1 else whole

    @property
    def sent_bytes(self) -> float:
        """That a GPU sends in its blocks, on rings, 2 bytes a number; without the few numbers of the vocabulary."""
        message_bytes = 2 * self.tokens * self.hidden
        return self.all_reduces * self.layers * 2 * (self.ranks - 1) / self.ranks * message_bytes

    @property
    def flops(self) -> float:
        """Operations of a GPU, forward and backward; what is not cut is computed by each of them.

        >>> f"{CutStep(cut='vocabulary').flops / 39e12:.2f} s"
        '1.38 s'
        """
        h, layers = self.hidden, self.layers
        mlps = 48 * layers * h**2 / self.over("MLPs")
        attention = (24 * layers * h**2 + 12 * layers * h * self.sequence) / self.over("heads")
        return self.tokens * (mlps + attention + 6 * h * self.vocabulary / self.over("vocabulary"))


def kept_numbers(module: nn.Module, x: torch.Tensor) -> int:
    """How many numbers a module keeps of one forward pass for its backward pass, beside its parameters.

    >>> kept_numbers(nn.Sequential(nn.Linear(3, 5), nn.GELU()), torch.ones(2, 3, requires_grad=True))
    16
    """
    own = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}
    kept: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in own:
            kept[place] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = module(x)
    del y
    return sum(each.untyped_storage().nbytes() // each.element_size() for each in kept.values())


V100_FLOPS_PER_S = 39e12  # sustained by the whole of a 1.2 B model on one GPU (published, section 5)
V100_BYTES_PER_S = 6 * 20e9  # six NVLinks at NCCL's usable rate (published, NVIDIA/nccl, topo.h)
VOCABULARY = 51_200
SEQUENCE = 1_024
BATCH = 8


class MegatronModel(NamedTuple):
    """One row of the weak-scaling table.

    Attributes:
        gpus: model-parallel GPUs. efficiency: published, model parallel alone. with_data: published, with 64-way data
            parallelism on top.
    """

    hidden: int
    layers: int
    heads: int
    gpus: int
    efficiency: float
    with_data: float


# Shoeybi et al., "Megatron-LM", arXiv 1909.08053, table 1 and figure 5.
MEGATRON_WEAK_SCALING = (
    MegatronModel(1536, 40, 16, 1, 1.00, 0.96),
    MegatronModel(1920, 54, 20, 2, 0.95, 0.83),
    MegatronModel(2304, 64, 24, 4, 0.82, 0.79),
    MegatronModel(3072, 72, 32, 8, 0.77, 0.74),
)


def gpt_parameters(layers: int, hidden: int, vocabulary: int = VOCABULARY, sequence: int = SEQUENCE) -> float:
    """12 l h² (1 + 13 / (12 h) + (V + s) / (12 l h)): the parameters of a GPT without its last norm.

    Source: Narayanan et al., "Efficient large-scale language model training on GPU clusters", arXiv 2104.04473, eq. 2.

    >>> [f"{gpt_parameters(layers, hidden) / 1e9:.1f} B" for layers, hidden in ((40, 1536), (72, 3072))]
    ['1.2 B', '8.3 B']
    """
    return 12 * layers * hidden**2 * (1 + 13 / (12 * hidden) + (vocabulary + sequence) / (12 * layers * hidden))


def step_flops(model: MegatronModel, batch: int = BATCH, vocabulary: int = VOCABULARY) -> float:
    """Floating-point operations of one step, forward and backward: 72 b s l h² (1 + s / (6 h) + V / (12 l h)).

    Source: Narayanan et al., arXiv 2104.04473, appendix (96 with the forward pass done twice; here it is done once).
    """
    h, layers = model.hidden, model.layers
    return 72 * batch * SEQUENCE * layers * h**2 * (1 + SEQUENCE / (6 * h) + vocabulary / (12 * layers * h))


def all_reduce_bytes(model: MegatronModel, batch: int = BATCH, element_bytes: int = 2) -> float:
    """Bytes that a GPU sends in one step: four all-reduces a layer, each of b s h numbers, round a ring."""
    return 4 * model.layers * 2 * (model.gpus - 1) / model.gpus * batch * SEQUENCE * model.hidden * element_bytes


def communication_share(model: MegatronModel) -> float:
    """The efficiency that is left if nothing but the all-reduces slows a step down."""
    compute_s = step_flops(model) / model.gpus / V100_FLOPS_PER_S
    return compute_s / (compute_s + all_reduce_bytes(model) / V100_BYTES_PER_S)


ASYNC_TENSOR, ASYNC_SEQUENCE = 8, 8_192  # GPUs that share a layer; tokens of a sequence
H100_BYTES_PER_S = 18 * 20.6e9  # 18 NVLinks at NCCL's usable rate (published, NVIDIA/nccl, topo.h)


class AsyncRow(NamedTuple):
    """A model of the table, in bf16 on H100s with 8 tensor-parallel GPUs.

    Attributes:
        keys_width: numbers that the keys of all heads have for a token; values have as many.
        passes: through the collectives of a layer: forward, backward, and forward once more with full checkpointing.
        tokens_per_s: published, of a GPU. overlapped_tokens_per_s: the same with asynchronous tensor parallelism.
    """

    hidden: int
    layers: int
    feed_forward: int
    keys_width: int
    parameters: float
    passes: int
    tokens_per_s: float
    overlapped_tokens_per_s: float


# pytorch/torchtitan, benchmarks/asyncTP_llama3_h100_2025-06, bf16: 64 GPUs and selective checkpointing of operations,
# and 256 GPUs and full checkpointing. The sizes are Llama 3.1's.
TORCHTITAN_ASYNC = {
    "8B": AsyncRow(4096, 32, 14_336, 1024, 8.03e9, 2, 4378, 4809.4),
    "70B": AsyncRow(8192, 80, 28_672, 1024, 70.6e9, 3, 597.3, 652.4),
}


def _message_s(row: AsyncRow) -> float:
    """Of one token in one collective: 7/8 of its numbers, 2 bytes each."""
    return (ASYNC_TENSOR - 1) / ASYNC_TENSOR * row.hidden * 2 / H100_BYTES_PER_S


def exposed_share(row: AsyncRow) -> float:
    """The share of the published step that four collectives a layer and pass take at NVLink's rate, none hidden."""
    return 4 * row.passes * row.layers * _message_s(row) * ASYNC_TENSOR * row.tokens_per_s


def max_speed_up(row: AsyncRow) -> float:
    """Over the published step if all of the collectives were hidden.

    >>> [round(max_speed_up(row), 2) for row in TORCHTITAN_ASYNC.values()]
    [1.21, 1.22]
    """
    return 1 / (1 - exposed_share(row))


def product_over_message(row: AsyncRow) -> dict[str, float]:
    """For the four products of a block, how long one of a part takes, over its message; from 1 on it hides the message.

    A part's products and its message both grow with its tokens: only the numbers count that a rank has for a token. The
    rate of products is that of all the rest of the published step.
    """
    forward_flops = (
        2 * row.parameters / ASYNC_TENSOR + 4 * row.layers * row.hidden * (ASYNC_SEQUENCE / 2) / ASYNC_TENSOR
    )
    rest_s = (1 - exposed_share(row)) / (ASYNC_TENSOR * row.tokens_per_s)
    flops_per_s = forward_flops * (row.passes + 1) / rest_s
    numbers = {"queries, keys, values": row.hidden + 2 * row.keys_width, "attention's output": row.hidden}
    numbers |= {"gate and up": 2 * row.feed_forward, "down": row.feed_forward}
    message_s = row.hidden * 2 / H100_BYTES_PER_S
    return {name: 2 * row.hidden * count / ASYNC_TENSOR / flops_per_s / message_s for name, count in numbers.items()}


def speed_up_by_chunks(row: AsyncRow) -> float:
    """Over the published step if each product hides what it can: the shorter of itself and its message.

    >>> [round(speed_up_by_chunks(row), 2) for row in TORCHTITAN_ASYNC.values()]
    [1.19, 1.21]
    """
    hidden = sum(min(1.0, ratio) for ratio in product_over_message(row).values()) / 4
    return 1 / (1 - hidden * exposed_share(row))
