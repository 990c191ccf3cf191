"""What the tensor explorer computes: what a GPU holds, sends and waits for in one step of a GPT, cut by cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from course_lib.tensor_parallel import CUTS, CutStep

__all__ = ["GPUS", "GPUS_PER_MACHINE", "HEADS", "TensorSetting", "divisors"]

GPUS_PER_MACHINE = 8
GPUS = (1, 2, 4, 8, 16, 32, 64)
HEADS = (8, 12, 16, 20, 24, 32, 64, 96)


class TensorSetting(NamedTuple):
    """All that the controls say. `sequences` are those of a step, each of `sequence` tokens; `memory_bytes` has a
    GPU, and `cut` is one of CUTS: everything up to it is cut."""

    cut: str
    gpus: int
    sequences: int
    sequence: int
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    memory_bytes: float
    flops_per_s: float
    inside_bytes_per_s: float
    outside_bytes_per_s: float

    def step(self, cut: str | None = None) -> CutStep:
        """The step of the setting, or the same with another cut."""
        sizes = self.layers, self.hidden, self.vocabulary, self.sequence, self.sequences
        return CutStep(*sizes, self.gpus, self.cut if cut is None else cut)

    @property
    def bars(self) -> dict[str, dict[str, float]]:
        """What a GPU holds by each cut so far, as the bars of the page."""
        return {cut: self.step(cut).held_bytes for cut in CUTS[: CUTS.index(self.cut) + 1]}

    @property
    def held_bytes(self) -> float:
        """In all, by this cut."""
        return sum(self.step().held_bytes.values())

    @property
    def inside(self) -> bool:
        """Whether all GPUs are in one machine."""
        return self.gpus <= GPUS_PER_MACHINE

    @property
    def message_bytes(self) -> float:
        """That a GPU sends in one all-reduce of activations."""
        return 2 * (self.gpus - 1) / self.gpus * 2 * self.step().tokens * self.hidden

    @property
    def parts_s(self) -> dict[str, float]:
        """Seconds of a step; nothing overlaps. Rings that leave a machine go as fast as the links outside."""
        inside, outside = self.inside_bytes_per_s, self.outside_bytes_per_s
        bytes_per_s = inside if self.inside else min(inside, outside)
        step = self.step()
        return {"computing": step.flops / self.flops_per_s, "all-reduces": step.sent_bytes / bytes_per_s}

    @property
    def efficiency(self) -> float:
        """The least time of so many GPUs, in which they share all operations and wait for nothing, over their time."""
        least_s = self.step()._replace(ranks=1).flops / self.gpus / self.flops_per_s
        return least_s / sum(self.parts_s.values())


def divisors(number: int, among: Iterable[int]) -> list[int]:
    """Those that divide a number: heads share a width evenly, and GPUs share heads.

    >>> divisors(3072, HEADS), divisors(12, GPUS)
    ([8, 12, 16, 24, 32, 64, 96], [1, 2, 4])
    """
    return [each for each in among if number % each == 0] or [1]
