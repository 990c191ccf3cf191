"""Published measurements, each with its source, and the models that chapters compare them with.

Every number here is published. What the functions make of them is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from course_lib.checks import at_least, positive


class Timing(NamedTuple):
    """One all-reduce: the size of the message and how long it took."""

    message_bytes: int
    seconds: float


class AlphaBeta(NamedTuple):
    """A line through times: latency_s + message_bytes / bytes_per_s, and its largest miss as a share of the time."""

    latency_s: float
    bytes_per_s: float
    worst_error: float

    def seconds(self, message_bytes: float) -> float:
        """The time that the line gives for a message."""
        return self.latency_s + message_bytes / self.bytes_per_s


# All-reduce on one server with eight A100 GPUs (nccl-tests all_reduce_perf; the source keeps one column of times).
# Source: S. Bekman, "Machine Learning Engineering", network/README, https://github.com/stas00/ml-engineering.
_MICROSECONDS = [
    *(43.83, 46.80, 51.76, 61.38, 80.40, 101.9, 101.4, 101.5, 133.5, 276.6),  # 32 KiB to 16 MiB
    *(424.0, 684.6, 1327.6, 2420.6, 4218.4, 8203.9, 16240, 32136, 64074, 127997),  # 32 MiB to 16 GiB
]
A100_SWEEP = tuple(Timing(2 ** (15 + i), us * 1e-6) for i, us in enumerate(_MICROSECONDS))

# Usable bytes per second of one NVLink of an A100, one direction, and how many it has.
# Source: NVIDIA/nccl, src/graph/topo.h (SM80_NVLINK_BW); NVIDIA A100 data sheet.
A100_NVLINK_BYTES_PER_S = 20e9
A100_NVLINKS = 12


def bus_bytes_per_s(timing: Timing, world_size: int) -> float:
    """Bytes per second that each port really carried during an all-reduce: size / time × 2(p - 1)/p.

    Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md.

    >>> bus_bytes_per_s(Timing(8_000_000, 1e-3), world_size=8)
    14000000000.0
    """
    at_least(1, world_size=world_size)
    positive(seconds=timing.seconds)
    return timing.message_bytes / timing.seconds * 2 * (world_size - 1) / world_size


def fit_alpha_beta(timings: Sequence[tuple[float, float]]) -> AlphaBeta:
    """The line latency + bytes / rate that misses the times least, every miss counted as a share of its time.

    Least squares on relative errors: without that, the longest time alone would decide the line.

    Args:
        timings: (message_bytes, seconds) pairs of at least two sizes.

    Raises:
        ValueError: if there are fewer than two sizes, or a time is not positive.

    >>> fit = fit_alpha_beta([(0, 1.0), (10, 3.0), (20, 5.0)])
    >>> round(fit.latency_s, 9), round(fit.bytes_per_s, 9), round(fit.worst_error, 9)
    (1.0, 5.0, 0.0)
    """
    if len({size for size, _ in timings}) < 2 or min(seconds for _, seconds in timings) <= 0:
        raise ValueError(f"a line needs two message sizes and positive times, got {list(timings)}")
    # Minimize the sum of (latency / t + slope * bytes / t - 1)²: two normal equations, solved by hand.
    ones = [1 / seconds for _, seconds in timings]
    sizes = [size / seconds for size, seconds in timings]
    oo, ss = sum(o * o for o in ones), sum(s * s for s in sizes)
    os = sum(o * s for o, s in zip(ones, sizes, strict=True))
    determinant = oo * ss - os * os
    latency_s = (sum(ones) * ss - sum(sizes) * os) / determinant
    s_per_byte = (sum(sizes) * oo - sum(ones) * os) / determinant
    errors = [abs(latency_s * o + s_per_byte * s - 1) for o, s in zip(ones, sizes, strict=True)]
    return AlphaBeta(latency_s, 1 / s_per_byte if s_per_byte > 0 else float("inf"), max(errors))


class Protocol(NamedTuple):
    """One way in which NCCL moves bytes: start-up, time of a step, share of the wire that carries data."""

    start_s: float
    step_s: float
    bus_bytes_per_s: float


# NCCL's own model of a ring all-reduce inside one server of A100s with NVLink. A protocol that needs fewer
# synchronizations spends part of every packet on flags: LL half of it or more, LL128 8 bytes in 128, Simple none. LL
# gets a quarter of Simple's bandwidth, LL128 92 % of it but at most 16.7 GB/s on each channel, one for each NVLink.
# Source: NVIDIA/nccl 2.7.5 (01afd20), src/graph/tuning.cc (baseLat, hwLat, ll128MaxBwPerCh, ncclTopoTuneModel). Later
# versions have other constants.
_SIMPLE_BYTES_PER_S = 235e9
_LL128_BYTES_PER_S = min(0.92 * _SIMPLE_BYTES_PER_S, 16.7e9 * A100_NVLINKS)
NCCL_RING_PROTOCOLS = {
    "LL": Protocol(3.6e-6, 0.47e-6, _SIMPLE_BYTES_PER_S / 4),
    "LL128": Protocol(10.0e-6, 1.9e-6, _LL128_BYTES_PER_S),
    "Simple": Protocol(8.4e-6, 3.4e-6, _SIMPLE_BYTES_PER_S),
}


def nccl_ring_seconds(protocol: str, message_bytes: float, world_size: int = 8) -> float:
    """What NCCL's own model expects of a ring all-reduce inside one server of A100s.

    The ring's formula with one more term: start + 2(p - 1) steps + 2(p - 1)/p × bytes / bandwidth.

    >>> round(nccl_ring_seconds("Simple", 2**30) * 1e3, 2)
    8.05
    """
    start_s, step_s, bytes_per_s = NCCL_RING_PROTOCOLS[protocol]
    steps = 2 * (world_size - 1)
    return start_s + steps * step_s + steps / world_size * message_bytes / bytes_per_s


def nccl_ring_choice(message_bytes: float, world_size: int = 8) -> str:
    """The protocol that NCCL's model finds fastest.

    >>> [nccl_ring_choice(size) for size in (2**18, 2**22, 2**28)]
    ['LL', 'LL128', 'Simple']
    """
    return min(NCCL_RING_PROTOCOLS, key=lambda name: nccl_ring_seconds(name, message_bytes, world_size))


class GoyalCluster(NamedTuple):
    """ImageNet in one hour: what the paper says about its network and its all-reduce.

    Source: P. Goyal et al., "Accurate, large minibatch SGD", arXiv 1706.02677, 2017, sections 4 and 5.
    """

    parameters: float = 25e6
    backward_s: float = 0.125  # measured as 120 ms; the paper reckons with 1/8 s
    servers: int = 32
    link_bytes_per_s: float = 50e9 / 8  # 50 Gbit/s Ethernet
    halving_doubling_speedup: float = 3.0  # over the ring, on 32 servers
    iteration_growth: float = 1.12  # from 8 to 352 GPUs

    @property
    def gradient_bytes(self) -> float:
        """Bytes of all gradients in fp32."""
        return 4 * self.parameters

    @property
    def needed_bits_per_s(self) -> float:
        """Network speed that hides the all-reduce behind the backward pass: twice the gradients in its time."""
        return 8 * 2 * self.gradient_bytes / self.backward_s

    @property
    def efficiency(self) -> float:
        """Share of perfect scaling that is left when every iteration takes `iteration_growth` times as long."""
        return 1 / self.iteration_growth

    def inferred_latency_s(self, messages: int) -> float:
        """Time α of one step that makes halving-doubling as much faster than the ring as was measured.

        The ring takes 2(p - 1) steps a message, halving-doubling 2 log2 p, and both send 2(p - 1)/p of the bytes.

        Args:
            messages: the number of all-reduces that the gradients are cut into.
        """
        ring_steps, few_steps = 2 * (self.servers - 1), 2 * (self.servers.bit_length() - 1)
        on_the_wire_s = 2 * (self.servers - 1) / self.servers * self.gradient_bytes / self.link_bytes_per_s
        speedup = self.halving_doubling_speedup
        return (speedup - 1) * on_the_wire_s / ((ring_steps - speedup * few_steps) * messages)


GOYAL_2017 = GoyalCluster()
