"""The tensor explorer: a GPT, tensor × data ranks, and links inside and between nodes."""

from __future__ import annotations

from typing import Any, ClassVar

from course_lib.widgets.controls import explain, menu, nearest, number, offer, rate_slider, scale
from course_lib.widgets.stepped import SteppedExplorer
from course_lib.widgets.tensor.model import (
    BLOCK,
    HEADS,
    IN_ORDER,
    RING_RANKS,
    TENSOR_RANKS,
    ZIGZAG,
    TensorSetting,
    divisors,
)
from course_lib.widgets.tensor.panels import pictures

__all__ = ["TensorExplorer"]

_NOT_OF_A_RING = ("layers", "vocabulary", "data", "flops_per_s", "inside_bytes_per_s", "outside_bytes_per_s")
_FLOPS = [39e12, 100e12, 200e12, 500e12]


class TensorExplorer(SteppedExplorer):
    """A GPT cut by tensor parallelism, with data parallelism on top: memory, bytes, time, efficiency; or ring
    attention on as many ranks, which play opens.

    Everything but the published points is computed: rings, fp16 on the wire, no overlap, products as fast on small
    parts as on large ones.

    Args:
        layers, hidden, heads, vocabulary, tensor, data, batch, flops_per_s, inside_bytes_per_s, outside_bytes_per_s:
            where the controls stand at first. `batch` is that of one copy, in sequences of 1,024 tokens.
        show, step: what is shown, and the step of ring attention.
    """

    moves: ClassVar = {
        "show": None,
        "hidden": [1536, 3072, 12288],
        "tensor": None,
        "data": [1, 64],
        "batch": [1, 8],
        "step": None,
    }
    rests = f"a ring has room for {RING_RANKS} ranks at most"

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
        show: str = BLOCK,
        step: int = 2,
    ) -> None:
        self._heads, self._ranks = sorted({*HEADS, heads}), sorted({*TENSOR_RANKS, tensor})
        super().__init__(
            lambda **values: pictures(TensorSetting(**values)),
            show=menu("show", [BLOCK, IN_ORDER, ZIGZAG], show),
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
            step=step,
        )

    def prepare(self) -> None:
        """Offer the heads that share the width evenly, and the tensor ranks that share the heads: no head is cut."""
        controls = self.controls
        for name, whole, among in (("heads", "hidden", self._heads), ("tensor", "heads", self._ranks)):
            possible = divisors(controls[whole].value, among)
            offer(controls[name], {str(each): each for each in possible}, nearest(controls[name].value, possible))
        super().prepare()
        for name in _NOT_OF_A_RING:
            ring = controls["show"].value != BLOCK
            explain(controls[name], ring, "the ring's picture does not depend on it")

    def steps(self, values: dict[str, Any]) -> int:
        """Keys and values visit every rank."""
        return int(values["tensor"]) if values["tensor"] <= RING_RANKS else 0

    def opens(self, values: dict[str, Any]) -> dict[str, Any]:
        """A ring is what moves."""
        return {"show": IN_ORDER} if values["show"] == BLOCK else {}
