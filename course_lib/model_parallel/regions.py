"""Which rows of a picture each rank holds, needs and must get: the plan of a halo exchange, as data.

    rank 0   rows 0–3   │ a kernel of 3 rows with padding 1 makes output row 3 from rows 2, 3 and 4,
    ─────────────────── │ so rank 0 needs row 4 of rank 1: its halo
    rank 1   rows 4–7   │ and rank 1 needs row 3 of rank 0

A picture of any height is cut as `torch.tensor_split` cuts. A halo may be larger than a neighbor's region: then it
comes from several ranks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from course_lib.model_parallel.layouts import part_lengths, part_starts

__all__ = ["RowKernel", "Rows", "Transfer", "halo_plan", "needed_rows", "owned_rows"]


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
