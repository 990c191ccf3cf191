"""Training on a mesh: a pipeline of tensor-parallel stages, and gradients averaged over the data dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import torch

from course_lib.checks import at_least
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.data_parallel import average_gradients
from course_lib.data_parallel.zero import ShardedOptimizer
from course_lib.mesh.clipping import clip_gradients
from course_lib.mesh.coordinates import At, Mesh, MeshRank, own_places
from course_lib.mesh.hybrid import sum_near_and_far
from course_lib.mesh.stage import MeshChunks, MeshStage, largest_difference
from course_lib.pipeline import Schedule, one_forward_one_backward, run_schedule, sum_tied_gradients
from course_lib.tasks import GPT, next_token_loss

Batch = tuple[torch.Tensor, torch.Tensor]  # tokens and targets, [b, s] each
Part = MeshStage | MeshChunks  # what a rank has of the model


sgd = partial(torch.optim.SGD, lr=0.5)


@dataclass(frozen=True)
class MeshTraining:
    """How to train.

    Args:
        micro_batches: into how many each data rank cuts its part of the batch, as evenly as can be.
        schedule: of how many stages and micro-batches, who does what when.
        make_optimizer: from a list of parameters, one of torch's.
        sequence_parallel, recompute: fewer activations. zero: each data rank keeps a shard of the optimizer's states.
        clip: the largest norm of a gradient.
        all_reduce: how data ranks sum gradients; `precision.all_reduce_at_owners(torch.bfloat16)` sends half the bytes.

    Raises:
        ValueError: if there is no micro-batch, or zero is to use another all-reduce: its shards are reduced by a
            reduce-scatter.
    """

    micro_batches: int = 2
    schedule: Callable[[int, int], Schedule] = one_forward_one_backward
    make_optimizer: Callable[[Any], torch.optim.Optimizer] = sgd
    sequence_parallel: bool = False
    recompute: bool = False
    zero: bool = False
    clip: float | None = None
    all_reduce: Callable[..., None] = ring_all_reduce

    def __post_init__(self) -> None:
        at_least(1, micro_batches=self.micro_batches)
        if self.zero and self.all_reduce is not ring_all_reduce:
            name = getattr(self.all_reduce, "__name__", type(self.all_reduce).__name__)
            raise ValueError(f"zero reduces gradients by a reduce-scatter: it cannot use {name}")


class MeshResult(NamedTuple):
    """What a rank has to say after training.

    Attributes:
        losses: of each step, of this data and context rank's part of the batch, on the last stage only, 0 elsewhere. Of
            uneven parts each counts by its share, so that the mean over these ranks is always the whole batch's loss.
        norms: of each step's gradient, before clipping.
        difference: the largest between its weights and those of the reference model, if there was one.
    """

    at: At
    losses: list[float]
    norms: list[float]
    difference: float


def backward_on_mesh(part: Part, batch: Batch, training: MeshTraining, scale: float = 1.0) -> float:
    """Leave in this rank's parameters the gradients of its data rank's part of the batch; that part's loss.

    Each sequence counts alike: where data ranks or micro-batches do not divide the batch, a part's loss is weighed by
    its number of sequences. So the average over data ranks is the whole batch's gradient, and an empty part adds 0.

    Pipeline, context and tensor dimension work here, the data dimension does not: no message crosses it.

    Args:
        scale: by what the loss is multiplied for its gradients. Then call `precision.unscale` with the whole mesh's
            communicator, for each copy may overflow alone, and `update_on_mesh` only if all are finite.

    Raises:
        ValueError: if the batch is empty, tensor or (twice the) context ranks do not divide the sequence that they are
            to cut, or the schedule has not as many stages as the ranks.
    """
    here, stages = part.here, part.by_number
    inputs, targets = _micro_batches(here, batch, training)
    length = inputs[0].shape[1] // (here.mesh.tensor if training.sequence_parallel else 1)
    width = next(iter(stages.values())).blocks[0].attention_norm.normalized_shape[0]
    schedule = training.schedule(here.mesh.pipeline, training.micro_batches)
    if schedule.stages != len(stages) * here.mesh.pipeline:
        raise ValueError(f"a rank has {len(stages)} stages here, got {schedule.stages} on {here.mesh.pipeline} ranks")

    def loss_of(logits: torch.Tensor, number: int) -> torch.Tensor:
        share = len(logits) * here.mesh.data / len(batch[0])
        loss = share * stages[schedule.stages - 1].loss(logits, targets[number]) if share else logits.sum()
        return loss * scale

    def shape_of(_: int, number: int) -> tuple[int, ...]:
        return len(inputs[number]), length, width

    done = run_schedule(here.pipeline, schedule, stages, inputs, shape_of, loss_of, recompute=training.recompute)
    for stage in stages.values():
        stage.sum_shared_gradients()
    if part.tied:
        sum_tied_gradients(here.pipeline, schedule, cast(Any, stages))
    return sum(done.losses.values()) / scale


def _micro_batches(here: MeshRank, batch: Batch, training: MeshTraining) -> list[tuple[torch.Tensor, ...]]:
    """This data and context rank's tokens and targets in micro-batches, as even as can be."""
    sequences, length = batch[0].shape
    if not sequences:
        raise ValueError("a batch must have a sequence, got none")
    places = own_places(here.context, length)
    if training.sequence_parallel and len(places) % here.mesh.tensor:
        raise ValueError(f"{here.mesh.tensor} tensor ranks must divide the sequence, got {len(places)} places")
    own = (each[:, places].tensor_split(here.mesh.data)[here.at.data] for each in batch)
    return [each.tensor_split(training.micro_batches) for each in own]


