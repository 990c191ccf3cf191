"""Three ways to share one training step among devices, in one picture."""

from __future__ import annotations

from matplotlib.axes import Axes

from course_lib.draw.schematics.blocks import arrow, block, caption, empty, frame
from course_lib.draw.style import COLORS, PAGE_IN, Picture, finish, new_picture, styled

__all__ = ["draw_parallelism"]

_LAYERS = (COLORS["blue"], "#3f8fc4", COLORS["sky"], "#a5d3f0")
_DATA = COLORS["orange"]
_PITCH, _WIDE = 1.25, 1.08  # of devices side by side
_ALT = (
    "Data, model and pipeline parallelism on {n} ranks with a model of {n} layers. Data parallelism: every rank holds "
    "all layers and works on its own part of the batch; the gradients are summed over all ranks. Model parallelism: "
    "every rank holds a slice of each layer and sees the whole batch; the partial results of each layer are summed. "
    "Pipeline parallelism: every rank holds one layer; micro-batches move from rank to rank."
)


@styled
def draw_parallelism(devices: int = 4) -> Picture:
    """Data, model and pipeline parallelism of a model with as many layers as devices.

    Raises:
        ValueError: unless there are 2 to 4 devices.
    """
    if not 2 <= devices <= 4:
        raise ValueError(f"the picture has room for 2 to 4 devices, got {devices}")
    picture, (data, model, pipeline) = new_picture(PAGE_IN, 2.7, 1, 3)
    for axes, title in ((data, "Data parallel"), (model, "Model (tensor) parallel"), (pipeline, "Pipeline parallel")):
        empty(axes, devices * _PITCH + 0.1, 4.05)
        axes.set_title(title)
    _draw_data(data, devices)
    _draw_model(model, devices)
    _draw_pipeline(pipeline, devices)
    note = "blue: the layers of the model; orange: the batch"
    return finish(picture, origin="schematic", alt=_ALT.format(n=devices), note=note)


def _draw_data(axes: Axes, devices: int) -> None:
    for device in range(devices):
        x = _device(axes, device)
        for layer in range(devices):
            block(axes, x + 0.1, 1.75 + 0.45 * layer, _WIDE - 0.2, 0.4, _LAYERS[layer], str(layer + 1))
        block(axes, x + 0.1, 1.05, _WIDE - 0.2, 0.45, _DATA, f"1/{devices}")
    _sum_bar(axes, devices, "sum of the gradients, once a step")


def _draw_model(axes: Axes, devices: int) -> None:
    for device in range(devices):
        x = _device(axes, device)
        for layer in range(devices):
            block(axes, x + 0.1, 1.75 + 0.45 * layer, _WIDE - 0.2, 0.4, _LAYERS[layer], f"{layer + 1}{'abcd'[device]}")
        block(axes, x + 0.1, 1.05, _WIDE - 0.2, 0.45, _DATA, "all")
    _sum_bar(axes, devices, "sum of partial results, in every layer")


def _draw_pipeline(axes: Axes, devices: int) -> None:
    for device in range(devices):
        x = _device(axes, device)
        block(axes, x + 0.1, 1.75, _WIDE - 0.2, 0.45 * devices - 0.05, _LAYERS[device], str(device + 1), 11)
        block(axes, x + 0.1, 1.05, _WIDE - 0.2, 0.45, _DATA, f"m{devices - device}")
        if device:
            arrow(axes, (x - _PITCH + _WIDE - 0.05, 2.65), (x + 0.08, 2.65))
    caption(axes, devices * _PITCH / 2 + 0.05, 0.28, "micro-batches move from rank to rank")


def _device(axes: Axes, device: int) -> float:
    """Draw a device and return its left edge."""
    x = 0.1 + _PITCH * device
    frame(axes, x, 0.9, _WIDE, 3.1, f"rank {device}")
    return x


def _sum_bar(axes: Axes, devices: int, text: str) -> None:
    """A line under the devices that joins them all."""
    for device in range(devices):
        arrow(axes, (0.1 + _WIDE / 2 + _PITCH * device, 0.55), (0.1 + _WIDE / 2 + _PITCH * device, 0.9), both=True)
    axes.plot([0.1 + _WIDE / 2, 0.1 + _WIDE / 2 + _PITCH * (devices - 1)], [0.55, 0.55], color="#1f1f1f", linewidth=1.4)
    caption(axes, devices * _PITCH / 2 + 0.05, 0.28, text)
