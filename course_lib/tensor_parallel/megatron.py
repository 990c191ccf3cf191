"""Megatron's counts: parameters, all-reduces, floating-point operations, and a model of its weak scaling."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "MEGATRON_WEAK_SCALING",
    "MegatronModel",
    "all_reduce_bytes",
    "communication_share",
    "gpt_parameters",
    "step_flops",
]

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
