"""Published systems: throughputs, efficiencies and predictions that others measured, and each system as a setup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from course_lib import published
from course_lib.comm import Link, Network
from course_lib.scaling.curves import ScalingPoint, strong_scaling, weak_scaling
from course_lib.scaling.setup import WORKLOADS, Device, Setup, fit_device

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


LINE_SHARE = 0.8  # of the printed rate of a link: the one number that is fitted to Horovod's and Goyal's clusters


class System(NamedTuple):
    """A published system.

    Attributes:
        batch: the global one if it is fixed, else that of each device.
        efficiencies: devices -> published speed-up a device, over that of `base` devices.
        said: what else was published of its limit, in words.
    """

    setup: Setup
    batch: int
    fixed: bool
    efficiencies: Mapping[int, float]
    base: int = 1
    said: str = ""

    def points(self, ranks: Sequence[int]) -> list[ScalingPoint]:
        """The model's curve at these numbers of devices."""
        return (strong_scaling if self.fixed else weak_scaling)(self.setup, self.batch, ranks)


def _servers(devices: int, bits_per_s: float, line_share: float = LINE_SHARE) -> Network:
    """Servers of so many devices, with one network card each; latencies of NCCL's source."""
    return Network(3.4e-6, 18e9, ranks_per_node=devices, outside=Link(14e-6, line_share * bits_per_s / 8))


def _between(few: Device, many: Device, share: float) -> Device:
    """A device of a workload between two others: 0 gives the first, 1 the second."""
    mixed = [one + share * (other - one) for one, other in zip(few[1:], many[1:], strict=True)]
    return Device(few.name, *mixed)


def _p100(name: str) -> Device:
    """ResNet-101 was not measured alone; it lies between its sisters by its operations."""
    if name != "ResNet-101":
        return fit_device("P100", WORKLOADS[name], P100_EXAMPLES_PER_S[name])
    low, mine, high = (WORKLOADS[each].flops for each in ("ResNet-50", name, "ResNet-152"))
    return _between(_p100("ResNet-50"), _p100("ResNet-152"), (mine - low) / (high - low))


def _horovod(name: str, efficiency: float) -> System:
    setup = Setup(WORKLOADS[name], _p100(name), _servers(4, 25e9), bucket_bytes=64 << 20)
    return System(setup, 64, False, {512: efficiency})


def _goyal() -> System:
    cluster = published.GOYAL_2017
    network = _servers(8, 8 * cluster.link_bytes_per_s)
    setup = Setup(WORKLOADS["ResNet-50"], _p100("ResNet-50"), network, bucket_bytes=64 << 20)
    return System(setup, 32, False, {352: cluster.efficiency}, base=8)


def _tensorflow(name: str) -> System:
    """Its gradients went to parameter servers on the same machines, which carry as much as a ring's ends.

    10 Gbit/s: AWS, "GPU and FPGA briefing", March 2017 (p2.8xlarge).
    """
    device = fit_device("K80", WORKLOADS[name], K80_EXAMPLES_PER_S[name])
    rates = TENSORFLOW_K80_CLUSTER[name]
    shares = {count: rate / (count * rates[1]) for count, rate in rates.items() if count > 1}
    return System(Setup(WORKLOADS[name], device, _servers(8, 10e9)), 64, False, shares)


def _keuper(name: str) -> System:
    said = KEUPER_ALEXNET[name]
    device = fit_device(name, WORKLOADS["AlexNet"], {said.batch: said.batch / said.iteration_s})
    setup = Setup(WORKLOADS["AlexNet"], device, Network(bytes_per_s=said.link_bytes_per_s))
    return System(setup, said.batch, True, {}, said="no effective scaling beyond a few dozen nodes")


SYSTEMS: Mapping[str, System] = {
    **{f"Horovod, {name}": _horovod(name, share) for name, share in HOROVOD_512.items()},
    "Goyal, ResNet-50": _goyal(),
    **{f"TensorFlow on K80, {name}": _tensorflow(name) for name in ("Inception-v3", "ResNet-50")},
    **{f"Keuper, AlexNet on {name}": _keuper(name) for name in KEUPER_ALEXNET},
}
