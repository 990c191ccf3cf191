"""What others measured of pipelines: the bubbles of zero-bubble schedules, and GPipe's throughput."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from course_lib.pipeline.timing import OperationTimes


class BubbleRates(NamedTuple):
    """One model on so many stages: profiled times in milliseconds, and the bubble rate of each schedule."""

    stages: int
    micro_batches: int
    times: OperationTimes
    rates: Mapping[str, float]


def _row(micro_batches: int, times: OperationTimes, rates: tuple[float, ...]) -> BubbleRates:
    names = ("1F1B", "ZB-H1", "ZB-H2")
    return BubbleRates(8, micro_batches, times, dict(zip(names, rates, strict=True)))


# A model of 1.5 billion parameters on 8 GPUs; the authors compute the rates from their profile (section 5.3).
# Source: P. Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, tables 5 and 9.
ZERO_BUBBLE_RATES = (
    _row(24, OperationTimes(18.522, 18.086, 9.337, 0.601), (0.2431, 0.1585, 0.1083)),
    _row(32, OperationTimes(18.513, 18.086, 9.331, 0.626), (0.1985, 0.1242, 0.0837)),
    _row(64, OperationTimes(18.546, 18.097, 9.321, 0.762), (0.1240, 0.0674, 0.0444)),
)

# Throughput of a Transformer of 48 layers over that of one micro-batch on 2 stages: micro-batches -> stages -> times.
# Source: Y. Huang et al., "GPipe", arXiv 1811.06965, table 2.
GPIPE_THROUGHPUT = {4: {2: 1.7, 4: 3.2, 8: 4.8}, 32: {2: 1.8, 4: 3.4, 8: 6.3}}
