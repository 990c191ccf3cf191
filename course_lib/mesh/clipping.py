"""The norm of a gradient that lies in parts on many ranks: every number of the model counts once.

On a rank lie split parameters, which no other rank of its pipeline and tensor groups has; shared ones, which all
tensor ranks have; and perhaps a copy of the tied embedding. Summing the squares of all that lies anywhere counts the
second kind t times and the third one twice, and then every rank clips too much.
"""

from __future__ import annotations

import torch

from course_lib.collectives import ring_all_reduce
from course_lib.data_parallel.zero import ShardedOptimizer
from course_lib.mesh.stage import MeshChunks, MeshStage
from course_lib.tensor_parallel import is_shared


def counts_here(stage: MeshStage, name: str) -> bool:
    """Whether this rank counts its parameter: shared ones count on tensor rank 0, tied ones on the first stage."""
    if is_shared(name) and stage.here.at.tensor > 0:
        return False
    return not (name == "output.weight" and stage.tied)  # counted as the embedding's weight


def counted_gradients(part: MeshStage | MeshChunks, sharded: ShardedOptimizer | None = None) -> list[torch.Tensor]:
    """This rank's gradients, less what another rank counts; in the order of the parameters, so that sums repeat.

    Args:
        sharded: ZeRO's optimizer, if its shards have the gradients: chunks of rows in which parameters lie end to end.
    """
    named = ((stage, *each) for stage in part.by_number.values() for each in stage.named_parameters())
    counted = dict.fromkeys(parameter for stage, name, parameter in named if counts_here(stage, name))
    if sharded is None:
        return [parameter.grad for parameter in counted if parameter.grad is not None]
    gradients = []
    for unit in sharded.units:
        row = torch.cat([torch.full((each.numel(),), each in counted) for each in unit.parameters])
        mine = row.tensor_split(part.here.copies.world_size)[part.here.copies.rank]
        gradients.append(_gradient(unit.shard)[mine])
    return gradients


def gradient_norm(part: MeshStage | MeshChunks, sharded: ShardedOptimizer | None = None) -> float:
    """The norm of the whole model's gradient, the same on every rank.

    Gradients must be averaged over copies before, or reduced to their owners: then the copies have parts of it, too.

    Cost: an all-reduce of one number over the tensor group and one over the pipeline group; with shards one over the
    copies.
    """
    here = part.here
    squares = [gradient.double().square().sum() for gradient in counted_gradients(part, sharded)]
    nothing = torch.zeros((), dtype=torch.float64, device=next(part.parameters()).device)
    total = torch.stack([nothing, *squares]).sum().reshape(1)
    for group in (here.tensor, here.pipeline, *([here.copies] if sharded else [])):
        ring_all_reduce(group, total)
    return float(total.sqrt())


def clip_gradients(part: MeshStage | MeshChunks, most: float, sharded: ShardedOptimizer | None = None) -> float:
    """Shrink all gradients by one factor, so that their norm is at most `most`; the norm before that.

    Source: torch.nn.utils.clip_grad_norm_, with its 1e-6.
    """
    norm = gradient_norm(part, sharded)
    factor = min(most / (norm + 1e-6), 1.0)  # in this order nan stays nan, as there
    for parameter in part.parameters() if sharded is None else (unit.shard for unit in sharded.units):
        if parameter.grad is not None:
            parameter.grad.mul_(factor)
    return norm


def _gradient(shard: torch.Tensor) -> torch.Tensor:
    if shard.grad is None:
        raise RuntimeError("the shards have no gradient yet: call reduce_gradients() before clipping")
    return shard.grad
