"""How far what is expected was off on published trainings that it was not fitted on."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import NamedTuple

from course_lib.mesh import KORTHIKANTI_2022, LLAMA3_2024, MIXTRAL_2024, MOSAIC_2023
from course_lib.planning.expected import CLUSTERS, cluster_of_2023, expected_step, published_s


class Miss(NamedTuple):
    """One published step: its source, what was trained, and published seconds over those that are expected."""

    source: str
    what: str
    ratio: float


def misses(gpu: str) -> list[Miss]:
    """Every published step on these GPUs in 16 bits that the project has, but for those that a number is fitted to.

    >>> len(misses("a100")), len(misses("h100"))
    (19, 19)
    """
    cluster, found = CLUSTERS[gpu], []
    if gpu == "a100":
        for row in KORTHIKANTI_2022:
            cut = replace(row.plan, recompute="selective", sequence_parallel=True)
            for plan, seconds in ((row.plan, row.full_s), (cut, row.selective_s)):
                ratio = seconds / expected_step(row.shape, plan, cluster, row.batch).seconds
                found.append(Miss("Korthikanti 2022", f"{row.billions:g} B, {plan.recompute} recomputation", ratio))
    else:
        for source, each in (*(("Llama 3, 2024", each) for each in LLAMA3_2024), ("Megatron-Core 2024", MIXTRAL_2024)):
            ratio = published_s(each) / expected_step(each.shape, each.plan, cluster, each.batch).seconds
            what = f"{each.billions:g} B, {each.plan.devices:,} GPUs, {each.shape.sequence:,} tokens"
            found.append(Miss(source, what, ratio))
    for sharded in MOSAIC_2023:
        if sharded.gpu == gpu:
            seconds = expected_step(sharded.shape, sharded.plan, cluster_of_2023(gpu), sharded.batch).seconds
            tokens = sharded.batch * sharded.shape.sequence / sharded.plan.devices
            what = f"{sharded.billions:g} B, {sharded.plan.devices} GPUs, {sharded.shape.sequence:,} tokens, FSDP"
            found.append(Miss("MosaicML 2023", what, tokens / sharded.tokens_per_s / seconds))
    return found


class Band(NamedTuple):
    """Published seconds over the expected ones: all rows lie from `least` to `most`, half of them below `middle`."""

    least: float
    middle: float
    most: float
    rows: int

    def seconds(self, expected_s: float) -> tuple[float, float]:
        """The least and the most that a step that was expected to take so long took on these rows.

        >>> Band(1.0, 1.2, 1.5, 20).seconds(10.0)
        (10.0, 15.0)
        """
        return expected_s * self.least, expected_s * self.most


def band_of(found: list[Miss]) -> Band:
    """The band of these rows.

    >>> band_of([Miss("", "", ratio) for ratio in (1.3, 1.1, 1.2)])
    Band(least=1.1, middle=1.2, most=1.3, rows=3)
    """
    ratios = sorted(miss.ratio for miss in found)
    return Band(ratios[0], median(ratios), ratios[-1], len(ratios))
