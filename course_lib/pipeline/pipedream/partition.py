"""Which layers make a stage, and how many machines share it: PipeDream's dynamic program.

A stage of layers i to j on m machines lets a batch pass every T(i → j, m) seconds:

    T(i → j, m) = (1/m) max(Σ T_l, Σ W_l^m)     W_l^m = 2 (m - 1) |w_l| / (m B)

Its machines take turns at batches and average their gradients meanwhile, on a ring, which sends so much. (The paper has
4 in place of 2, what a machine sends and what it receives, as if a link could not do both at once. The authors' code of
2019 also takes the sum in place of the maximum: nothing is hidden.) Between layers l and l + 1 the activations need
C_l = a_l / B one way, and as much for their gradients. The slowest stage or crossing sets the pace, and A(j, m) is the
best pace for the first j layers on m machines:

    A(j, m) = min( T(1 → j, m),  min over i, m' of max(A(i, m - m'), 2 C_i, T(i + 1 → j, m')) )

Source: Harlap et al., "PipeDream: fast and efficient pipeline parallel DNN training", arXiv 1806.03377, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from course_lib.pipeline.pipedream.profile import LayerProfile

__all__ = [
    "PAPER_PASSES",
    "RING_PASSES",
    "RULES",
    "Partition",
    "StagePlan",
    "best_partition",
    "every_partition",
    "partition_seconds",
    "stage_seconds",
]

# How the time of computing and the time of averaging gradients make a stage's time: hidden or one after the other.
RULES: dict[str, Callable[[float, float], float]] = {"max": max, "sum": lambda compute_s, sync_s: compute_s + sync_s}

# How often a stage's weights pass a machine's link for an average, less a share of 1/m: on a ring, and in the paper.
RING_PASSES, PAPER_PASSES = 2, 4


class StagePlan(NamedTuple):
    """Layers `first` to `last` (from 0, last included) on so many machines."""

    first: int
    last: int
    machines: int


class Partition(NamedTuple):
    """The stages, front to back, and how many seconds pass between one batch and the next."""

    stages: tuple[StagePlan, ...]
    seconds: float

    @property
    def configuration(self) -> str:
        """The machines of each stage as the paper writes them: 7-1 is seven for the first and one for the second."""
        return "-".join(str(stage.machines) for stage in self.stages)

    @property
    def active_batches(self) -> int:
        """NOAM: how many batches each machine of the first stage lets in before one must come back.

        Source: Harlap et al., arXiv 1806.03377, section 3.2 ("NUM_OPT_ACTIVE_MINIBATCHES").
        """
        machines = sum(stage.machines for stage in self.stages)
        return -(-machines // self.stages[0].machines)


def stage_seconds(
    layers: Sequence[LayerProfile], machines: int, bytes_per_s: float, rule: str = "max", passes: int = RING_PASSES
) -> float:
    """T(i → j, m): the seconds between one batch and the next in a stage of these layers."""
    compute_s, weight_bytes = sum(layer.seconds for layer in layers), sum(layer.weight_bytes for layer in layers)
    return _paced(compute_s, passes * weight_bytes / bytes_per_s, machines, rule)


def _paced(compute_s: float, passing_s: float, machines: int, rule: str) -> float:
    return RULES[rule](compute_s, passing_s * (machines - 1) / machines) / machines


def partition_seconds(
    profile: Sequence[LayerProfile],
    stages: Sequence[StagePlan],
    bytes_per_s: float,
    rule: str = "max",
    passes: int = RING_PASSES,
) -> float:
    """The pace of a pipeline of these stages: its slowest stage's or its slowest crossing's."""
    paces = [stage_seconds(profile[s.first : s.last + 1], s.machines, bytes_per_s, rule, passes) for s in stages]
    crossings = [2 * profile[stage.last].activation_bytes / bytes_per_s for stage in stages[:-1]]
    return max([*paces, *crossings])


def best_partition(
    profile: Sequence[LayerProfile], machines: int, bytes_per_s: float, rule: str = "max", passes: int = RING_PASSES
) -> Partition:
    """The fastest partition that uses all machines, by the recurrence above.

    Args:
        rule: one of RULES. passes: RING_PASSES, or PAPER_PASSES to reckon as the paper does.

    Cost: layers² machines² / 4 looks at a stage.

    Raises:
        ValueError: unless there are a layer and a machine, and a rule of that name.
    """
    if not profile or machines < 1 or rule not in RULES:
        raise ValueError(f"got {len(profile)} layers, {machines} machines, rule {rule!r} (one of {list(RULES)})")
    seconds = [0.0, *accumulate(layer.seconds for layer in profile)]
    weights = [0, *accumulate(layer.weight_bytes for layer in profile)]

    def pace(first: int, last: int, m: int) -> float:
        compute_s, weight_bytes = seconds[last + 1] - seconds[first], weights[last + 1] - weights[first]
        return _paced(compute_s, passes * weight_bytes / bytes_per_s, m, rule)

    best: dict[tuple[int, int], Partition] = {}
    for last in range(len(profile)):
        for m in range(1, machines + 1):
            found, cut = pace(0, last, m), (-1, 0)
            for before in range(last):
                crossing_s = 2 * profile[before].activation_bytes / bytes_per_s
                for own in range(1, m):
                    slowest = max(best[before, m - own].seconds, crossing_s, pace(before + 1, last, own))
                    if slowest < found:
                        found, cut = slowest, (before, own)
            before, own = cut
            front = best[before, m - own].stages if own else ()
            best[last, m] = Partition((*front, StagePlan(before + 1, last, own or m)), found)
    return best[len(profile) - 1, machines]


def every_partition(layers: int, machines: int, first: int = 0) -> Iterator[tuple[StagePlan, ...]]:
    """All ways to cut the layers from `first` on into stages and to give all machines to them: the long way."""
    yield (StagePlan(first, layers - 1, machines),)
    for last in range(first, layers - 1):
        for own in range(1, machines):
            for behind in every_partition(layers, machines - own, last + 1):
                yield StagePlan(first, last, own), *behind
