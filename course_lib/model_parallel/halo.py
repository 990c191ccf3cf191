"""Halo exchange: a convolution split by regions, in which each rank convolves its own rows of the picture.

Forward every rank gets the rows that its kernel reaches beyond its own. Backward the same rows go home as gradients,
and their owner adds them. Weights are whole on every rank, so their gradients are summed as in data parallelism.

Which rows each rank holds, needs and must get is data:

    rank 0   rows 0–3   │ a kernel of 3 rows with padding 1 makes output row 3 from rows 2, 3 and 4,
    ─────────────────── │ so rank 0 needs row 4 of rank 1: its halo
    rank 1   rows 4–7   │ and rank 1 needs row 3 of rank 0

A picture of any height is cut as `torch.tensor_split` cuts. A halo may be larger than a neighbor's region: then it
comes from several ranks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import torch
from torch.nn.functional import conv2d, pad
from torch.nn.grad import conv2d_input, conv2d_weight

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.model_parallel.layouts import part_lengths, part_starts


class Rows(NamedTuple):
    """Rows `start` to `stop` of a picture, counted from its top."""

    start: int
    stop: int

    @property
    def number(self) -> int:
        """How many they are."""
        return self.stop - self.start

    def overlap(self, other: Rows) -> Rows:
        """The rows that are in both."""
        start = max(self.start, other.start)
        return Rows(start, max(start, min(self.stop, other.stop)))


class RowKernel(NamedTuple):
    """How a convolution (or a pooling) moves down a picture."""

    size: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1

    @property
    def reach(self) -> int:
        """Rows from the first to the last that one output row is made of."""
        return self.dilation * (self.size - 1) + 1

    def output_height(self, height: int) -> int:
        """Rows of the output.

        Raises:
            ValueError: if the picture with its padding is too low for the kernel.
        """
        output = (height + 2 * self.padding - self.reach) // self.stride + 1
        if output < 1:
            raise ValueError(f"a picture of {height} rows is too low for {self}")
        return output


class Transfer(NamedTuple):
    """Rank `src` sends these rows of the picture to rank `dst`."""

    src: int
    dst: int
    rows: Rows


def owned_rows(height: int, world_size: int) -> list[Rows]:
    """The rows of each rank.

    >>> owned_rows(7, 2)
    [Rows(start=0, stop=4), Rows(start=4, stop=7)]
    """
    starts, lengths = part_starts(height, world_size), part_lengths(height, world_size)
    return [Rows(start, start + length) for start, length in zip(starts, lengths, strict=True)]


def needed_rows(output: Rows, kernel: RowKernel) -> Rows:
    """The rows of the input that make the rows `output`; negative ones and those past the end are padding.

    >>> needed_rows(Rows(0, 4), RowKernel(size=3, padding=1))
    Rows(start=-1, stop=5)
    """
    if not output.number:
        return Rows(0, 0)
    first = output.start * kernel.stride - kernel.padding
    return Rows(first, first + (output.number - 1) * kernel.stride + kernel.reach)


def halo_plan(height: int, kernel: RowKernel, world_size: int) -> list[Transfer]:
    """Every message of the exchange: what a rank needs for its rows of the output, and another rank owns.

    >>> for src, dst, rows in halo_plan(8, RowKernel(size=3, padding=1), world_size=2):
    ...     print(src, "sends to", dst, *rows)
    1 sends to 0 4 5
    0 sends to 1 3 4
    """
    owned = owned_rows(height, world_size)
    starts, stops = zip(*owned, strict=True)
    transfers = []
    for dst, output in enumerate(owned_rows(kernel.output_height(height), world_size)):
        needed = needed_rows(output, kernel).overlap(Rows(0, height))
        for src in range(bisect_right(stops, needed.start), bisect_left(starts, needed.stop)):
            if src != dst:
                transfers.append(Transfer(src, dst, needed.overlap(owned[src])))
    return transfers


def collect_rows(comm: Communicator, mine: torch.Tensor, height: int, kernel: RowKernel) -> torch.Tensor:
    """The rows that this rank's part of the output is made of, with zeros where padding is.

    `mine` is [batch, channels, rows of this rank, width] of a picture that is `height` rows high.
    """
    has, needs, plan = _own_share(comm, height, kernel)
    collected = _rows_like(mine, needs).zero_()
    own = needs.overlap(has)
    _cut(collected, own, needs).copy_(_cut(mine, own, has))
    lent = [(dst, _cut(mine, rows, has)) for src, dst, rows in plan if src == comm.rank]
    borrowed = [(src, rows, _rows_like(mine, rows)) for src, dst, rows in plan if dst == comm.rank]
    _exchange(comm, lent, [(src, box) for src, _, box in borrowed])
    for _, rows, box in borrowed:
        _cut(collected, rows, needs).copy_(box)
    return collected


def return_rows(comm: Communicator, collected_grad: torch.Tensor, height: int, kernel: RowKernel) -> torch.Tensor:
    """The gradient of this rank's rows: its own, plus what others computed for the rows that they borrowed."""
    has, needs, plan = _own_share(comm, height, kernel)
    mine = _rows_like(collected_grad, has).zero_()
    own = needs.overlap(has)
    _cut(mine, own, has).copy_(_cut(collected_grad, own, needs))
    borrowed = [(src, _cut(collected_grad, rows, needs)) for src, dst, rows in plan if dst == comm.rank]
    lent = [(dst, rows, _rows_like(collected_grad, rows)) for src, dst, rows in plan if src == comm.rank]
    _exchange(comm, borrowed, [(dst, box) for dst, _, box in lent])
    for _, rows, box in lent:
        _cut(mine, rows, has).add_(box)
    return mine


