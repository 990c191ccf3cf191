"""How long a device needs for a batch: a small one keeps it less busy than a large one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from course_lib.scaling.workload import Workload

__all__ = ["Device", "fit_device"]


class Device(NamedTuple):
    """A device as one workload sees it.

    Attributes:
        flops_per_s: what it makes of an endless batch.
        half_batch: the batch with which it reaches half of that; 0 if every batch is equally efficient.
    """

    name: str
    flops_per_s: float
    half_batch: float = 0.0

    def seconds(self, workload: Workload, batch: float) -> float:
        """Forward and backward of a batch: a fixed part, which `half_batch` examples more would take, and the work."""
        return (batch + self.half_batch) * workload.flops / self.flops_per_s

    def efficiency(self, batch: float) -> float:
        """The share of `flops_per_s` that a batch reaches: batch / (batch + half_batch)."""
        return batch / (batch + self.half_batch)


def fit_device(name: str, workload: Workload, examples_per_s: Mapping[int, float]) -> Device:
    """The device on which the workload has these throughputs: batch -> examples a second, one batch or two.

    One batch alone cannot tell how much of its time is fixed, so `half_batch` is 0 then.

    Raises:
        ValueError: if there is no throughput or more than two, one is not more than 0, a larger batch takes no more
            time than a smaller one, or gives fewer examples a second: no fixed part of the time could explain that.

    >>> from course_lib.scaling import even_workload
    >>> work = even_workload("a model", parameters=1, multiply_adds=1e6, layers=1)
    >>> device = fit_device("a device", work, {10: 50.0, 40: 100.0})  # 0.2 s and 0.4 s
    >>> round(device.flops_per_s / 1e6), round(device.half_batch, 6)
    (900, 20.0)
    """
    if len(examples_per_s) not in (1, 2):
        raise ValueError(f"one or two batches say how fast a device is, got {dict(examples_per_s)}")
    if not all(batch > 0 and rate > 0 for batch, rate in examples_per_s.items()):
        raise ValueError(f"batches and their examples a second must be more than 0, got {dict(examples_per_s)}")
    seconds = {batch: batch / rate for batch, rate in examples_per_s.items()}
    small, large = min(seconds), max(seconds)
    if small == large:
        return Device(name, workload.flops * examples_per_s[large])
    example_s = (seconds[large] - seconds[small]) / (large - small)
    if example_s <= 0:
        raise ValueError(f"a larger batch must take more time than a smaller one, got seconds {seconds}")
    half_batch = seconds[large] / example_s - large
    if half_batch < -1e-9 * large:
        raise ValueError(f"a larger batch must reach as many examples a second, got {dict(examples_per_s)}")
    return Device(name, workload.flops / example_s, max(0.0, half_batch))
