"""Rule: a step is taken by all ranks that have parts of a model or by none, wherever the overflow lies."""

import copy
from functools import partial

import pytest
import torch
from torch import nn

from course_lib import run, simulate
from course_lib.data_parallel import DataParallel
from course_lib.data_parallel.zero import ZERO_STAGES
from course_lib.pipeline.executor import run_schedule
from course_lib.pipeline.schedules import SCHEDULES
from course_lib.precision import DynamicScaler, MasterWeights, mixed_step, unscale
from course_lib.tensor_parallel import ColumnParallelLinear, ExpertParallel, RowParallelLinear


def zero(comm, stage):
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    sharded = ZERO_STAGES[stage](comm, model, partial(torch.optim.SGD, lr=0.1))
    model(torch.ones(1, 2)).sum().backward()
    sharded.reduce_gradients()
    return [unit.shard.grad for unit in sharded.units]


def pipeline(comm):
    stage = nn.Linear(4, 4)
    schedule, inputs = SCHEDULES["1F1B"](comm.world_size, 2), [torch.ones(1, 4)] * 2
    run_schedule(comm, schedule, {comm.rank: stage}, inputs, lambda s, i: (1, 4), lambda y, i: y.sum())
    return [parameter.grad for parameter in stage.parameters()]


def tensor_parallel(comm):
    model = nn.Sequential(
        ColumnParallelLinear(comm, nn.Linear(4, 12)), nn.GELU(), RowParallelLinear(comm, nn.Linear(12, 4))
    )
    model(torch.ones(1, 1, 4)).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


def experts(comm):
    each = nn.ModuleList(nn.Linear(2, 2) for _ in range(comm.world_size))
    model = ExpertParallel(comm, nn.Linear(2, comm.world_size), each, 4)
    model(torch.ones(4, 2)).sum().backward()
    return [parameter.grad for parameter in model.experts.parameters() if parameter.grad is not None]


