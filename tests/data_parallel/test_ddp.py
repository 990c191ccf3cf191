"""On real processes ours and PyTorch's DistributedDataParallel make the same weights."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course_lib import run
from course_lib.collectives import pipelined_ring_all_reduce
from course_lib.data_parallel import DataParallel, broadcast_state, check_agreement, state_hash


def make_module(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 3))


def train(comm, model: nn.Module, optimizer_class: type, micro_batches: int) -> None:
    """Five steps on this rank's own random examples."""
    optimizer = optimizer_class(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(comm.rank)
    for _ in range(5):
        optimizer.zero_grad()
        with model.no_sync():
            for _ in range(micro_batches - 1):
                model(torch.randn(4, 6, generator=generator)).square().mean().backward()
        model(torch.randn(4, 6, generator=generator)).square().mean().backward()
        optimizer.step()


def both(comm, optimizer_class: type, micro_batches: int, **options) -> list[nn.Module]:
    """The module trained by ours and by PyTorch's."""
    ours, theirs = make_module(comm.rank), make_module(comm.rank)
    broadcast_state(comm, ours)
    train(comm, DataParallel(comm, ours, 1000, **options), optimizer_class, micro_batches)
    train(comm, DistributedDataParallel(theirs, bucket_cap_mb=0.001), optimizer_class, micro_batches)
    check_agreement(comm, ours)
    return [ours, theirs]


@pytest.mark.parametrize(
    ("options", "micro_batches"),
    [({}, 1), ({}, 3), ({"overlap": False}, 3), ({"all_reduce": pipelined_ring_all_reduce}, 1)],
    ids=["overlapped", "accumulated", "afterwards", "pipelined"],
)
def test_two_ranks_have_the_weights_of_ddp_to_the_last_bit(options: dict, micro_batches: int) -> None:
    for optimizer_class in (torch.optim.SGD, torch.optim.Adam):
        hashes = {
            state_hash(module)
            for pair in run(both, 2, (optimizer_class, micro_batches), options).results
            for module in pair
        }
        assert len(hashes) == 1


def test_three_ranks_have_the_weights_of_ddp_to_rounding() -> None:
    for ours, theirs in run(both, 3, (torch.optim.SGD, 2)).results:
        for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(mine, other)
        assert state_hash(ours) != state_hash(make_module(0))


def test_a_deep_copy_of_the_module_keeps_its_numbers_and_loses_the_ranks() -> None:
    def program(comm):
        module = nn.Linear(2, 1)
        DataParallel(comm, module)
        alone = copy.deepcopy(module)
        alone(torch.ones(1, 2)).sum().backward()
        return torch.equal(alone.weight, module.weight), len(comm.log.operations)

    assert run(program, 2).results == [(True, 0)] * 2
