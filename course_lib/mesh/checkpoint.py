"""A checkpoint of a training on a mesh: beside each number stands which of the whole model's numbers it is.

A model cut on 2 × 2 × 2            numbers of a rank's file         read on 1 × 2 × 2
data 0, pipeline 0, tensor 0        0 1 4 5                          from each file what this rank's part has in it
data 0, pipeline 0, tensor 1        2 3 6 7
...
data 1, ...                         none: data 0 has saved them
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import torch
from torch import nn

from course_lib.data_parallel.state import settings_of, take_settings
from course_lib.data_parallel.zero import ShardedOptimizer
from course_lib.mesh.clipping import counts_here
from course_lib.mesh.stage import MeshChunks, MeshStage
from course_lib.tasks import GPT

if TYPE_CHECKING:
    from course_lib.faults import Checkpoints


Part: TypeAlias = MeshStage | MeshChunks
Optimizer: TypeAlias = torch.optim.Optimizer | ShardedOptimizer


class _Row(NamedTuple):
    """A parameter, or a chunk of ZeRO's: which numbers of the model it has, which of them it saves, what is kept."""

    numbers: torch.Tensor
    saves: torch.Tensor
    tensor: torch.Tensor
    state: dict[str, Any]

    def is_kept_by_number(self, name: str) -> bool:
        """Whether the optimizer keeps a number of this name for each of the tensor's."""
        value = self.state[name]
        return isinstance(value, torch.Tensor) and value.shape == self.tensor.shape


def numbers_of(part: Part, whole: GPT) -> dict[nn.Parameter, torch.Tensor]:
    """Of each parameter of this rank: which of the whole model's numbers it holds, counted in the model's order.

    To find them a model whose numbers are 0, 1, 2, … is cut in the same way.

    Args:
        whole: a model of the same shape; its own numbers do not matter.
    """
    counting = copy.deepcopy(whole).cpu().double()
    every = torch.arange(sum(each.numel() for each in counting.parameters()), dtype=torch.float64)
    nn.utils.vector_to_parameters(every, counting.parameters())
    stages = (
        MeshStage(each.here, counting, each.sequence_parallel, each.chunk, each.chunks)
        for each in part.by_number.values()
    )
    cut = (parameter.detach().long() for stage in stages for parameter in stage.parameters())
    mine = (parameter for stage in part.by_number.values() for parameter in stage.parameters())
    return dict(zip(mine, cut, strict=True))


def save_on_mesh(checkpoints: Checkpoints, step: int, part: Part, optimizer: Optimizer, whole: GPT) -> None:
    """Save this rank's part of a training: weights and what the optimizer keeps; each number of the model once.

    What several ranks hold is saved by the one that counts it in the norm: by the first copy, and by tensor rank 0 what
    is not cut. With ZeRO each copy saves its chunk.

    Args:
        whole: a model of the same shape; its own numbers do not matter.

    Raises:
        ValueError: if the optimizer keeps other things of some tensors than of others, as Adafactor does.
    """
    rows = list(_rows(part, optimizer, whole))
    _refuse_differences(rows)
    names = [name for name in rows[0].state if rows[0].is_kept_by_number(name)]
    kept = {name: [row.state[name].flatten()[row.saves] for row in rows] for name in names}
    kept["weight"] = [row.tensor.detach().flatten()[row.saves] for row in rows]
    numbers, order = torch.cat([row.numbers[row.saves] for row in rows]).sort()
    counts = {name: copy.deepcopy(value) for name, value in rows[0].state.items() if name not in names}
    values = {name: torch.cat(each)[order].cpu() for name, each in kept.items()}
    settings = settings_of(_inner(optimizer))
    checkpoints.save(step, {"numbers": numbers, "values": values, "counts": counts, "settings": settings})


