"""The timeline of a data-parallel step, replicated or fully sharded: a model of time that runs nothing.

forward and backward   ▕ 0 ▏ 1 ▏ 2 ▏   2   ▏   1   ▏   0   ▏
wire                                       ▕ bucket 0 ▏bucket 1 ▏  ▕ bucket 2 ▏ end

Small buckets pay a latency each; large ones are full late, and the last leaves when nothing is left to hide it behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import torch

from course_lib.checks import at_least
from course_lib.collectives import ALL_REDUCE_SECONDS, all_gather_seconds, reduce_scatter_seconds
from course_lib.comm import Network
from course_lib.data_parallel.averaging import BUCKET_BYTES, Bucket, bucket_plan


class LayerCost(NamedTuple):
    """What a layer costs a rank: the bytes of its parameters (float32) and the seconds of its two passes."""

    parameter_bytes: int
    forward_s: float
    backward_s: float


class Interval(NamedTuple):
    """From when to when something happens; `label` is the number of the layer or bucket."""

    label: int
    start_s: float
    end_s: float


class StepTimeline(NamedTuple):
    """One step: both passes layer by layer, and the all-reduces bucket by bucket, each in order of time."""

    forward: list[Interval]
    backward: list[Interval]
    all_reduces: list[Interval]
    buckets: list[Bucket]

    @property
    def compute_s(self) -> float:
        """When the backward pass ends: the whole step's time if messages were free."""
        return self.backward[-1].end_s

    @property
    def seconds(self) -> float:
        """When the last all-reduce, or the backward pass, ends."""
        return max(self.compute_s, self.all_reduces[-1].end_s)


def equal_layers(count: int, *, parameter_bytes: int, forward_s: float, backward_s: float) -> list[LayerCost]:
    """A model of `count` equal layers that together have about these bytes (whole float32s) and take these seconds.

    Raises:
        ValueError: if `count` is less than 1.
    """
    at_least(1, count=count)
    each = LayerCost(round(parameter_bytes / count / 4) * 4, forward_s / count, backward_s / count)
    return [each] * count


def step_timeline(
    layers: Sequence[LayerCost],
    *,
    network: Network,
    world_size: int,
    bucket_bytes: int = BUCKET_BYTES,
    overlap: bool = True,
    all_reduce: str = "ring",
) -> StepTimeline:
    """When each pass of each layer and each bucket's all-reduce begins and ends, by the formula of `all_reduce`.

    A bucket is ready when the backward pass of its last layer ends (without overlap: of all layers); all-reduces go one
    after the other. Exact where all ranks are equally fast and end each all-reduce together (rings of whole chunks,
    halving-doubling of a power of two): then simulated steps take the same time to the last digits.

    Raises:
        ValueError: if there is no layer, or `all_reduce` is no name of ALL_REDUCE_SECONDS.

    >>> layers = [LayerCost(parameter_bytes=4000, forward_s=1.0, backward_s=2.0)] * 3
    >>> links = Network(latency_s=0.5, bytes_per_s=2000)
    >>> step_timeline(layers, network=links, world_size=2, bucket_bytes=4000).all_reduces
    [Interval(label=0, start_s=5.0, end_s=8.0), Interval(label=1, start_s=8.0, end_s=11.0),
     Interval(label=2, start_s=11.0, end_s=14.0)]
    """
    if not layers or all_reduce not in ALL_REDUCE_SECONDS:
        names = ", ".join(ALL_REDUCE_SECONDS)
        raise ValueError(f"a step needs a layer and one of {names}, got {len(layers)} layers and {all_reduce!r}")
    at_least(1, world_size=world_size)
    numbers = range(len(layers))
    forward = _one_after_the_other(numbers, [layer.forward_s for layer in layers], start_s=0.0)
    backward = _one_after_the_other(numbers[::-1], [layer.backward_s for layer in layers[::-1]], forward[-1].end_s)
    ready_s = {stretch.label: stretch.end_s if overlap else backward[-1].end_s for stretch in backward}
    buckets = bucket_plan([torch.empty(layer.parameter_bytes // 4, device="meta") for layer in layers], bucket_bytes)
    all_reduces, free_s = [], 0.0
    for number, bucket in enumerate(buckets):
        start_s = max(free_s, ready_s[bucket.numbers[-1]])
        free_s = start_s + float(ALL_REDUCE_SECONDS[all_reduce](bucket.message_bytes, world_size, network))
        all_reduces.append(Interval(number, start_s, free_s))
    return StepTimeline(forward, backward, all_reduces, buckets)


def sharded_step_seconds(units: Sequence[LayerCost], *, network: Network, world_size: int, ahead: bool = True) -> float:
    """Seconds of a step whose units are gathered before each pass and whose gradients are reduce-scattered, by rings.

    As `zero.FetchedAhead` does it: the last unit is gathered once; one exchange takes the wire at a time; the next
    gradient sets out when the one before has gone. Exact where all ranks are equally fast and hold whole chunks.

    Args:
        ahead: the next unit is gathered while one computes. False: each is gathered when it is needed.

    Raises:
        ValueError: if there is no unit, or no rank.

    >>> units = [LayerCost(parameter_bytes=4000, forward_s=1.0, backward_s=2.0)] * 3
    >>> links = Network(latency_s=0.0, bytes_per_s=4000)
    >>> [sharded_step_seconds(units, network=links, world_size=2, ahead=ahead) for ahead in (False, True)]
    [13.0, 10.0]
    """
    at_least(1, units=len(units), world_size=world_size)
    order = [*range(len(units)), *reversed(range(len(units)))]
    arrived_s = dict[int, float]()  # of the units that are whole, or on their way
    compute_s = wire_s = left_s = 0.0  # when the last computation ends, the wire is free, the last gradient has gone
    for place, (unit, following) in enumerate(zip(order, [*order[1:], order[-1]], strict=True)):
        is_forward = place < len(units)
        for wanted in (unit, following) if ahead else (unit,):
            compute_s = max(compute_s, arrived_s.get(unit, 0.0))
            if wanted not in arrived_s:
                message_bytes = units[wanted].parameter_bytes
                wire_s = max(wire_s, compute_s) + float(all_gather_seconds(message_bytes, world_size, network))
                arrived_s[wanted] = wire_s
        compute_s = max(compute_s, arrived_s[unit]) + (units[unit].forward_s if is_forward else units[unit].backward_s)
        if following != unit:
            del arrived_s[unit]
        if not is_forward:
            compute_s = max(compute_s, left_s)
            message_bytes = units[unit].parameter_bytes
            wire_s = max(wire_s, compute_s) + float(reduce_scatter_seconds(message_bytes, world_size, network))
            left_s = wire_s
    return max(compute_s, wire_s)


def _one_after_the_other(labels: Sequence[int], seconds: Sequence[float], start_s: float) -> list[Interval]:
    ends = list(accumulate(seconds, initial=start_s))
    return [Interval(*row) for row in zip(labels, ends, ends[1:], strict=False)]
