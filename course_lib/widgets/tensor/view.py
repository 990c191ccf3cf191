"""The controls of the tensor explorer: what is cut, over how many GPUs, the step, the model, GPUs and links."""

from __future__ import annotations

from typing import ClassVar

from course_lib.draw.units import format_bytes, format_rate
from course_lib.tensor_parallel import CUTS
from course_lib.widgets.controls import explain, nearest, number, offer, rate_slider, scale
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.tensor.model import GPUS, HEADS, TensorSetting, divisors
from course_lib.widgets.tensor.panels import pictures

__all__ = ["TensorExplorer"]

_FLOPS = [39e12, 100e12, 200e12, 500e12]
_MEMORY = [16e9, 24e9, 32e9, 40e9, 80e9, 141e9]
_OUTSIDE = [12.5e9, 25e9, 50e9, 100e9, 200e9, 400e9]


class TensorExplorer(Explorer):
    """A GPT cut by tensor parallelism: what a GPU must hold, cut by cut, what crosses in a block, and what it costs.

    Everything is computed: rings, 2 bytes a number on the wire, no overlap, products as fast on small parts as on
    large ones.

    Args:
        cut, gpus, sequences, sequence, layers, hidden, heads, vocabulary, memory_bytes, flops_per_s,
        inside_bytes_per_s, outside_bytes_per_s: where the controls stand at first. `cut` is one of CUTS: everything
            up to it is cut. `outside_bytes_per_s` is that of all adapters of a machine together.
    """

    moves: ClassVar = {"cut": None, "gpus": None, "sequences": [1, 4, 8, 16], "outside_bytes_per_s": [12.5e9, 100e9]}

    def __init__(
        self,
        *,
        cut: str = CUTS[0],
        gpus: int = 8,
        sequences: int = 8,
        sequence: int = 1024,
        layers: int = 72,
        hidden: int = 3072,
        heads: int = 32,
        vocabulary: int = 51_200,
        memory_bytes: float = 32e9,
        flops_per_s: float = 39e12,
        inside_bytes_per_s: float = 120e9,
        outside_bytes_per_s: float = 100e9,
    ) -> None:
        self._heads, self._gpus = sorted({*HEADS, heads}), sorted({*GPUS, gpus})
        lengths = [256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768]
        super().__init__(
            lambda **values: pictures(TensorSetting(**values)),
            cut=scale("cut so far", CUTS, cut, only=True),
            gpus=scale("GPUs", GPUS, gpus),
            sequences=scale("sequences", [1, 2, 4, 8, 16, 32, 64], sequences),
            sequence=scale("tokens of each", lengths, sequence, lambda n: f"{n:,}"),
            layers=number("blocks", 1, 128, layers),
            hidden=scale("width", [768, 1024, 1536, 1920, 2304, 3072, 4096, 8192, 12288], hidden),
            heads=scale("heads", HEADS, heads),
            vocabulary=scale("vocabulary", [256, 32_000, 51_200, 128_000, 256_000], vocabulary, lambda n: f"{n:,}"),
            memory_bytes=scale("a GPU has", _MEMORY, memory_bytes, format_bytes),
            flops_per_s=scale("computes", _FLOPS, flops_per_s, lambda x: f"{x / 1e12:g} TFLOP/s"),
            inside_bytes_per_s=rate_slider("in a machine", inside_bytes_per_s, 1e9),
            outside_bytes_per_s=scale("out of it", _OUTSIDE, outside_bytes_per_s, format_rate),
        )

    def prepare(self) -> None:
        """Offer the heads that share the width evenly, and the GPUs that share the heads: no head is cut."""
        controls = self.controls
        for name, whole, among in (("heads", "hidden", self._heads), ("gpus", "heads", self._gpus)):
            possible = divisors(controls[whole].value, among)
            offer(controls[name], {str(each): each for each in possible}, nearest(controls[name].value, possible))
        inside = controls["gpus"].value <= 8
        explain(controls["outside_bytes_per_s"], inside, "all GPUs are in one machine")
