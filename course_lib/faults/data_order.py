"""The order of the data with a place in it, which any number of ranks can go on from.

epoch   7 2 5 0 9 1 4 8 3 6          one order for all ranks
taken   7 2 5 0 9 1 |                six of them have been trained on; that is all there is to save
next                | 4 8 3 6        whoever is there now shares these
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch

from course_lib.data_parallel import epoch_order

__all__ = ["DataOrder"]


@dataclass
class DataOrder:
    """Global batches, epoch after epoch: the same on every rank, whatever their number.

    Args:
        length: examples of the data set.
        batch_size: examples of a global batch; an epoch's last one may be smaller.
        epoch: number of the epoch.
        taken: how many examples of this epoch have been handed out.

    >>> order = DataOrder(length=5, batch_size=2)
    >>> [order.next_batch().tolist() for _ in range(4)]
    [[4, 0], [1, 3], [2], [0, 4]]
    >>> order.state_dict()
    {'epoch': 1, 'taken': 2}
    """

    length: int
    batch_size: int
    seed: int = 0
    epoch: int = 0
    taken: int = 0

    def __post_init__(self) -> None:
        if self.length < 1 or self.batch_size < 1:
            raise ValueError(f"length and batch_size must be at least 1, got {self.length} and {self.batch_size}")

    def next_batch(self) -> torch.Tensor:
        """The numbers of the next global batch's examples."""
        order = epoch_order(self.length, epoch=self.epoch, seed=self.seed)
        batch = order[self.taken : self.taken + self.batch_size]
        self.taken += len(batch)
        if self.taken == self.length:
            self.epoch, self.taken = self.epoch + 1, 0
        return batch

    def state_dict(self) -> dict[str, int]:
        """The place: epoch and examples taken of it."""
        return {name: value for name, value in asdict(self).items() if name in ("epoch", "taken")}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from a place.

        Raises:
            ValueError: if the place is not one of this data set.
        """
        if not 0 <= state["taken"] < self.length:
            raise ValueError(f"taken must be from 0 to {self.length - 1}, got {state['taken']}")
        self.epoch, self.taken = state["epoch"], state["taken"]