def tensor_parallel_of_many_copies(comm):
    """Both dimensions of a mesh: rows of ranks have parts, columns have copies; buckets take the gradients."""
    pair = comm.group([comm.rank // 2 * 2, comm.rank // 2 * 2 + 1])
    copies = comm.group([comm.rank % 2, comm.rank % 2 + 2])
    model = nn.Sequential(ColumnParallelLinear(pair, nn.Linear(4, 4)), RowParallelLinear(pair, nn.Linear(4, 4)))
    DataParallel(copies, model)(torch.ones(1, 1, 4)).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


def tensor_parallel_in_shards(comm):
    pair, copies = (
        comm.group([comm.rank // 2 * 2, comm.rank // 2 * 2 + 1]),
        comm.group([comm.rank % 2, comm.rank % 2 + 2]),
    )
    model = nn.Sequential(ColumnParallelLinear(pair, nn.Linear(4, 4)), RowParallelLinear(pair, nn.Linear(4, 4)))
    sharded = ZERO_STAGES[1](copies, model, partial(torch.optim.SGD, lr=0.1))
    model(torch.ones(1, 1, 4)).sum().backward()
    sharded.reduce_gradients()
    return [unit.shard.grad for unit in sharded.units]


def before_zero_has_reduced(comm):
    model = nn.Linear(2, 2)
    ZERO_STAGES[1](comm, model, partial(torch.optim.SGD, lr=0.1))
    model(torch.ones(1, 2)).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


def of_a_column(comm, change):
    """A layer after something has been done with it: its gradients."""
    layer = change(ColumnParallelLinear(comm, nn.Linear(2, 6)))
    layer(torch.ones(1, 1, 2)).sum().backward()
    return [parameter.grad for parameter in layer.parameters()]


def loaded_in_its_place(layer):
    layer.load_state_dict({name: value.clone() for name, value in layer.state_dict().items()}, assign=True)
    return layer


def frozen_before(comm):
    layer = ColumnParallelLinear(comm, nn.Linear(2, 6).requires_grad_(False)).requires_grad_(True)
    layer(torch.ones(1, 1, 2)).sum().backward()
    return [parameter.grad for parameter in layer.parameters()]


def copied_experts(comm):
    each = nn.ModuleList(nn.Linear(2, 2) for _ in range(comm.world_size))
    model = copy.deepcopy(ExpertParallel(comm, nn.Linear(2, comm.world_size), each, 4))
    model(torch.ones(4, 2)).sum().backward()
    return [parameter.grad for parameter in model.experts.parameters()]


def copied_into_shards(comm):
    layer = copy.deepcopy(ColumnParallelLinear(comm, nn.Linear(2, 6)))
    alone = comm.group([comm.rank])
    sharded = ZERO_STAGES[2](alone, layer, partial(torch.optim.SGD, lr=0.1))
    layer(torch.ones(1, 1, 2)).sum().backward()
    return [unit.shard.grad for unit in sharded.units]


KINDS = {
    "ZeRO-1, not reduced yet": (before_zero_has_reduced, 3),
    "a layer's copy": (partial(of_a_column, change=copy.deepcopy), 3),
    "a layer's copy, in shards": (copied_into_shards, 3),
    "a layer whose weights were replaced": (partial(of_a_column, change=loaded_in_its_place), 3),
    "a layer that was frozen": (frozen_before, 3),
    "copies of gradients": (lambda comm: [each.clone() for each in tensor_parallel(comm)], 3),
    "gradients in fp64": (lambda comm: [each.double() for each in tensor_parallel(comm)], 3),
    "gradients times a number": (lambda comm: [each / 2 * 3 for each in tensor_parallel(comm)], 3),
    "experts' copy": (copied_experts, 2),
    **{f"ZeRO-{stage}": (partial(zero, stage=stage), 3) for stage in ZERO_STAGES},
    "pipeline": (pipeline, 3),
    "tensor-parallel": (tensor_parallel, 3),
    "experts": (experts, 2),
    "tensor-parallel, ZeRO": (tensor_parallel_in_shards, 4),
}


def decides(comm, gradients_of, where, parts=None):
    torch.manual_seed(0)
    gradients, scaler = gradients_of(comm), DynamicScaler(scale=8.0)
    if comm.rank % (parts or comm.world_size) in where:
        gradients[-1].view(-1)[0] = float("inf")
    finite = unscale(gradients, scaler.scale)
    scaler.update(finite)
    return finite, scaler.scale


@pytest.mark.parametrize("kind", KINDS)
def test_all_ranks_skip_a_step_or_none(kind):
    gradients_of, ranks = KINDS[kind]
    for where in [(), *((rank,) for rank in range(ranks)), (0, ranks - 1)]:
        right = (False, 4.0) if where else (True, 8.0)
        assert simulate(decides, ranks, args=(gradients_of, where)).results == [right] * ranks


@pytest.mark.parametrize("where", [(), (0,), (1,)])
def test_all_copies_of_all_parts_skip_a_step_or_none(where):
    right = (False, 4.0) if where else (True, 8.0)
    assert simulate(decides, 4, args=(tensor_parallel_of_many_copies, where, 2)).results == [right] * 4


def test_real_processes_do_the_same():
    assert run(decides, 2, args=(partial(zero, stage=3), (1,)), device="cpu").results == [(False, 4.0)] * 2


@pytest.mark.parametrize("says", [True, False])
def test_parts_that_are_no_parts_of_the_course_are_told_by_comm(says):
    """Without it each rank decides alone, as a model of its own would."""

    def steps(comm):
        model = nn.Linear(1, 1, bias=False)
        nn.init.constant_(model.weight, 1.0)
        master, scaler = MasterWeights(model), DynamicScaler(scale=4.0)
        optimizer = torch.optim.SGD(master.parameters, lr=1.0)
        x = torch.full((1, 1), 60000.0 if comm.rank else 1.0).half()
        return mixed_step(master, optimizer, scaler, lambda: model(x).float().sum(), comm if says else None)[1]

    assert simulate(steps, 2).results == ([False, False] if says else [True, False])


def test_masters_gradients_know_their_ranks_as_the_models_do():
    def steps(comm):
        torch.manual_seed(0)
        model = ColumnParallelLinear(comm, nn.Linear(2, 4))
        master, scaler = MasterWeights(model, torch.bfloat16), DynamicScaler(scale=4.0)
        optimizer = torch.optim.SGD(master.parameters, lr=1.0)
        factor = float("inf") if comm.rank else 1.0
        x = torch.ones(1, 1, 2).bfloat16()
        return mixed_step(master, optimizer, scaler, lambda: model(x).float().sum() * factor)[1]

    assert simulate(steps, 2).results == [False, False]


@pytest.mark.parametrize("start", [2.0**16, 2.0**-120, 1e-40])
def test_a_scale_never_leaves_what_fp32_holds(start):
    scaler = DynamicScaler(scale=start, growth_interval=1)
    for _ in range(1200):
        scaler.update(finite=False)
    assert torch.tensor(scaler.scale).item() == scaler.scale > 0 or start < 2.0**-126
    for _ in range(1200):
        scaler.update(finite=True)
    assert 2.0**126 < scaler.scale <= torch.finfo(torch.float32).max
