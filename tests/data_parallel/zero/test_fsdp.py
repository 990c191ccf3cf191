"""On real processes our three stages make the weights of FSDP2, and stage 3 holds as many elements as FSDP2 does."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from course_lib import run
from course_lib.data_parallel.zero import ZERO_STAGES, elements_held

ADAM = partial(torch.optim.Adam, lr=0.05)
MOMENTUM = partial(torch.optim.SGD, lr=0.05, momentum=0.9)


def make_module() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 12), nn.ReLU(), nn.Linear(12, 12))


def train(module: nn.Module, rank: int, zero_grad, step) -> None:
    """Four steps on this rank's own examples; the gradients of the last one are still there at the end."""
    generator = torch.Generator().manual_seed(rank)
    for _ in range(4):
        zero_grad()
        module(torch.randn(4, 6, generator=generator)).square().mean().backward()
        step()


def with_fsdp2(comm, make_optimizer) -> tuple[list[torch.Tensor], tuple[int, int, int]]:
    """The whole weights, and this rank's elements of parameters, gradients and states."""
    module, mesh = make_module(), init_device_mesh("cpu", (comm.world_size,))
    for layer in [module[0], module[2], module[4]]:
        fully_shard(layer, mesh=mesh)
    fully_shard(module, mesh=mesh)
    optimizer = make_optimizer(module.parameters())
    train(module, comm.rank, optimizer.zero_grad, optimizer.step)
    parameters = list(module.parameters())
    states = [value for state in optimizer.state.values() for value in state.values() if isinstance(value, DTensor)]
    counts = [sum(t.to_local().numel() for t in kind) for kind in (parameters, [p.grad for p in parameters], states)]
    return [parameter.full_tensor().detach() for parameter in parameters], tuple(counts)


def with_ours(comm, make_optimizer, stage: int) -> tuple[list[torch.Tensor], tuple[int, int, int]]:
    module = make_module()
    sharded = ZERO_STAGES[stage](comm, module, make_optimizer)
    train(module, comm.rank, sharded.zero_grad, sharded.step)
    held = elements_held(sharded)
    with sharded.whole():
        return [parameter.detach().clone() for parameter in module.parameters()], tuple(held)


def all_ways(comm) -> dict:
    """What FSDP2 and the three stages leave on this rank, with either optimizer."""
    return {
        name: [with_fsdp2(comm, make), *(with_ours(comm, make, stage) for stage in ZERO_STAGES)]
        for name, make in {"Adam": ADAM, "momentum": MOMENTUM}.items()
    }


@pytest.fixture(scope="module", params=[2, 3])
def trained(request) -> tuple[int, list[dict]]:
    """The number of ranks, and what each rank has."""
    return request.param, run(all_ways, request.param).results


@pytest.mark.parametrize("optimizer", ["Adam", "momentum"])
def test_all_stages_make_the_weights_of_fsdp2(trained: tuple, optimizer: str) -> None:
    for rank in trained[1]:
        (theirs, _), *ours = rank[optimizer]
        for weights, _ in ours:
            for mine, other in zip(weights, theirs, strict=True):
                torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)


def test_a_rank_holds_as_many_elements_as_with_fsdp2(trained: tuple) -> None:
    world_size, ranks = trained
    # 2 and 3 divide the rows of every layer and the length of every unit: FSDP2's shards have no padding.
    whole = sum(parameter.numel() for parameter in make_module().parameters())
    for rank in ranks:
        (_, theirs), (_, first), (_, second), (_, third) = rank["momentum"]
        assert third == theirs == (whole // world_size,) * 3
        assert second == (whole, whole // world_size, whole // world_size)
        assert first == second  # after a step; before it, stage 1 holds whole gradients
