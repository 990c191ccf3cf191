"""The split explorer: a layer, a batch and ranks, and what each cut holds and sends."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from course_lib.model_parallel import CONV_SPLITS, LINEAR_SPLITS
from course_lib.widgets.controls import menu, scale
from course_lib.widgets.split.model import BATCHES, BLOCKS, LAYERS, SplitSetting
from course_lib.widgets.split.panels import pictures
from course_lib.widgets.stepped import SteppedExplorer

__all__ = ["SplitExplorer"]

_RANKS = (1, 2, 3, 4, 6, 8, 9, 16, 32, 64)
_WIDTHS = [2**k for k in range(3, 15)]


class SplitExplorer(SteppedExplorer):
    """One layer to cut: what a rank holds, what it sends in each pass, and the border of data and model parallelism;
    or its product as Cannon does it, which play opens.

    Everything is computed by `linear_traffic`, `conv_traffic` and `cannon_elements_sent`: rings, float32, a layer among
    others that are cut alike.

    Args:
        layer, batch, inputs, outputs, height, kernel, world_size, split, step: where the controls stand at first.
            `batch` is that of all ranks; `inputs` and `outputs` are channels where the layer is a convolution; a cut
            that the layer does not have becomes "examples".
    """

    moves: ClassVar = {
        "layer": None,
        "split": None,
        "world_size": [2, 4, 8, 9, 16, 64],
        "batch": [16, 256, 2048, 8192],
        "step": None,
    }
    rests = "only a fully connected layer's blocks move"

    def __init__(
        self,
        *,
        layer: str = "fully connected",
        batch: int = 256,
        inputs: int = 4096,
        outputs: int = 4096,
        height: int = 28,
        kernel: int = 3,
        world_size: int = 16,
        split: str = "outputs",
        step: int = 1,
    ) -> None:
        super().__init__(
            lambda **values: pictures(SplitSetting(**values)),
            layer=menu("layer", LAYERS, layer),
            split=menu("cut by", [*LINEAR_SPLITS, *CONV_SPLITS[1:], BLOCKS], split),
            world_size=scale("ranks", _RANKS, world_size),
            batch=scale("batch in all", BATCHES, batch),
            inputs=scale("inputs", _WIDTHS, inputs),
            outputs=scale("outputs", _WIDTHS, outputs),
            height=scale("picture", [7, 14, 28, 56, 112, 224], height, lambda rows: f"{rows} × {rows}"),
            kernel=scale("kernel", [1, 3, 5, 7, 11], kernel, lambda size: f"{size} × {size}"),
            step=step,
        )

    def steps(self, values: dict[str, Any]) -> int:
        """A product for each rank of a row of the largest square."""
        return math.isqrt(values["world_size"]) if values["layer"] == LAYERS[0] else 0

    def opens(self, values: dict[str, Any]) -> dict[str, Any]:
        """Blocks are what moves."""
        return {} if SplitSetting(**values).turns else {"split": BLOCKS}
