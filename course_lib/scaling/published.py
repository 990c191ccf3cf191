"""What others measured of scaling: throughputs of single devices, efficiencies of clusters, and two predictions."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "HOROVOD_512",
    "KEUPER_ALEXNET",
    "P100_EXAMPLES_PER_S",
    "TENSORFLOW_K80_CLUSTER",
    "K80_EXAMPLES_PER_S",
    "KeuperDevice",
    "NANOGPT_A100_EXAMPLES_PER_S",
    "NANOGPT_BATCH",
]

# Images a second of one GPU, synthetic data: model -> batch -> images a second (AlexNet with one batch only).
# Source: TensorFlow, "Benchmarks", May 2017 (tensorflow/docs, site/en/r1/guide/performance/benchmarks.md).
P100_EXAMPLES_PER_S = {
    "Inception-v3": {32: 128.0, 64: 142.0},
    "ResNet-50": {32: 195.0, 64: 219.0},
    "ResNet-152": {32: 82.7, 64: 91.8},
    "VGG-16": {32: 144.0, 64: 154.0},
    "AlexNet": {512: 2987.0},
}
K80_EXAMPLES_PER_S = {
    "Inception-v3": {32: 29.3, 64: 30.5},
    "ResNet-50": {32: 49.5, 64: 51.9},
    "AlexNet": {512: 656.0},
}

# Sequences of 1,024 tokens in each step of GPT-2 (124M), and sequences a second of one A100 of the eight that made
# 600,000 such steps in about 4 days.
# Source: A. Karpathy, nanoGPT (karpathy/nanoGPT): README.md (8 A100, "about 4 days") and config/train_gpt2.py (491,520
# tokens in a step, 600,000 steps; a comment there says "~5 days").
NANOGPT_BATCH = 480
NANOGPT_A100_EXAMPLES_PER_S = {NANOGPT_BATCH: 600_000 * NANOGPT_BATCH / (8 * 4 * 24 * 3600)}

# Images a second of GPUs in machines of eight K80: model -> GPUs -> images a second, batch 64 each (ResNet-152: 32).
# Source: as above, "Amazon EC2 distributed", synthetic data.
TENSORFLOW_K80_CLUSTER = {
    "Inception-v3": {1: 29.7, 8: 229.0, 16: 459.0, 32: 902.0, 64: 1783.0},
    "ResNet-50": {1: 52.4, 8: 378.0, 16: 751.0, 32: 1388.0, 64: 2744.0},
    "ResNet-152": {1: 19.4, 8: 146.0, 16: 291.0, 32: 565.0, 64: 981.0},
}

# Efficiency on 128 servers of 4 Pascal GPUs with 25 Gbit/s RoCE.
# Source: Horovod, "Benchmarks" (horovod/horovod, docs/benchmarks.rst).
HOROVOD_512 = {"Inception-v3": 0.90, "ResNet-101": 0.90, "VGG-16": 0.68}


class KeuperDevice(NamedTuple):
    """AlexNet with a batch of 256 on one device: seconds of an iteration, and where its communication takes over.

    Source: J. Keuper and F.-J. Pfreundt, "Distributed training of deep neural networks: theoretical and practical
    limits of parallel scalability", arXiv 1609.06870, 2016.
    """

    iteration_s: float
    batch: int = 256
    link_bytes_per_s: float = 6.8e9


KEUPER_ALEXNET = {"K80": KeuperDevice(0.9), "Titan X": KeuperDevice(0.2)}