def _own_share(comm: Communicator, height: int, kernel: RowKernel) -> tuple[Rows, Rows, list[Transfer]]:
    """The rows that this rank has, those that it needs, and everybody's transfers."""
    has = owned_rows(height, comm.world_size)[comm.rank]
    output = owned_rows(kernel.output_height(height), comm.world_size)[comm.rank]
    return has, needed_rows(output, kernel), halo_plan(height, kernel, comm.world_size)


def _rows_like(picture: torch.Tensor, rows: Rows) -> torch.Tensor:
    """A new picture like this one, with as many rows."""
    return picture.new_empty(*picture.shape[:2], rows.number, picture.shape[3])


def _cut(picture: torch.Tensor, rows: Rows, of: Rows) -> torch.Tensor:
    """The `rows` of a picture that holds the rows `of`."""
    return picture[:, :, rows.start - of.start : rows.stop - of.start]


def _exchange(
    comm: Communicator, outgoing: list[tuple[int, torch.Tensor]], incoming: list[tuple[int, torch.Tensor]]
) -> None:
    """Send to some ranks and receive from some, all at once."""
    with comm.batch():
        sent = [comm.isend(tensor.contiguous(), dst) for dst, tensor in outgoing]
        received = [comm.irecv(box, src) for src, box in incoming]
    for work in (*received, *sent):
        work.wait()


class RegionConv2d:
    """y = convolution of x, of which this rank has some rows, from the top: [batch, channels, rows, width]."""

    def __init__(
        self,
        comm: Communicator,
        weight: torch.Tensor,
        bias: torch.Tensor,
        height: int,
        *,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
    ) -> None:
        self.comm = comm
        self.height = height
        self.padding = padding
        self.weight, self.bias = weight.clone(), bias.clone()
        self.rows = RowKernel(weight.shape[2], stride, padding, dilation)
        self.geometry = {"stride": stride, "dilation": dilation}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The halos cross. Columns are padded here, rows by `collect_rows`."""
        expected = owned_rows(self.height, self.comm.world_size)[self.comm.rank].number
        if x.shape[2] != expected:
            raise ValueError(f"rank {self.comm.rank} has {expected} of {self.height} rows, got {x.shape[2]}")
        self.x = pad(collect_rows(self.comm, x, self.height, self.rows), (self.padding, self.padding))
        if not self.x.shape[2]:  # fewer rows of output than ranks
            width = RowKernel(self.weight.shape[3], padding=0, **self.geometry).output_height(self.x.shape[3])
            return x.new_zeros(x.shape[0], self.weight.shape[0], 0, width)
        return conv2d(self.x, self.weight, self.bias, **self.geometry)

    def backward(self, y_grad: torch.Tensor) -> torch.Tensor:
        """The halos go home as gradients; the gradients of the parameters are summed."""
        self.weight_grad, x_grad = torch.zeros_like(self.weight), self.x
        if y_grad.shape[2]:
            self.weight_grad = conv2d_weight(self.x, self.weight.shape, y_grad, **self.geometry).contiguous()
            x_grad = conv2d_input(self.x.shape, self.weight, y_grad, **self.geometry)
        self.bias_grad = y_grad.sum((0, 2, 3))
        ring_all_reduce(self.comm, self.weight_grad)
        ring_all_reduce(self.comm, self.bias_grad)
        inside = x_grad[:, :, :, self.padding : x_grad.shape[3] - self.padding]
        return return_rows(self.comm, inside, self.height, self.rows)
