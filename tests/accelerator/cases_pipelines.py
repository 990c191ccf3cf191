"""Cases of pipelines and meshes."""

from functools import partial

import torch
from cases import ADAM, CONFIG, Here, case, gradients, net, weights
from torch import nn

from course_lib import mesh as me
from course_lib import pipeline as pp
from course_lib.data_parallel.zero import ShardedParameters
from course_lib.faults import Checkpoints
from course_lib.pipeline import pipedream as pd
from course_lib.tasks import GPT, next_token_loss


class Stage(nn.Module):
    """A layer with dropout, for a pipeline."""

    def __init__(self, seed: int, dropout: float = 0.0) -> None:
        super().__init__()
        torch.default_generator.manual_seed(seed)
        self.layer, self.dropout = nn.Linear(6, 6), nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.layer(x).tanh())


def _pipeline(comm, here: Here, make, recompute=False, dropout=0.0):
    schedule, inputs = make(2, 4), here.rand(13, 6).tensor_split(4)
    own = sorted({operation.stage for operation in schedule.ranks[comm.rank]})
    stages = {stage: here.on(Stage(stage, dropout)) for stage in own}
    torch.manual_seed(comm.rank)  # of the device, too, as the stages' own seeds were not
    run = pp.run_schedule(
        comm,
        schedule,
        stages,
        inputs,
        lambda stage, number: (len(inputs[number]), 6),
        lambda y, number: y.square().sum(),
        recompute=recompute,
    )
    return [gradients(stage) for stage in stages.values()], sum(run.losses.values())


for _name, _make in (*pp.SCHEDULES.items(), ("DualPipe", pp.dual_pipe)):
    case(f"pipeline: {_name}", 2, covers=["run_schedule", "PipelineRank", "Inbox", "Outbox"])(
        partial(_pipeline, make=_make)
    )


@case("pipeline: recomputed dropout is the same dropout", 2)
def _(comm, here):
    plain, again = (
        _pipeline(comm, here, pp.one_forward_one_backward, recompute, dropout=0.5) for recompute in (False, True)
    )
    for kept, recomputed in zip(plain[0][0], again[0][0], strict=True):
        torch.testing.assert_close(kept, recomputed)
    return plain


@case("pipeline: a transformer with tied weights", 2)
def _(comm, here):
    schedule, tokens = pp.one_forward_one_backward(2, 2), here.whole(4, 8, low=0, high=24).chunk(2)
    stages = {number: here.on(stage) for number, stage in pp.gpt_stages(CONFIG, schedule, comm.rank).items()}
    run = pp.run_schedule(
        comm, schedule, stages, tokens, lambda *_: (2, 8, 12), lambda y, number: next_token_loss(y, tokens[number])
    )
    pp.sum_tied_gradients(comm, schedule, stages)
    return [gradients(stage) for stage in stages.values()], sum(run.losses.values())


def _pipedream(comm, here, rule):
    schedule, inputs = pd.asynchronous_1f1b((2, 1), 8), [here.rand(3, 6, seed=number) for number in range(8)]
    stage, settings = here.on(Stage(schedule.stage_of(comm.rank))), {"learning_rate": 0.1, "rule": rule}
    run = pd.train_asynchronously(
        comm, schedule, stage, inputs, lambda *_: (3, 6), lambda y, number: y.square().mean(), **settings
    )
    return weights(run.module), list(run.losses.values())


for _rule in pd.WEIGHT_RULES:
    case(
        f"PipeDream: {_rule}",
        covers=["train_asynchronously", "AsynchronousRank"],
        not_on_nccl="replicas sum their gradients when each has its own, which no schedule orders among the messages",
    )(partial(_pipedream, rule=_rule))


@case("PipeDream: digits", 2)
def _(comm, here):
    return weights(pd.train_digit_stage(comm, here.digits(), (1, 1), "stashing", 2, 4, 0.1, 2)[0])


def _tokens(here):
    return [[here.whole(8, 4, seed=seed + more, low=0, high=24) for more in (0, 9)] for seed in range(2)]


def _mesh(comm, here, shape, context=1, **settings):
    one, other = (here.on(GPT(CONFIG).double()) for _ in range(2))
    mesh = me.Mesh(*shape, context=context)
    run = me.train_on_mesh(comm, mesh, one, _tokens(here), me.MeshTraining(**settings), other)
    return run.losses, run.norms, run.difference


for _name, _ranks, _settings in (
    ("all three ways", 8, {"shape": (2, 2, 2)}),
    ("data", 2, {"shape": (2, 1, 1), "clip": 0.1}),
    ("pipeline", 2, {"shape": (1, 2, 1)}),
    ("tensor", 2, {"shape": (1, 1, 2)}),
    (
        "ZeRO, Adam, recomputed",
        4,
        {"shape": (2, 2, 1), "zero": True, "clip": 0.1, "make_optimizer": ADAM, "recompute": True},
    ),
    ("a cut sequence", 4, {"shape": (1, 2, 2), "sequence_parallel": True, "clip": 0.1}),
    ("interleaved chunks", 4, {"shape": (2, 2, 1), "schedule": pp.interleaved}),
    ("a cut context", 4, {"shape": (2, 1, 1), "context": 2}),
):
    case(f"mesh: {_name}", _ranks, covers=["train_on_mesh", "MeshRank", "MeshTraining"])(partial(_mesh, **_settings))


@case("mesh: sharded near, averaged far", 4)
def _(comm, here):
    near, far = me.near_and_far(comm, 2)
    zero = ShardedParameters(near, here.on(net()), ADAM)
    here.backward(zero.module)
    me.hybrid_step(zero, far)
    with zero.whole() as module:
        return weights(module)


def _mesh_saved(comm, here, second, **settings):
    training, found = me.MeshTraining(make_optimizer=ADAM, **settings), []
    checkpoints = Checkpoints(here.folder, comm)
    for step, shape in ((1, (2, 2, 1)), (2, second)):
        rank, whole = me.MeshRank(comm, me.Mesh(*shape)), here.on(GPT(CONFIG).double())
        part = me.part_of(rank, whole, training)
        optimizer = me.optimizer_of(part, training)
        if step == 2:
            me.load_on_mesh(checkpoints, 1, part, optimizer, whole)
        optimizer.zero_grad()
        me.backward_on_mesh(part, _tokens(here)[step - 1], training)
        me.update_on_mesh(part, optimizer, training)
        me.save_on_mesh(checkpoints, step, part, optimizer, whole)
        found.append(weights(part))
        comm.barrier()
    return found


case("mesh: saved, and loaded in another layout", 4)(partial(_mesh_saved, second=(1, 2, 2)))
case("mesh: saved, and loaded in another layout, ZeRO", 4)(partial(_mesh_saved, second=(4, 1, 1), zero=True))
