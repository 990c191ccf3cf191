"""A count sketch: a small table into which a long row is hashed. Tables can be added, so a ring can carry them."""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.compression.rows import KeepsRows
from course_lib.compression.top_k import TopK

__all__ = ["CountSketch", "SketchedAllReduce"]


class CountSketch:
    """Hashes the numbers of a row, each with a random sign, into `columns` places of each of `rows` tables.

    A number is estimated by the median over the tables of what stands in its place, its sign undone. The estimate is
    unbiased in each table; large numbers stand out from the noise of those that share a place with them.

    Source: M. Charikar, K. Chen and M. Farach-Colton, "Finding frequent items in data streams", ICALP 2002.

    >>> sketch = CountSketch(length=1000, rows=5, columns=50)
    >>> row = torch.zeros(1000)
    >>> row[7], row[600] = 30.0, -20.0
    >>> estimates = sketch.estimates(sketch.table(row))
    >>> estimates[7].item(), estimates[600].item()
    (30.0, -20.0)
    """

    def __init__(self, length: int, rows: int, columns: int, seed: int = 0) -> None:
        if min(length, rows, columns) < 1:
            raise ValueError(f"length, rows and columns must be at least 1, got {length}, {rows} and {columns}")
        generator = torch.Generator().manual_seed(seed)  # the same hashes on every rank
        self.rows, self.columns = rows, columns
        self.places = torch.randint(columns, (rows, length), generator=generator)
        self.signs = torch.randint(2, (rows, length), generator=generator) * 2.0 - 1

    def table(self, row: torch.Tensor) -> torch.Tensor:
        """The row's sketch [rows, columns]; the sketch of a sum is the sum of the sketches."""
        places, signs = self._hashes(row.device)
        return signs.new_zeros(self.rows, self.columns).scatter_add_(1, places, signs * row)

    def estimates(self, table: torch.Tensor) -> torch.Tensor:
        """What each number of the row probably was: [length]."""
        places, signs = self._hashes(table.device)
        return (signs * table.gather(1, places)).median(0).values

    def _hashes(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Each number's place in each table and its sign, from now on where they are used."""
        self.places, self.signs = self.places.to(device), self.signs.to(device)
        return self.places, self.signs


class SketchedAllReduce(KeepsRows):
    """An `all_reduce` for `DataParallel`: sums sketches, finds the largest sums in them, then sums those exactly.

    Both messages can be added, so they ride a ring: 2(p - 1)/p times their bytes, however many the ranks.

    Args:
        share: of the numbers that travel in the second message.
        columns_share: columns of a table as a share of the row's length.

    Source: N. Ivkin et al., "Communication-efficient distributed SGD with sketching", NeurIPS 2019.
    """

    def __init__(
        self,
        share: float,
        rows: int = 5,
        columns_share: float = 0.02,
        all_reduce: Callable[..., None] = ring_all_reduce,
    ) -> None:
        super().__init__()
        self.top = TopK(share)
        self.rows = rows
        self.columns_share = columns_share
        self.all_reduce = all_reduce
        self.sketches: dict[int, CountSketch] = {}

    def __call__(self, comm: Communicator, row: torch.Tensor) -> None:
        """Leave in `row` the exact sums of the numbers that the sketch shows as largest, and zeros."""
        number, flat = self.number(row), row.detach().view(-1)
        if not len(flat):
            return
        residual = self.kept(self.residuals, number, flat) + flat
        sketch = self._sketch(len(flat))
        table = sketch.table(residual)
        self.all_reduce(comm, table)
        places = sketch.estimates(table).abs().topk(self.top.kept(len(flat))).indices
        values = residual[places]
        residual[places] = 0
        self.all_reduce(comm, values)
        flat.zero_()
        flat[places] = values
        self.keep_if_finite(flat, number, residuals=residual)

    def _sketch(self, length: int) -> CountSketch:
        if length not in self.sketches:
            columns = max(1, round(self.columns_share * length))
            self.sketches[length] = CountSketch(length, self.rows, columns)
        return self.sketches[length]