def load_on_mesh(checkpoints: Checkpoints, step: int, part: Part, optimizer: Optimizer, whole: GPT) -> None:
    """Put this rank's part of a saved training in place, whatever the mesh that saved it, and with ZeRO or without.

    Cost: reads every rank's file, one after the other, and keeps of each what this rank holds.

    Args:
        whole: a model of the same shape; its own numbers do not matter.

    Raises:
        ValueError: if some number of this rank's part was not saved: the model was another one.
    """
    rows = list(_rows(part, optimizer, whole))
    wanted = torch.cat([row.numbers for row in rows])
    missing = torch.ones(len(wanted), dtype=torch.bool)
    found: dict[str, torch.Tensor] = {}
    counts: dict[str, Any] = {}
    for rank in range(checkpoints.saved_by(step)):
        saved = checkpoints.load_part(step, rank)
        counts, settings = saved["counts"], saved["settings"]
        numbers = saved["numbers"]
        places = torch.searchsorted(numbers, wanted).clamp(max=max(len(numbers) - 1, 0))
        here = numbers[places] == wanted if len(numbers) else torch.zeros_like(missing)
        missing &= ~here
        for name, values in saved["values"].items():
            found.setdefault(name, torch.empty(len(wanted), dtype=values.dtype))[here] = values[places[here]]
    if missing.any():
        raise ValueError(f"step {step} lacks {int(missing.sum())} numbers of this rank: it was saved of another model")
    take_settings(_inner(optimizer), settings)
    _put(rows, found, counts, optimizer)


def _put(rows: list[_Row], found: dict[str, torch.Tensor], counts: dict[str, Any], optimizer: Optimizer) -> None:
    """Weights into their tensors, all else into the optimizer's state."""
    states = _inner(optimizer).state
    lengths = [row.tensor.numel() for row in rows]
    parts = {name: values.split(lengths) for name, values in found.items()}
    for place, row in enumerate(rows):
        own = {name: each[place].to(row.tensor.device, copy=True).view_as(row.tensor) for name, each in parts.items()}
        row.tensor.data.copy_(own.pop("weight"))
        states.pop(row.tensor, None)
        if own or counts:
            states[row.tensor] = own | copy.deepcopy(counts)
    if isinstance(optimizer, ShardedOptimizer):
        optimizer.publish()


def _rows(part: Part, optimizer: Optimizer, whole: GPT) -> Iterator[_Row]:
    """All that this rank holds: parameter by parameter, or with ZeRO its chunk of each unit's row of them."""
    numbers, copies = numbers_of(part, whole), part.here.copies
    named = ((stage, *each) for stage in part.by_number.values() for each in stage.named_parameters())
    counted = {parameter for stage, name, parameter in named if counts_here(stage, name)}
    if not isinstance(optimizer, ShardedOptimizer):
        for parameter, own in numbers.items():
            saves = torch.full((own.numel(),), copies.rank == 0 and parameter in counted)
            yield _Row(own.flatten(), saves, parameter, optimizer.state.get(parameter, {}))
        return
    for unit in optimizer.units:
        row = torch.cat([numbers[each].flatten() for each in unit.parameters])
        saves = torch.cat([torch.full((each.numel(),), each in counted) for each in unit.parameters])
        own, saves = (each.tensor_split(copies.world_size)[copies.rank] for each in (row, saves))
        yield _Row(own, saves, unit.shard, optimizer.optimizer.state.get(unit.shard, {}))


def _inner(optimizer: Optimizer) -> torch.optim.Optimizer:
    return optimizer.optimizer if isinstance(optimizer, ShardedOptimizer) else optimizer


def _refuse_differences(rows: list[_Row]) -> None:
    """Return if the optimizer keeps the same of each tensor, and no row that is cut otherwise than the tensor."""
    if any(each.state.keys() != rows[0].state.keys() for each in rows):
        found = sorted({", ".join(each.state) or "nothing" for each in rows})
        raise ValueError(
            f"an optimizer must keep the same of each tensor, got {' and '.join(found)}: save another one's"
        )
    for row in rows:
        for name, value in row.state.items():
            if isinstance(value, torch.Tensor) and value.dim() and not row.is_kept_by_number(name):
                shapes = f"{name} of shape {tuple(value.shape)} for a tensor of {tuple(row.tensor.shape)}"
                raise ValueError(f"an optimizer must keep numbers or tensors of the parameter's shape, got {shapes}")
