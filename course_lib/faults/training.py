"""A training with everything in it that has a state: what a checkpoint must hold."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from course_lib.comm import Communicator
from course_lib.data_parallel import average_gradients_in_buckets, split_batch
from course_lib.faults.background import snapshot
from course_lib.faults.data_order import DataOrder
from course_lib.faults.generators import random_states, restore_random_states
from course_lib.tasks import Digits, load_digits

__all__ = ["Training"]

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
