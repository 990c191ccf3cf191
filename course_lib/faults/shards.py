"""Sharded checkpoints: each rank writes its shard, and any other number of ranks reads what it needs (resharding).

row                   0 1 2 3 4 5 6 7 8 9
saved by four ranks   0 0 0 1 1 1 2 2 3 3
read by three         0 0 0 0 1 1 1 2 2 2      rank 1 reads 4, 5 of saved rank 1's and 6 of 2's

Of a training with ZeRO that is:

what a rank writes                                                         who reads it
rows      its shards of the parameters, and of what the optimizer keeps    whoever has these elements
          for each number: momentum, variance
beside    what the optimizer keeps for each shard and is no row: counts    every rank its own, or rank 0's
          of updates, running products
settings  the optimizer's, with the rates that a schedule has changed      the same
rest      what is in no shard: frozen parameters, buffers                  the same
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch

from course_lib.checks import at_least
from course_lib.collectives import all_gather, chunk_bytes
from course_lib.comm import Communicator
from course_lib.data_parallel.state import settings_of, take_settings
from course_lib.data_parallel.zero import ShardedOptimizer
from course_lib.faults.checkpoints import Checkpoints


class SavedPiece(NamedTuple):
    """What a rank reads of one saved shard: elements start to stop of it, from `at` on in its own."""

    saved_rank: int
    start: int
    stop: int
    at: int


def pieces_to_read(length: int, saved_by: int, rank: int, world_size: int) -> list[SavedPiece]:
    """Where the elements of a rank lie in the shards that `saved_by` ranks have written, in order.

    >>> pieces_to_read(10, saved_by=4, rank=1, world_size=3)
    [SavedPiece(saved_rank=1, start=1, stop=3, at=0), SavedPiece(saved_rank=2, start=0, stop=1, at=2)]
    """
    at_least(0, length=length, rank=rank)
    at_least(1, saved_by=saved_by, world_size=world_size)
    if rank >= world_size:
        raise ValueError(f"{world_size} ranks are 0 to {world_size - 1}, got {rank}")
    (begin, end), pieces = _cuts(length, world_size)[rank], []
    for saved_rank, (first, last) in enumerate(_cuts(length, saved_by)):
        start, stop = max(begin, first), min(end, last)
        if start < stop:
            pieces.append(SavedPiece(saved_rank, start - first, stop - first, start - begin))
    return pieces


def _cuts(length: int, ranks: int) -> list[tuple[int, int]]:
    """Where each rank's elements of a row begin and end, as `tensor_split` cuts it."""
    return list(pairwise(accumulate(chunk_bytes(length, ranks, element_bytes=1), initial=0)))


def save_shards(
    checkpoints: Checkpoints, comm: Communicator, step: int, shards: dict[str, torch.Tensor], **beside: Any
) -> None:
    """Write this rank's shard of each row, and what it keeps `beside`; return when all ranks have."""
    everyone = [torch.zeros(len(shards), dtype=torch.int64) for _ in range(comm.world_size)]
    all_gather(comm, everyone, torch.tensor([len(shard) for shard in shards.values()], dtype=torch.int64))
    lengths = dict(zip(shards, torch.stack(everyone).sum(0).tolist(), strict=True))
    own = {name: shard.clone() for name, shard in shards.items()}  # without the row that it was cut from
    checkpoints.save(step, {**beside, "lengths": lengths, "shards": own})
    comm.barrier()


def load_shards(
    checkpoints: Checkpoints, comm: Communicator, step: int, lengths: dict[str, int]
) -> dict[str, torch.Tensor]:
    """This rank's shard of each row, whatever the number of ranks that wrote them.

    Cost: reads the shards in which this rank has elements, each once; one of them, where it has none.

    Args:
        lengths: elements of each row.

    Raises:
        DamagedFileError: if a file that this rank needs is torn or corrupted.
        FileNotFoundError: if there is no such checkpoint, or not all of it.
        KeyError: if it has no row of this name.
        ValueError: if a row has another length.
    """
    return read_rows(checkpoints, comm, step, lengths, {})


def read_rows(
    checkpoints: Checkpoints, comm: Communicator, step: int, lengths: dict[str, int], files: dict[int, dict[Any, Any]]
) -> dict[str, torch.Tensor]:
    """The same, where some of the files have been read already: `files` by the rank that wrote them, which fills."""
    saved_by, shards = checkpoints.saved_by(step), {}
    for name, length in lengths.items():
        pieces = pieces_to_read(length, saved_by, comm.rank, comm.world_size)
        for rank in [piece.saved_rank for piece in pieces] or [next(iter(files), 0)]:
            files[rank] = files.get(rank) or checkpoints.load_part(step, rank)
            there = files[rank]["lengths"]
            if name not in there:
                raise KeyError(f"step {step} has no row {name!r}, only {', '.join(there) or 'none'}")
            if (saved := there[name]) != length:
                raise ValueError(f"{name} has {length} elements, and the {saved_by} shards of step {step} have {saved}")
        read = [files[piece.saved_rank]["shards"][name][piece.start : piece.stop] for piece in pieces]
        shards[name] = torch.cat(read) if read else next(iter(files.values()))["shards"][name][:0]
    return shards


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
