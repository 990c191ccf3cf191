"""The tensor explorer: a GPT, tensor × data ranks, and links inside and between nodes."""

from __future__ import annotations

from typing import ClassVar

from course_lib.widgets.controls import nearest, number, offer, rate_slider, scale
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.tensor.model import HEADS, TENSOR_RANKS, TensorSetting, divisors
from course_lib.widgets.tensor.panels import pictures

__all__ = ["TensorExplorer"]

_FLOPS = [39e12, 100e12, 200e12, 500e12]


class TensorExplorer(Explorer):
    """A GPT cut by tensor parallelism, with data parallelism on top: memory, bytes, time, efficiency.

    Everything but the published points is computed: rings, fp16 on the wire, no overlap, products as fast on small
    parts as on large ones.

    Args:
        layers, hidden, heads, vocabulary, tensor, data, batch, flops_per_s, inside_bytes_per_s, outside_bytes_per_s:
            where the controls stand at first. `batch` is that of one copy, in sequences of 1,024 tokens.
    """

    moves: ClassVar = {
        "hidden": [1536, 3072, 8192, 12288],
        "tensor": None,
        "data": [1, 8, 64],
        "batch": [1, 8, 64],
    }

    def __init__(
        self,
        *,
        layers: int = 72,
        hidden: int = 3072,
        heads: int = 32,
        vocabulary: int = 51_200,
        tensor: int = 8,
        data: int = 1,
        batch: int = 8,
        flops_per_s: float = 39e12,
        inside_bytes_per_s: float = 120e9,
        outside_bytes_per_s: float = 12.5e9,
    ) -> None:
        self._heads, self._ranks = sorted({*HEADS, heads}), sorted({*TENSOR_RANKS, tensor})
        super().__init__(
            lambda **values: pictures(TensorSetting(**values)),
            layers=number("layers", 1, 128, layers),
            hidden=scale("width", [768, 1024, 1536, 1920, 2304, 3072, 4096, 8192, 12288], hidden),
            heads=scale("heads", HEADS, heads),
            vocabulary=scale("vocabulary", [256, 32_000, 51_200, 128_000, 256_000], vocabulary, lambda n: f"{n:,}"),
            tensor=scale("tensor ranks", TENSOR_RANKS, tensor),
            data=scale("copies", [1, 2, 4, 8, 16, 64, 256], data),
            batch=scale("batch of a copy", [1, 2, 4, 8, 16, 32, 64], batch),
            flops_per_s=scale("device", _FLOPS, flops_per_s, lambda x: f"{x / 1e12:g} TFLOP/s"),
            inside_bytes_per_s=rate_slider("inside a node", inside_bytes_per_s, 1e9),
            outside_bytes_per_s=rate_slider("between nodes", outside_bytes_per_s, 1e9),
        )

    def prepare(self) -> None:
        """Offer the heads that share the width evenly, and the tensor ranks that share the heads: no head is cut."""
        for name, whole, among in (("heads", "hidden", self._heads), ("tensor", "heads", self._ranks)):
            control = self.controls[name]
            possible = divisors(self.controls[whole].value, among)
            offer(control, {str(each): each for each in possible}, nearest(control.value, possible))
