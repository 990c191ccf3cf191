"""What an all-reduce keeps of each row from one call to the next belongs to the row, not to the memory it lies in.

step 1    row 0 at 0x7f10, row 1 at 0x7f80        rows may be made anew in every step,
step 2    row 0 at 0x7f80, row 1 at 0x7f20        and memory is given out again: so a row says its number
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from course_lib.data_parallel.averaging import number_of

Table = dict[int, torch.Tensor]


class KeepsRows:
    """Base of an all-reduce that keeps something of each row; one object serves one model.

    What overflowed is never kept: where the sum that arrives is not finite, all ranks keep what they had before the
    step, of its other rows, too. So after a step that loss scaling skips, training goes on as with an all-reduce that
    remembers nothing. A step begins with a row that the one before has had. Where you skip it for another reason, such
    as an overflow in another rank's part of the model, call `forget_step`.

    Under a loss scale that changes say it before each backward pass: `all_reduce.scale = scaler.scale`. What was kept
    of gradients of another scale would count half or twice.

    The rows of `DataParallel`, of both ways to average gradients and of `ddp_hook` say their numbers (`numbered`). One
    that says none is known by its memory as long as that lives, and gets −1, −2, … in the order of arrival.
    """

    tables: tuple[str, ...] = ("residuals",)

    def __init__(self, remembers: bool = True) -> None:
        self.residuals: Table = {}
        self._remembers = remembers
        self._seen: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._scale = 1.0
        self._met: set[Any] = set()  # rows of this step
        self._before: dict[tuple[str, int], torch.Tensor | None] = {}  # what this step has replaced
        self._overflowed = False

    def number(self, row: torch.Tensor) -> int:
        """The row's own number.

        Raises:
            RuntimeError: if it says none, and the memory of a row before it is gone, and with it what it was.
            ValueError: if it is not of float32, as messages are made of.
        """
        if row.dtype != torch.float32:
            raise ValueError(f"a row to compress must be of float32, got {row.dtype}")
        number = number_of(row)
        if number is not None or not row.numel() or not self._remembers:
            return number or 0
        storage, place = row.untyped_storage(), row.data_ptr()
        if any(known() is None for _, known in self._seen.values()):
            raise RuntimeError(
                f"a row of {row.numel()} numbers came, and one from before is gone: what was kept of it would be lost. "
                "Use the same memory in each step, or say which row it is: numbered(row, 0)"
            )
        return self._seen.setdefault(place, (-1 - len(self._seen), weakref.ref(storage)))[0]

    def kept(self, table: Table, number: int, row: torch.Tensor) -> torch.Tensor:
        """What a table has of the row; zeros if it has nothing.

        Raises:
            ValueError: if the row had another length before.
        """
        kept = table.get(number)
        if kept is None:
            return torch.zeros_like(row)
        if kept.shape != row.shape:
            raise ValueError(f"row {number} had shape {tuple(kept.shape)}, got {tuple(row.shape)}")
        return kept

    def keep_if_finite(self, arrived: torch.Tensor, number: Any, **new: torch.Tensor) -> None:
        """Keep these tensors of the row, each in its table, unless they or a sum that arrived in this step overflowed.

        What arrived is the same on all ranks. So where it overflowed, all of them keep what they had before the step.
        """
        if number in self._met:
            self._met, self._before = set(), {}
            self._overflowed = False
        self._met.add(number)
        self._overflowed |= not all(bool(each.isfinite().all()) for each in (arrived, *new.values()))
        if self._overflowed:
            self.forget_step()
            return
        for table, kept in new.items():
            self._before[table, number] = getattr(self, table).get(number)
            getattr(self, table)[number] = kept

    def forget_step(self) -> None:
        """Keep what was kept before this step, or before the last one if it is over: no weight follows from it."""
        for (table, number), kept in self._before.items():
            if kept is None:
                getattr(self, table).pop(number, None)
            else:
                getattr(self, table)[number] = kept
        self._before = {}

    @property
    def scale(self) -> float:
        """By what the loss is multiplied whose gradients come; to set it brings what was kept to the new scale."""
        return self._scale

    @scale.setter
    def scale(self, scale: float) -> None:
        if scale != self._scale:
            for name in self.tables:
                table = getattr(self, name)
                table.update({number: kept * (scale / self._scale) for number, kept in table.items()})
            self._scale, self._before = scale, {}

    def state_dict(self) -> dict[str, Any]:
        """All that is kept, by table and by the row's number: a training that loads it goes on to the last bit."""
        tables = {name: {n: kept.clone() for n, kept in getattr(self, name).items()} for name in self.tables}
        return tables | {name: draws.get_state() for name, draws in self._generators().items()} | {"scale": self._scale}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Keep what another kept.

        Raises:
            ValueError: if it is the state of another kind of all-reduce.
        """
        wanted = {*self.tables, *self._generators(), "scale"}
        if set(state) != wanted:
            raise ValueError(f"a state of {type(self).__name__} has {sorted(wanted)}, got {sorted(state)}")
        self._met, self._before = set(), {}
        self._scale = state["scale"]
        for name in self.tables:
            setattr(self, name, {number: kept.clone() for number, kept in state[name].items()})
        for name, draws in self._generators().items():
            draws.set_state(state[name])

    def _generators(self) -> dict[str, torch.Generator]:
        """The random generators whose draws are part of the state."""
        return {}
