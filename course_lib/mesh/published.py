"""What others measured of training in three dimensions: how the model lay on the GPUs, and what each GPU achieved."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from course_lib.mesh.plan import Plan, TransformerShape


class TrainingRow(NamedTuple):
    """One model on one cluster.

    Attributes:
        billions: parameters as published. batch: sequences a step.
        flops_per_s: achieved by each GPU as published. share: of the peak, as published.
    """

    billions: float
    shape: TransformerShape
    plan: Plan
    batch: int
    flops_per_s: float
    share: float


def _narayanan(
    billions: float, a: int, h: int, layers: int, t: int, p: int, gpus: int, batch: int, teraflops: float, percent: int
) -> TrainingRow:
    chunks = 1 if p == 1 else next(v for v in range(2, layers) if layers // p % v == 0)
    plan = Plan(t, p, gpus // (t * p), chunks=chunks)
    return TrainingRow(billions, TransformerShape(layers, h, a), plan, batch, teraflops * 1e12, percent / 100)


# Weak scaling on DGX A100 (80 GB), recomputation, interleaved schedule. Micro-batches and chunks are not in the table:
# the plans here have micro-batches of 1 sequence, and the fewest chunks (2 or 3) that divide a stage's layers.
# Source: D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using Megatron-LM",
# arXiv 2104.04473, table 1.
NARAYANAN_2021 = (
    _narayanan(1.7, 24, 2304, 24, 1, 1, 32, 512, 137, 44),
    _narayanan(3.6, 32, 3072, 30, 2, 1, 64, 512, 138, 44),
    _narayanan(7.5, 32, 4096, 36, 4, 1, 128, 512, 142, 46),
    _narayanan(18.4, 48, 6144, 40, 8, 1, 256, 1024, 135, 43),
    _narayanan(39.1, 64, 8192, 48, 8, 2, 512, 1536, 138, 44),
    _narayanan(76.1, 80, 10240, 60, 8, 4, 1024, 1792, 140, 45),
    _narayanan(145.6, 96, 12288, 80, 8, 8, 1536, 2304, 148, 47),
    _narayanan(310.1, 128, 16384, 96, 8, 16, 1920, 2160, 155, 50),
    _narayanan(529.6, 128, 20480, 105, 8, 35, 2520, 2520, 163, 52),
    _narayanan(1008.0, 160, 25600, 128, 8, 64, 3072, 3072, 163, 52),
)


class KorthikantiRow(NamedTuple):
    """One model on A100 (80 GB): seconds of a step with full recomputation, and with selective and a cut sequence.

    Attributes:
        model_share, hardware_share: published MFU and HFU of the second way.
    """

    billions: float
    shape: TransformerShape
    plan: Plan
    batch: int
    full_s: float
    selective_s: float
    model_share: float
    hardware_share: float


# Source: V. Korthikanti et al., "Reducing activation recomputation in large transformer models", arXiv 2205.05198,
# tables 3 (sizes) and 5 (times).
KORTHIKANTI_2022 = (
    KorthikantiRow(22, TransformerShape(48, 6144, 64), Plan(8, 1, 1, 4), 4, 1.42, 1.10, 0.415, 0.437),
    KorthikantiRow(175, TransformerShape(96, 12288, 96), Plan(8, 8, 1, 1, 3), 64, 18.13, 13.75, 0.514, 0.528),
    KorthikantiRow(530, TransformerShape(105, 20480, 128), Plan(8, 35, 1, 1, 3), 280, 49.05, 37.83, 0.560, 0.570),
    KorthikantiRow(1000, TransformerShape(128, 25600, 160), Plan(8, 64, 1, 1, 1), 512, 94.42, 71.49, 0.563, 0.570),
)


def _llama_shape(layers: int, hidden: int, heads: int, mlp: int, length: int) -> TransformerShape:
    return TransformerShape(layers, hidden, heads, 128_256, length, 8, mlp, True, tied=False, fused_attention=True)


def _llama(context: int, data: int, length: int, batch: int, teraflops: float, share: float) -> TrainingRow:
    shape = _llama_shape(126, 16_384, 128, 53_248, length)
    plan = Plan(8, 16, data, chunks=8, recompute="none", zero=1, sequence_parallel=True, context=context)
    return TrainingRow(405, shape, plan, batch, teraflops * 1e12, share)


# Llama 3 405B on H100. Chunks are not in the table: one layer each is the finest there is.
# Source: Llama team, "The Llama 3 herd of models", arXiv 2407.21783, tables 3 and 4. (The first version prints
# 4 data ranks in the last row: 8 × 16 × 16 × 4 would be 8,192 GPUs, and half the tokens that it gives a batch.)
LLAMA3_2024 = (
    _llama(1, 64, 8_192, 2_048, 430, 0.43),
    _llama(1, 128, 8_192, 2_048, 400, 0.41),
    _llama(16, 8, 131_072, 128, 380, 0.38),
)


class TitanRow(NamedTuple):
    """One line of torchtitan's tables: a sequence cut over more ranks, twice as long for twice the ranks.

    Attributes:
        sequences: of a data rank in a step. tokens_per_s: of one GPU. memory_gib: of the fullest GPU, in GiB.
    """

    shape: TransformerShape
    plan: Plan
    sequences: int
    tokens_per_s: float
    memory_gib: float

    @property
    def batch(self) -> int:
        """Sequences in a step."""
        return self.sequences * self.plan.data

    @property
    def memory_bytes(self) -> float:
        """Of the fullest GPU."""
        return self.memory_gib * 2**30


def _titan(shape: TransformerShape, plan: Plan, sequences: int, *rows: tuple[float, float]) -> tuple[TitanRow, ...]:
    """Rows with 1, 2, 4, … context ranks, in place of data ranks."""
    cut = [(2**place, *row) for place, row in enumerate(rows)]
    return tuple(
        TitanRow(
            replace(shape, sequence=shape.sequence * c), replace(plan, data=plan.data // c, context=c), sequences, *row
        )
        for c, *row in cut
    )


# Llama 3.1 on H100s of 96 GB, full recomputation, products in 8 bits (attention is not), torch.compile: 8B on 8 GPUs,
# FSDP 8; 405B on 512, FSDP 8 × tensor 8 × pipeline 8, 1F1B. Where FSDP shards parameters too, ZeRO-1 stands here.
# Source: pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md, tables 2 and 6.
TORCHTITAN_2024 = {
    "8B": _titan(
        *(_llama_shape(32, 4096, 32, 14_336, 32_768), Plan(data=8, zero=1), 1),
        *((3890, 83.9), (2540, 84.2), (1071, 84.0), (548, 84.5)),
    ),
    "405B": _titan(
        *(_llama_shape(126, 16_384, 128, 53_248, 32_768), Plan(8, 8, 8, zero=1, sequence_parallel=True), 8),
        *((76, 75.3), (47, 75.9), (31, 77.1), (16, 84.9)),
    ),
}

# Mixtral 8x7B, two of eight experts a token, on 64 H100s: layout of Megatron-Core's "reference best parallel mapping",
# rate of its release 0.8, bf16. (Release 0.9: 468 TFLOP/s.) No other rate of its is published for this layout.
# Source: NVIDIA/Megatron-LM, megatron/core/transformer/moe/README.md.
MIXTRAL_2024 = TrainingRow(
    46.7,
    TransformerShape(
        32, 4096, 32, 32_000, 4_096, 8, 14_336, True, tied=False, fused_attention=True, experts=8, active=2
    ),
    Plan(1, 4, 16, chunks=8, recompute="none", zero=1, expert=8),
    256,
    438e12,
    438 / 989,
)


class FsdpRow(NamedTuple):
    """One model trained by FSDP alone.

    Attributes:
        billions: parameters as published. gpu: "a100" or "h100", both of 80 GB. batch: sequences a step.
        tokens_per_s: of one GPU, as published.
    """

    billions: float
    gpu: str
    shape: TransformerShape
    plan: Plan
    batch: int
    tokens_per_s: float


def _mosaic(
    billions: float, length: int, gpus: int, micro: int, batch: int, recompute: str, **tokens_per_s: float
) -> tuple[FsdpRow, ...]:
    layers, hidden, heads = _MPT[billions]
    shape = TransformerShape(layers, hidden, heads, 50_368, length, fused_attention=True)
    plan = Plan(data=gpus, micro_batch=micro, recompute=recompute, zero=3)
    return tuple(FsdpRow(billions, gpu, shape, plan, batch, rate) for gpu, rate in tokens_per_s.items())


# MPT models of 2023 by FSDP (FULL_SHARD), 16 bits: all rows of 7 to 70 billion parameters with 2,048 to 8,192 tokens.
# The A100s have 1600 Gbit/s between nodes; what the H100s had is not said. The sizes give the published numbers of
# parameters within 0.1%.
# Source: mosaicml/llm-foundry, scripts/train/benchmarking/README.md.
_MPT = {6.66: (32, 4096, 32), 12.85: (40, 5120, 40), 29.98: (48, 7168, 64), 64.86: (80, 8192, 64)}
MOSAIC_2023 = (
    *_mosaic(64.86, 2048, 64, 8, 2048, "full", h100=1039, a100=410),
    *_mosaic(64.86, 2048, 32, 2, 1024, "full", h100=882, a100=373),
    *_mosaic(29.98, 8192, 8, 1, 168, "full", h100=1384, a100=574),
    *_mosaic(29.98, 4096, 8, 1, 168, "full", h100=1802, a100=814),
    *_mosaic(29.98, 2048, 32, 14, 1344, "full", h100=2308),
    *_mosaic(29.98, 2048, 16, 10, 480, "full", h100=2263),
    *_mosaic(29.98, 2048, 8, 3, 504, "full", h100=2002, a100=916),
    *_mosaic(12.85, 8192, 8, 5, 120, "full", a100=1795),
    *_mosaic(12.85, 4096, 8, 10, 240, "full", h100=4717, a100=2060),
    *_mosaic(12.85, 2048, 64, 2, 128, "none", h100=4800),
    *_mosaic(12.85, 2048, 32, 2, 64, "none", h100=4811),
    *_mosaic(12.85, 2048, 16, 2, 32, "none", h100=4767),
    *_mosaic(12.85, 2048, 8, 2, 16, "none", h100=4792),
    *_mosaic(12.85, 2048, 8, 2, 48, "none", a100=2262),
    *_mosaic(6.66, 8192, 8, 8, 128, "full", h100=6935, a100=3206),
    *_mosaic(6.66, 4096, 8, 16, 256, "full", h100=8611, a100=3684),
    *_mosaic(6.66, 2048, 8, 6, 48, "none", h100=10_643),
    *_mosaic(6.66, 2048, 8, 6, 96, "none", a100=4641),
)
