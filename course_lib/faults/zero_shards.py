"""A ZeRO training on the disk: whatever its next step depends on, from any number of ranks to any other.

what a rank writes                                                         who reads it
rows      its shards of the parameters, and of what the optimizer keeps    whoever has these elements
          for each number: momentum, variance
beside    what the optimizer keeps for each shard and is no row: counts    every rank its own, or rank 0's
          of updates, running products
settings  the optimizer's, with the rates that a schedule has changed      the same
rest      what is in no shard: frozen parameters, buffers                  the same
"""

from __future__ import annotations

from typing import Any

import torch

from course_lib.comm import Communicator
from course_lib.data_parallel.optimizer_settings import settings_of, take_settings
from course_lib.data_parallel.zero import ShardedOptimizer
from course_lib.faults.checkpoints import Checkpoints
from course_lib.faults.shards import read_rows, save_shards

__all__ = ["load_zero", "save_zero"]


def save_zero(checkpoints: Checkpoints, comm: Communicator, step: int, zero: ShardedOptimizer) -> None:
    """Write this rank's part of a ZeRO training. The step only names the checkpoint.

    The data's order, a schedule, a loss scaler and random states have states of their own: save them, too.
    """
    shards, beside = {unit.name: unit.shard.detach() for unit in zero.units}, {}
    for unit in zero.units:
        kept = zero.optimizer.state.get(unit.shard, {})  # by get: to ask for a missing state would make an empty one
        rows = {name: value for name, value in kept.items() if _is_row(value, unit.shard)}
        shards |= {f"{unit.name} {name}": row for name, row in rows.items()}
        others = {name: _apart(value) for name, value in kept.items() if name not in rows}
        beside[unit.name] = {"rows": list(rows), "others": others}
    save_shards(
        checkpoints, comm, step, shards, beside=beside, settings=settings_of(zero.optimizer), rest=_in_no_shard(zero)
    )


def load_zero(checkpoints: Checkpoints, comm: Communicator, step: int, zero: ShardedOptimizer) -> None:
    """Go on from what any number of ranks have saved, as if training had not stopped; gradients are forgotten.

    Raises:
        ValueError: if the shards are of another model or `save_zero` did not write them, or if the optimizer keeps
            something of another shape than the shard's, and another number of ranks saved it.
    """
    files: dict[int, dict[Any, Any]] = {}
    parameters = read_rows(checkpoints, comm, step, {unit.name: len(unit.row) for unit in zero.units}, files)
    saved_by = checkpoints.saved_by(step)
    own = comm.rank if comm.rank < saved_by else 0
    files[own] = files.get(own) or checkpoints.load_part(step, own)
    if "beside" not in files[own]:
        raise ValueError(f"step {step} has rows alone: save_zero must have written it for load_zero to read it")
    take_settings(zero.optimizer, files[own]["settings"])
    for unit in zero.units:
        rows, others = files[own]["beside"][unit.name].values()
        if saved_by != comm.world_size:
            _refuse_other_shapes(zero.optimizer, others, saved_by)
        lengths = {f"{unit.name} {name}": len(unit.row) for name in rows}
        found = read_rows(checkpoints, comm, step, lengths, files)
        unit.shard.data.copy_(parameters[unit.name])
        zero.optimizer.state.pop(unit.shard, None)
        if kept := {name: found[f"{unit.name} {name}"].to(unit.shard.device) for name in rows} | others:
            zero.optimizer.state[unit.shard] = kept
    zero.module.load_state_dict(files[own]["rest"], strict=False)
    zero.publish()
    zero.zero_grad()


def _is_row(value: Any, shard: torch.Tensor) -> bool:
    """Whether it has a number for each of the shard's, so that it is cut as the shard is."""
    return isinstance(value, torch.Tensor) and value.shape == shard.shape


def _apart(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _in_no_shard(zero: ShardedOptimizer) -> dict[str, Any]:
    """Of the module's state what no unit has: a name for each."""
    sharded = {parameter for unit in zero.units for parameter in unit.parameters}
    named = zero.module.named_parameters(remove_duplicate=False)
    in_shards = {name for name, parameter in named if parameter in sharded}
    return {name: _apart(value) for name, value in zero.module.state_dict().items() if name not in in_shards}


def _refuse_other_shapes(optimizer: torch.optim.Optimizer, others: dict[str, Any], saved_by: int) -> None:
    for name, value in others.items():
        if isinstance(value, torch.Tensor) and value.dim():
            raise ValueError(
                f"{type(optimizer).__name__} keeps {name} of shape {tuple(value.shape)} for a shard, which cannot be "
                f"cut as the shard is: load it on {saved_by} ranks, as many as saved it"
            )
