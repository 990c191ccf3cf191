"""Checkpoint interval: how often to save, by Young's and Daly's formulas, and a simulation that they are compared with.

    compute      save  compute      save  compute  ✗ restart  compute      save
    ├─interval_s─┤██├──interval_s──┤██├── lost ──┤▒▒▒▒▒▒▒▒▒├──interval_s──┤██

Saving often costs saves, saving seldom costs lost work. Failures come at random, on average every `mtbf_s`, and what
is going on makes no difference to them (the time to the next one is exponentially distributed).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import NamedTuple


def young_interval_s(save_s: float, mtbf_s: float) -> float:
    """√(2 save mtbf): where what saves cost equals what failures cost, if both are small.

    Source: J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974.

    >>> young_interval_s(save_s=50, mtbf_s=10_000)
    1000.0
    """
    _check(save_s, mtbf_s)
    return math.sqrt(2 * save_s * mtbf_s)


def first_order_interval_s(save_s: float, mtbf_s: float) -> float:
    """Daly's improvement of Young's: √(2 save mtbf) - save.

    Source: J. T. Daly, "A model for predicting the optimum checkpoint interval for restart dumps", ICCS, 2003, for a
    restart that takes no time.

    >>> first_order_interval_s(save_s=50, mtbf_s=10_000)
    950.0
    """
    return young_interval_s(save_s, mtbf_s) - save_s


def daly_interval_s(save_s: float, mtbf_s: float) -> float:
    """Daly's higher-order estimate: good until a save takes as long as twice the time between failures.

    Source: J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3),
    2006; its figures 3 to 5 have 117, 57 and 9.1 minutes for saves of 5 minutes.

    >>> [round(daly_interval_s(5 * 60, mtbf_min * 60) / 60, 1) for mtbf_min in (24 * 60, 6 * 60, 15)]
    [116.7, 56.7, 9.1]
    >>> round(daly_interval_s(save_s=50, mtbf_s=10_000))
    967
    """
    _check(save_s, mtbf_s)
    ratio = save_s / (2 * mtbf_s)
    if ratio >= 1:
        return mtbf_s
    return math.sqrt(2 * save_s * mtbf_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save_s


def waste(interval_s: float, save_s: float, mtbf_s: float, restart_s: float = 0.0) -> float:
    """The expected share of the time that does not go into lasting work: saves, lost work, restarts.

    A segment of interval and save takes mtbf e^(restart/mtbf) (e^((interval + save)/mtbf) - 1) on average; failures
    may come during saves and restarts, too. Where hardly a segment ends before the next failure that is 1.

    Source: Daly 2006; the expectation under exponential failures without approximations.

    >>> round(waste(interval_s=1000, save_s=50, mtbf_s=10_000), 3)
    0.097
    """
    _check(save_s, mtbf_s, restart_s)
    # e to minus these, which comes to 0 where e to these would be too large for a number.
    segment, whole = (interval_s + save_s) / mtbf_s, (interval_s + save_s + restart_s) / mtbf_s
    return 1 - interval_s / mtbf_s * math.exp(-whole) / -math.expm1(-segment)


def best_interval_s(save_s: float, mtbf_s: float) -> float:
    """The interval with the least `waste`, by bisection: where its derivative is zero. A restart does not move it."""
    _check(save_s, mtbf_s)
    low_s, high_s = 0.0, mtbf_s
    for _ in range(100):
        middle_s = (low_s + high_s) / 2
        if 1 - middle_s / mtbf_s > math.exp(-(middle_s + save_s) / mtbf_s):
            low_s = middle_s
        else:
            high_s = middle_s
    return high_s


def failure_cost_s(
    interval_s: float,
    save_s: float,
    mtbf_s: float,
    notice_s: float = 0.0,
    restart_s: float = 0.0,
    write_s: float = 0.0,
) -> dict[str, float]:
    """Seconds that a failure costs on average, by part: notice, restart, lost work, and saves until the next failure.

    An estimate of first order: it leaves out that a failure may come during a save or a restart, and that it comes
    earlier in a long interval than in its middle. Their sum is least at Young's interval.

    Args:
        save_s: how long the run stands still for a save.
        write_s: how long the save goes on beside it. Until then the save before counts, so this much more is lost.

    >>> failure_cost_s(interval_s=1000, save_s=50, mtbf_s=10_000, notice_s=60)
    {'notice': 60, 'restart': 0.0, 'lost work': 500.0, 'saves': 500.0}
    """
    _check(save_s, mtbf_s, restart_s)
    return {
        "notice": notice_s,
        "restart": restart_s,
        "lost work": interval_s / 2 + write_s,
        "saves": save_s * mtbf_s / interval_s,
    }


class RunStretch(NamedTuple):
    """What a training does for a while ("compute", "save", "restart"), and how much work counts at its end."""

    what: str
    start_s: float
    end_s: float
    done_s: float


class SimulatedRun(NamedTuple):
    """What a training took, and how often it failed."""

    seconds: float
    work_s: float
    failures: int

    @property
    def waste(self) -> float:
        """The share of the time that did not go into lasting work."""
        return 1 - self.work_s / self.seconds


def simulate_run(
    work_s: float,
    interval_s: float,
    save_s: float,
    mtbf_s: float,
    restart_s: float = 0.0,
    write_s: float = 0.0,
    seed: int = 0,
    log: list[RunStretch] | None = None,
) -> SimulatedRun:
    """Play a training of `work_s` seconds of compute against failures that are drawn.

    Args:
        save_s: how long training stands still for a save.
        write_s: how long the save goes on in the background afterwards. A failure before its end finds the one before.
        log: gets what the training does, in order; a "save" begins with the wait for the one before.
    """
    _check(save_s, mtbf_s, restart_s)
    draw = random.Random(seed)
    now_s = done_s = 0.0
    failures = 0
    kept_s = coming_s = comes_s = 0.0  # work on disk; on its way there; when it will be there
    failure_s = draw.expovariate(1 / mtbf_s)
    while done_s < work_s:
        step_s = min(interval_s, work_s - done_s)
        saved_s = max(now_s + step_s, comes_s) + save_s  # one write at a time
        if log is not None:
            log += _stretches(now_s, now_s + step_s, saved_s, failure_s, done_s + step_s)
        if failure_s >= saved_s:
            now_s, done_s = saved_s, done_s + step_s
            kept_s = coming_s
            coming_s = done_s
            comes_s = now_s + write_s
            continue
        kept_s = coming_s if comes_s <= failure_s else kept_s
        failed_s = failure_s
        while True:
            failures += 1
            now_s, failure_s = failure_s + restart_s, failure_s + draw.expovariate(1 / mtbf_s)
            if failure_s >= now_s:
                break
        done_s = coming_s = kept_s
        comes_s = now_s
        if log is not None:
            log.append(RunStretch("restart", failed_s, now_s, done_s))
    return SimulatedRun(now_s, work_s, failures)


def _stretches(
    began_s: float, computed_s: float, saved_s: float, failure_s: float, done_s: float
) -> Iterator[RunStretch]:
    """The compute and the save of a segment, each until the failure."""
    yield RunStretch("compute", began_s, min(computed_s, failure_s), done_s)
    if failure_s >= computed_s:
        yield RunStretch("save", computed_s, min(saved_s, failure_s), done_s)


def _check(save_s: float, mtbf_s: float, restart_s: float = 0.0) -> None:
    if not (save_s >= 0 and mtbf_s > 0 and restart_s >= 0):
        raise ValueError(
            f"save_s and restart_s must be 0 or more and mtbf_s more than 0, got {save_s}, {restart_s} and {mtbf_s}"
        )
