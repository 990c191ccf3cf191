"""Rule: torch's own clipping and scaling, which ask no other rank, refuse a part of a gradient and say what to use."""

import copy
import io
import pickle
from functools import partial

import pytest
import torch
from torch import nn

from course_lib import RankError, simulate
from course_lib.comm.group import PartGradient
from course_lib.data_parallel import DataParallel
from course_lib.data_parallel.clipping import clip_parts_
from course_lib.data_parallel.zero import ZERO_STAGES
from course_lib.pipeline import gpipe, run_schedule
from course_lib.tensor_parallel import ColumnParallelLinear, ExpertParallel


def zero(comm, stage, reduce):
    model = nn.Linear(2, 2)
    sharded = ZERO_STAGES[stage](comm, model, partial(torch.optim.SGD, lr=0.1))
    model(torch.ones(1, 2)).sum().backward()
    if not reduce:
        return list(model.parameters())
    sharded.reduce_gradients()
    return [unit.shard for unit in sharded.units]


def stage_of_a_pipeline(comm):
    stage = nn.Linear(2, 2)
    inputs = [torch.ones(1, 2)] * 2
    run_schedule(comm, gpipe(comm.world_size, 2), {comm.rank: stage}, inputs, lambda *_: (1, 2), lambda y, _: y.sum())
    return list(stage.parameters())


def layer(comm):
    column = ColumnParallelLinear(comm, nn.Linear(2, 4))
    column(torch.ones(1, 1, 2)).sum().backward()
    return list(column.parameters())


def experts(comm):
    each = nn.ModuleList(nn.Linear(2, 2) for _ in range(comm.world_size))
    model = ExpertParallel(comm, nn.Linear(2, comm.world_size), each, 4)
    model(torch.ones(4, 2)).sum().backward()
    return list(model.parameters())


PARTS = {
    **{f"ZeRO-{stage}": partial(zero, stage=stage, reduce=True) for stage in ZERO_STAGES},
    "ZeRO-1, not reduced yet": partial(zero, stage=1, reduce=False),
    "pipeline": stage_of_a_pipeline,
    "tensor-parallel": layer,
    "experts": experts,
}


def scales(parameters, **kwargs):
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones(()))
    scaler.step(torch.optim.Adam(parameters, **kwargs))


CLIPS, SCALES = r"clip_grad_norm_ sees only .*: clip by \S*clip_parts_", r"GradScaler sees only .*unscale\(gradients"
TORCHS = {
    "clips": (lambda parameters: nn.utils.clip_grad_norm_(parameters, 1.0), CLIPS),
    "clips by the largest": (lambda parameters: nn.utils.clip_grad_norm_(parameters, 1.0, float("inf")), CLIPS),
    "clips all at once": (lambda parameters: nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True), CLIPS),
    "scales": (scales, SCALES),
    "scales, fused": (partial(scales, fused=True), SCALES),
}


@pytest.mark.parametrize("name", TORCHS)
@pytest.mark.parametrize("kind", PARTS)
def test_torchs_own_is_refused_on_parts_and_works_where_a_rank_has_all(kind, name):
    call, words = TORCHS[name]

    def program(comm):
        call([parameter for parameter in PARTS[kind](comm) if parameter.grad is not None])

    simulate(program, 1)
    with pytest.raises(RankError, match=words):
        simulate(program, 2)


def test_it_works_with_copies_of_a_model():
    def program(comm):
        model = nn.Linear(2, 2)
        DataParallel(comm, model)(torch.ones(1, 2)).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scales(model.parameters())

    simulate(program, 2)


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_is_else_a_gradient_as_any_other(kind):
    def program(comm):
        parameters = [parameter for parameter in PARTS[kind](comm) if parameter.grad is not None]
        for parameter in parameters:
            gradient = parameter.grad
            if isinstance(gradient, PartGradient):
                assert repr(gradient) == repr(gradient.detach())
                for plain in (copy.deepcopy(gradient), pickle.loads(pickle.dumps(gradient)), gradient + 1, gradient[0]):
                    assert type(plain) is torch.Tensor
                torch.save(gradient, saved := io.BytesIO())
                assert torch.equal(torch.load(io.BytesIO(saved.getvalue()), weights_only=True), gradient)
            torch.linalg.vector_norm(gradient), gradient.norm(), gradient.mul_(2)
        optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.1)
        optimizer.step()
        assert {type(state["momentum_buffer"]) for state in optimizer.state.values()} <= {torch.Tensor}
        return any(isinstance(parameter.grad, PartGradient) for parameter in parameters)

    assert simulate(program, 2).results == [True, True]
    assert simulate(program, 1).results == [False]


def test_ranks_that_ask_two_groups_ask_them_in_one_order_whatever_their_parameters_order():
    def program(comm):
        row = comm.group([comm.rank // 2 * 2, comm.rank // 2 * 2 + 1])
        column = comm.group([comm.rank % 2, comm.rank % 2 + 2])
        layers = [ColumnParallelLinear(group, nn.Linear(1, 2, bias=False)) for group in (row, column)]
        for each in layers:
            each(torch.ones(1, 1, 1)).sum().backward()
        weights = [each.weight for each in layers]
        return clip_parts_(weights[::-1] if comm.rank in (0, 3) else weights, 1.0)

    assert simulate(program, 4).results == [2.0] * 4
