"""What the split explorer computes: who holds what of a layer, and what each cut sends in each pass."""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from typing import Any, NamedTuple

from course_lib.model_parallel import (
    CONV_SPLITS,
    LINEAR_SPLITS,
    ConvShape,
    LinearShape,
    Traffic,
    conv_traffic,
    linear_traffic,
)

__all__ = [
    "BATCHES",
    "BLOCKS",
    "LAYERS",
    "SplitSetting",
    "busiest_curve",
    "held_elements",
    "parts_of",
    "traffic_of",
    "winners_of",
]

BATCHES = tuple(2**k for k in range(2, 15))
LAYERS = ("fully connected", "convolution")
BLOCKS = "blocks (Cannon)"


class SplitSetting(NamedTuple):
    """All that the controls say; `step` is one of Cannon's algorithm. A convolution has `inputs` and `outputs` channels
    and keeps the picture's size."""

    layer: str
    batch: int
    inputs: int
    outputs: int
    height: int
    kernel: int
    world_size: int
    split: str
    step: int = 0

    @property
    def turns(self) -> bool:
        """Whether blocks turn: a convolution has none."""
        return self.split == BLOCKS and self.layer == "fully connected"

    @property
    def shape(self) -> LinearShape | ConvShape:
        """The layer."""
        if self.layer == "fully connected":
            return LinearShape("layer", self.inputs, self.outputs)
        return ConvShape("layer", self.inputs, self.outputs, self.height, self.kernel, padding=self.kernel // 2)

    @property
    def splits(self) -> tuple[str, ...]:
        """The cuts that this layer has."""
        return LINEAR_SPLITS if self.layer == "fully connected" else CONV_SPLITS


def traffic_of(setting: SplitSetting, split: str) -> Traffic:
    """Bytes that each rank sends in each pass; the setting's own split does not matter."""
    return _traffic(setting._replace(split=split, step=0))


@functools.lru_cache(maxsize=4096)
def _traffic(setting: SplitSetting) -> Traffic:
    split = setting.split
    sizes: dict[str, Any] = {"batch": setting.batch, "world_size": setting.world_size, "alike": True}
    if isinstance(setting.shape, LinearShape):
        return linear_traffic(split, inputs=setting.inputs, outputs=setting.outputs, **sizes)
    return conv_traffic(split, setting.shape, **sizes)


def busiest_curve(setting: SplitSetting, split: str) -> list[int]:
    """Bytes of the busiest rank with each of BATCHES; the setting's own batch does not matter."""
    return [traffic_of(setting._replace(batch=batch), split).busiest_bytes for batch in BATCHES]


def winners_of(setting: SplitSetting) -> list[tuple[int, str]]:
    """The cut with which the busiest rank sends least, from the smallest batch on, and each batch from which another
    does; of cuts that send alike the first. The setting's own batch does not matter."""
    low = BATCHES[0]
    found = [(low, _winner(setting, low))]
    for high in BATCHES[1:]:
        while (last := found[-1][1]) != _winner(setting, high):
            batches = range(low, high)  # the last cut sends least with the first of them
            low += bisect_left(batches, True, key=functools.partial(_is_beaten, setting, last))
            found.append((low, _winner(setting, low)))
        low = high
    return found


def _is_beaten(setting: SplitSetting, split: str, batch: int) -> bool:
    return _winner(setting, batch) != split


def _winner(setting: SplitSetting, batch: int) -> str:
    sent = {split: traffic_of(setting._replace(batch=batch), split).busiest_bytes for split in setting.splits}
    return min(sent, key=lambda split: sent[split])


def parts_of(setting: SplitSetting, split: str) -> int:
    """How many ranks hold a part at all: no more than there are examples, rows or channels to share."""
    return min(setting.world_size, _length(setting, split))


def held_elements(setting: SplitSetting, split: str) -> dict[str, float]:
    """What one rank holds of input, parameters and output, in numbers; the largest part where they are uneven."""
    shape = setting.shape
    if split == BLOCKS:
        side = math.isqrt(setting.world_size)
        m, k, n = (math.ceil(whole / side) for whole in (setting.batch, setting.inputs, setting.outputs))
        return {"input": m * k, "parameters": (k + 1) * n, "output": m * n}
    length = _length(setting, split)
    share = math.ceil(length / setting.world_size) / length
    x = setting.batch * shape.input_elements
    weights = shape.parameters
    y = setting.batch * shape.output_elements
    parts = {
        "examples": (x * share, weights, y * share),
        "regions": (x * share, weights, y * share),
        "outputs": (x, weights * share, y * share),
        "output channels": (x, weights * share, y * share),
        "inputs": (x * share, weights * share, y),
        "input channels": (x * share, weights * share, y),
    }[split]
    return dict(zip(("input", "parameters", "output"), parts, strict=True))


def _length(setting: SplitSetting, split: str) -> int:
    """Of what is cut."""
    if split in ("examples", "regions"):
        return setting.batch if split == "examples" else setting.height
    return setting.outputs if split.startswith("output") else setting.inputs
