"""A training that can be resumed bit by bit: it saves all its state, the order of the data and every random state.

The order of the data has a position that any number of ranks can go on from:

epoch   7 2 5 0 9 1 4 8 3 6          one order for all ranks
taken   7 2 5 0 9 1 |                six of them have been trained on; that is all there is to save
next                | 4 8 3 6        whoever is there now shares these
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from course_lib.comm import Communicator
from course_lib.comm.devices import accelerator, module_in_use
from course_lib.data_parallel import average_gradients_in_buckets, epoch_order, split_batch
from course_lib.faults.background import snapshot
from course_lib.tasks import Digits, load_digits


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


def random_states() -> dict[str, Any]:
    """The state of each generator of this process, by name.

    That of "accelerator" is its kind, such as "cuda", and the state of the device that this thread uses: an empty list
    where nothing has been done on one. Other devices are other ranks', and theirs to keep.

    >>> before = random_states()
    >>> first = random.random(), np.random.rand(), torch.rand(1).item()
    >>> restore_random_states(before)
    >>> first == (random.random(), np.random.rand(), torch.rand(1).item())
    True
    """
    kind, words, *rest = np.random.get_state()  # noqa: NPY002  everybody's generator is what this is about
    # All states are numbers, texts, lists and tensors, so that a checkpoint can be read without unpickling code.
    return {
        "python": random.getstate(),
        "numpy": [kind, torch.from_numpy(words.astype(np.int64)), *rest],
        "torch": torch.get_rng_state(),
        "accelerator": _of_device(),
    }


def restore_random_states(states: dict[str, Any]) -> None:
    """Let the generators go on from these states; one that is not named stays as it is.

    So does that of an accelerator if the states are of another kind of it, or of a machine that had none: a checkpoint
    can be read there all the same, and what is drawn on the device is drawn anew.
    """
    put = {"python": random.setstate, "numpy": _put_numpy, "torch": torch.set_rng_state, "accelerator": _put_on_device}
    for name, state in states.items():
        put[name](state)


def _put_numpy(state: list[Any]) -> None:
    kind, words, *rest = state
    np.random.set_state((kind, words.numpy().astype(np.uint32), *rest))  # noqa: NPY002


def _put_on_device(state: list[Any]) -> None:
    kind, module = accelerator()[0], module_in_use()
    if state and module is not None and kind == state[0]:
        module.set_rng_state(state[1])


def _of_device() -> list[Any]:
    module = module_in_use()
    return [] if module is None else [accelerator()[0], module.get_rng_state()]


_WIDTH = 8  # pixels of a digit's side


class Training:
    """Digits, classified in 16 bits: python's generator shifts images, numpy's adds noise, torch's drops units.

    With a communicator the ranks train together: one order of data, a part of each batch for every rank, and random
    numbers of its own.

    Attributes:
        step: how many steps have been trained.
    """

    def __init__(self, digits: Digits | None = None, comm: Communicator | None = None, seed: int = 0) -> None:
        self._comm = comm
        self.rank, self.world_size = (comm.rank, comm.world_size) if comm else (0, 1)
        self.inputs, self.labels = (digits or load_digits())[:2]
        torch.manual_seed(seed)
        self.device = self.inputs.device  # it trains where the digits are
        self.model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 10)).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=200)
        self.scaler = torch.amp.GradScaler(self.device.type, init_scale=2.0**22, growth_interval=16)
        self.data = DataOrder(len(self.labels), batch_size=64, seed=seed)
        self.step = 0
        for library in (random.seed, np.random.seed, torch.manual_seed):
            library(1000 * seed + self.rank)

    def train_step(self) -> float:
        """One step, and its loss: a rank's is that of its part, weighed, so that the mean over ranks is the batch's."""
        batch = self.data.next_batch()
        inputs, labels = self._part(batch)
        self.optimizer.zero_grad()
        with torch.autocast(self.device.type, torch.float16):
            loss = functional.cross_entropy(self.model(inputs), labels, reduction="sum") * self.world_size / len(batch)
        self.scaler.scale(loss).backward()
        if self._comm:
            average_gradients_in_buckets(self._comm, self.model)
        self.scaler.step(self.optimizer)
        scale = self.scaler.get_scale()
        self.scaler.update()
        if self.scaler.get_scale() >= scale:  # not skipped for an overflow
            self.schedule.step()
        self.step += 1
        return loss.item()

    def _part(self, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """This rank's examples of a batch, shifted and with noise."""
        mine = split_batch(batch, self.world_size)[self.rank]
        images = self.inputs[mine].view(-1, _WIDTH, _WIDTH)
        shifted = [image.roll(random.randint(-1, 1), dims=1) for image in images]
        inputs = torch.stack(shifted).flatten(1) if shifted else self.inputs[:0]
        noise = np.random.normal(0, 0.05, tuple(inputs.shape)).astype(np.float32)  # noqa: NPY002
        return inputs + torch.from_numpy(noise).to(inputs.device), self.labels[mine]

    def state_dict(self) -> dict[str, Any]:
        """Everything that the next step depends on; random states are the rank's own, all else is equal."""
        return {
            "step": self.step,
            "rank": self.rank,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "scaler": self.scaler.state_dict(),
            "data": self.data.state_dict(),
            **random_states(),
        }

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Go on from a state, which is copied: torch's optimizers would keep, and change, the tensors they are given.

        Args:
            strict: refuse a state in which a part is missing; else that part stays as it was at the start.

        Raises:
            ValueError: naming the missing parts.
        """
        missing = [name for name in self.state_dict() if name not in state]
        if strict and missing:
            raise ValueError(f"the state has no {', '.join(missing)}: a training that goes on from it is another one")
        state = snapshot(state)
        for name in ("model", "optimizer", "schedule", "scaler", "data"):
            if name in state:
                getattr(self, name).load_state_dict(state[name])
        self.step = state.get("step", self.step)
        if state.get("rank", self.rank) != self.rank:
            return  # a rank that was not there when it was saved: it draws its own numbers
        restore_random_states({name: part for name, part in state.items() if name in random_states()})
