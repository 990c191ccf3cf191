"""Cores of a TT-layer in the data-parallel wrapper: the gradient of the joined batch, for a fraction of the bytes."""

import pytest
import torch
from torch import nn

from course_lib import run, simulate
from course_lib.data_parallel import DataParallel, split_batch
from course_lib.decomposition import TTLinear

BATCH = torch.randn(7, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def layer(form: str) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        made = nn.Linear(12, 30) if form == "dense" else TTLinear((3, 4), (5, 6), ranks=2)
    return made.double()


def gradients(comm, form: str) -> list[torch.Tensor]:
    model = DataParallel(comm, layer(form))
    part = split_batch(BATCH, comm.world_size)[comm.rank]
    model.share = len(part) / len(BATCH)
    model(part).square().mean().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("execute", [simulate, run])
@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_every_rank_has_the_gradient_of_the_joined_batch_and_sends_its_cores_alone(execute, world_size):
    whole = layer("tensor train")
    whole(BATCH).square().mean().backward()
    report = execute(gradients, world_size, args=("tensor train",))
    for found in report.results:
        for a, parameter in zip(found, whole.parameters(), strict=True):
            assert torch.allclose(a, parameter.grad, atol=1e-14)
    numbers = 3 * 5 * 2 + 2 * 4 * 6 + 30  # two cores and a bias
    assert report.trace.total_bytes == 2 * (world_size - 1) * 8 * numbers


def test_the_dense_layer_sends_as_much_more_as_it_has_more_parameters():
    dense, train = (simulate(gradients, 4, args=(form,)).trace.total_bytes for form in ("dense", "tensor train"))
    assert dense / train == (12 * 30 + 30) / (3 * 5 * 2 + 2 * 4 * 6 + 30)