def update_on_mesh(
    part: Part, optimizer: torch.optim.Optimizer | ShardedOptimizer, training: MeshTraining
) -> float | None:
    """Average the gradients over all copies, clip them and step; their norm before clipping, if they are."""
    sharded = optimizer if isinstance(optimizer, ShardedOptimizer) else None
    if sharded is None:
        _average(part, training)
    else:
        sharded.reduce_gradients()
    norm = None if training.clip is None else clip_gradients(part, training.clip, sharded)
    if sharded is None:
        optimizer.step()
    else:
        sharded.optimizer.step()
        sharded.publish()
    return norm


def _average(part: Part, training: MeshTraining) -> None:
    """Over data ranks; with context ranks these first sum shards for them."""
    here, all_reduce = part.here, training.all_reduce
    if here.mesh.context > 1:
        all_reduce = partial(sum_near_and_far, here.context, here.data, all_reduce=all_reduce)
    average_gradients(here.copies, part, all_reduce=all_reduce)


def part_of(here: MeshRank, whole: GPT, training: MeshTraining) -> Part:
    """This rank's part of a model: one stage, or as many as the schedule gives a rank."""
    stages = training.schedule(here.mesh.pipeline, training.micro_batches).stages
    if stages == here.mesh.pipeline:
        return MeshStage(here, whole, training.sequence_parallel)
    return MeshChunks(here, whole, training.sequence_parallel, stages // here.mesh.pipeline)


def optimizer_of(part: Part, training: MeshTraining) -> torch.optim.Optimizer | ShardedOptimizer:
    """The optimizer of this rank's part; with ZeRO-1 of its chunk of it."""
    if training.zero:
        return ShardedOptimizer(part.here.copies, part, training.make_optimizer, [part])
    return training.make_optimizer(part.parameters())


def train_on_mesh(
    comm: Communicator,
    mesh: Mesh,
    whole: GPT,
    batches: Sequence[Batch],
    training: MeshTraining | None = None,
    reference: GPT | None = None,
) -> MeshResult:
    """Train a GPT in parts, one step a batch, and compare this rank's part with a reference at the end."""
    training = training or MeshTraining()
    here = MeshRank(comm, mesh)
    part = part_of(here, whole, training)
    optimizer = optimizer_of(part, training)
    losses, norms = [], []
    for batch in batches:
        optimizer.zero_grad()
        losses.append(backward_on_mesh(part, batch, training))
        norm = update_on_mesh(part, optimizer, training)
        norms += [] if norm is None else [norm]
    difference = 0.0 if reference is None else largest_difference(part, reference)
    return MeshResult(here.at, losses, norms, difference)


def train_on_one_process(
    whole: GPT, batches: Sequence[Batch], training: MeshTraining | None = None
) -> tuple[list[float], list[float]]:
    """Train the whole model, in place, on whole batches: what a mesh must agree with. Its losses and gradient norms."""
    training = training or MeshTraining()
    optimizer = training.make_optimizer(whole.parameters())
    losses, norms = [], []
    for tokens, targets in batches:
        optimizer.zero_grad()
        loss = next_token_loss(whole(tokens), targets)
        loss.backward()
        if training.clip is not None:
            norms.append(float(torch.nn.utils.clip_grad_norm_(whole.parameters(), training.clip)))
        optimizer.step()
        losses.append(loss.item())
    return losses, norms
