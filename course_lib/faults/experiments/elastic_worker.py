"""What torchrun starts: a classifier trained with plain torch.distributed, by as many ranks as there are.

    torchrun --nnodes=1:2 --nproc-per-node=2 ... -m course_lib.faults.experiments.elastic_worker FOLDER STEPS

Every life reads the newest checkpoint, whatever the number of ranks that wrote it: weights and momentum are equal on
all of them, and the place in the data counts examples of the epoch, not batches of a rank. (DDP and torch.optim would
do the same, and take seconds to import.)
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn import functional

from course_lib.data_parallel import split_batch
from course_lib.faults.checkpoints import Checkpoints
from course_lib.faults.training import DataOrder

EXAMPLES = 512
GLOBAL_BATCH = 16
SAVE_EVERY = 5
_STEP_S = 0.03  # a step takes at least so long, so that somebody can be killed in the middle


def train(folder: Path, steps: int) -> None:
    """Train until `steps`, from wherever the newest checkpoint says, and log which examples each step has used."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    generator = torch.Generator().manual_seed(0)
    inputs = torch.rand(EXAMPLES, 64, generator=generator)
    labels = torch.randint(10, (EXAMPLES,), generator=generator)
    weights, momentum = torch.zeros(64, 10, requires_grad=True), torch.zeros(64, 10)
    order, step = DataOrder(EXAMPLES, GLOBAL_BATCH), 0
    checkpoints = Checkpoints(folder / "checkpoints")
    told: list[Any] = [checkpoints.newest(), _new_life(folder)] if rank == 0 else [None, None]
    dist.broadcast_object_list(told)
    newest, life = told
    if newest is not None:
        step, state = newest, checkpoints.load(newest)
        weights.data, momentum = state["weights"], state["momentum"]
        order.load_state_dict(state["data"])
    while step < steps:
        time.sleep(_STEP_S)
        mine = split_batch(order.next_batch(), world_size)[rank]
        loss = functional.cross_entropy(inputs[mine] @ weights, labels[mine], reduction="sum") / GLOBAL_BATCH
        (gradient,) = torch.autograd.grad(loss, weights)
        # Before the message: then a step that anybody has completed is in everybody's log.
        entry = {"life": life, "world_size": world_size, "rank": rank, "step": step + 1}
        _log(folder, entry | {"examples": mine.tolist()})
        dist.all_reduce(gradient)
        momentum = 0.9 * momentum + gradient
        weights.data -= 0.1 * momentum
        step += 1
        if rank == 0 and step % SAVE_EVERY == 0:
            checkpoints.save(step, {"weights": weights.detach(), "momentum": momentum, "data": order.state_dict()})


def _new_life(folder: Path) -> int:
    """How many lives there were before. (torchrun's agents count restarts each for itself, and not all of them.)"""
    lives = folder / "lives"
    before = len(lives.read_text()) if lives.exists() else 0
    lives.write_text("x" * (before + 1))
    return before


def _log(folder: Path, entry: dict[Any, Any]) -> None:
    """One line, by one write: those of several ranks do not mix."""
    with open(folder / "log.jsonl", "a", buffering=1) as file:
        file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    dist.init_process_group("gloo")
    train(Path(sys.argv[1]), int(sys.argv[2]))
    dist.destroy_process_group()
