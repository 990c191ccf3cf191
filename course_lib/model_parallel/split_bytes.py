"""What crosses when a layer is split, in each pass: formulas, without running anything.

All splits train on the same joined batch. Collectives go round a ring. A layer by itself all-reduces its sums, since
everybody wants the whole. Between layers that are split in the same way (`alike`) each rank needs only its own features
of a sum, and a reduce-scatter sends half of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from course_lib.collectives import all_gather_cost, reduce_scatter_cost, ring_all_reduce_cost
from course_lib.model_parallel.halo import halo_plan
from course_lib.model_parallel.layers import ConvShape

LINEAR_SPLITS = ("examples", "outputs", "inputs")
CONV_SPLITS = ("examples", "regions", "output channels", "input channels")


class Traffic(NamedTuple):
    """Bytes that each rank sends in each pass of one training step."""

    forward_bytes: tuple[int, ...]
    backward_bytes: tuple[int, ...]

    @property
    def busiest_bytes(self) -> int:
        """What the busiest rank sends in both passes."""
        return max(forward + backward for forward, backward in zip(*self, strict=True))


def linear_traffic(
    split: str,
    *,
    batch: int,
    inputs: int,
    outputs: int,
    world_size: int,
    element_bytes: int = 4,
    alike: bool = False,
) -> Traffic:
    """What every rank sends for one layer in one step.

    - "examples": nothing forward; backward all gradients are summed.
    - "outputs": forward the parts of the output are gathered for the next layer; backward the gradient of the input is
      summed.
    - "inputs": forward the output is summed; backward the parts of the input's gradient are gathered for the layer
      before.

    Where the layers before and after are split `alike`, "summed" is a reduce-scatter: each rank needs its own part.

    Raises:
        ValueError: if `split` is none of these, or if there is no rank.

    >>> linear_traffic("examples", batch=64, inputs=1000, outputs=1000, world_size=4).busiest_bytes
    6006000
    >>> linear_traffic("outputs", batch=64, inputs=1000, outputs=1000, world_size=2)
    Traffic(forward_bytes=(128000, 128000), backward_bytes=(256000, 256000))
    >>> linear_traffic("outputs", batch=64, inputs=1000, outputs=1000, world_size=2, alike=True)
    Traffic(forward_bytes=(128000, 128000), backward_bytes=(128000, 128000))
    """
    if split not in LINEAR_SPLITS:
        raise ValueError(f"split must be one of {', '.join(LINEAR_SPLITS)}, got {split!r}")
    summed, gathered = partial(_summed, world_size, element_bytes), partial(_gathered, world_size, element_bytes)
    if split == "examples":
        return Traffic((0,) * world_size, _added(summed(outputs * inputs), summed(outputs)))
    kept = partial(_kept, world_size, element_bytes, alike)
    if split == "outputs":
        return Traffic(gathered(batch, outputs), kept(batch, inputs))
    return Traffic(kept(batch, outputs), gathered(batch, inputs))


def conv_traffic(
    split: str, shape: ConvShape, *, batch: int, world_size: int, element_bytes: int = 4, alike: bool = False
) -> Traffic:
    """What every rank sends for one convolution in one step.

    - "examples": backward all gradients are summed.
    - "regions": the halos cross forward, and home again backward; then all gradients are summed.
    - "output channels", "input channels": as a fully connected layer's outputs and inputs, a picture for each number;
      `alike`, too.

    Raises:
        ValueError: if `split` is none of these.

    >>> from course_lib.model_parallel.layers import VGG16
    >>> for split in CONV_SPLITS:
    ...     print(f"{conv_traffic(split, VGG16[1], batch=32, world_size=4).busiest_bytes / 1e6:6.1f} MB", split)
       0.2 MB examples
       7.6 MB regions
     924.8 MB output channels
     924.8 MB input channels
    """
    if split not in CONV_SPLITS:
        raise ValueError(f"split must be one of {', '.join(CONV_SPLITS)}, got {split!r}")
    summed, gathered = partial(_summed, world_size, element_bytes), partial(_gathered, world_size, element_bytes)
    x_rows, y_rows = batch * shape.height**2, batch * shape.out_height**2
    kept = partial(_kept, world_size, element_bytes, alike)
    if split == "output channels":
        return Traffic(gathered(y_rows, shape.out_channels), kept(x_rows, shape.in_channels))
    if split == "input channels":
        return Traffic(kept(y_rows, shape.out_channels), gathered(x_rows, shape.in_channels))
    gradients = _added(summed(shape.parameters - shape.out_channels), summed(shape.out_channels))
    if split == "examples":
        return Traffic((0,) * world_size, gradients)
    row_bytes = batch * shape.in_channels * shape.height * element_bytes
    lent, borrowed = [0] * world_size, [0] * world_size
    for src, dst, rows in halo_plan(shape.height, shape.rows, world_size):
        lent[src] += rows.number * row_bytes
        borrowed[dst] += rows.number * row_bytes
    return Traffic(tuple(lent), _added(borrowed, gradients))


def _added(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(first, second, strict=True))


def _summed(world_size: int, element_bytes: int, elements: int) -> tuple[int, ...]:
    """What each rank sends when so many numbers are summed round a ring."""
    cost = ring_all_reduce_cost(elements * element_bytes, world_size=world_size, element_bytes=element_bytes)
    return cost.bytes_sent


def _gathered(world_size: int, element_bytes: int, rows: int, length: int) -> tuple[int, ...]:
    """What each rank sends when `rows` × `length` numbers, split along the second, are gathered round a ring."""
    cost = all_gather_cost(length, world_size=world_size, element_bytes=1)
    return tuple(rows * element_bytes * sent for sent in cost.bytes_sent)


def _kept(world_size: int, element_bytes: int, alike: bool, rows: int, length: int) -> tuple[int, ...]:
    """What each rank sends when `rows` × `length` numbers are summed, and kept whole or, `alike`, in parts.

    A reduce-scatter sends what an all-gather does, the other way round: all parts but one's own.
    """
    if not alike:
        return _summed(world_size, element_bytes, rows * length)
    cost = reduce_scatter_cost(length, world_size=world_size, element_bytes=1)
    return tuple(rows * element_bytes * sent for sent in cost.bytes_sent)


def border_batch(split: str, *, inputs: int, outputs: int, alike: bool = False) -> float:
    """The batch (of all ranks together) at which splitting by `split` moves as much as splitting by examples.

    Below it there are fewer activations than weights, and the model is better split. From
    2·outputs·(inputs + 1) = batch·(outputs + 2·inputs), on the right batch·(inputs + 2·outputs) for "inputs", and
    batch·(inputs + outputs) for both between layers that are split `alike`. The number of ranks cancels.

    >>> [round(border_batch("outputs", inputs=4096, outputs=4096, alike=alike)) for alike in (False, True)]
    [2731, 4097]
    """
    if split not in ("outputs", "inputs"):
        raise ValueError(f"split must be outputs or inputs, got {split!r}")
    summed, gathered = (inputs, outputs) if split == "outputs" else (outputs, inputs)
    return 2 * outputs * (inputs + 1) / (gathered + (1 if alike else 2) * summed)
