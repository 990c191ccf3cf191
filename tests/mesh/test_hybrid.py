"""Shards near and copies far: the weights of one process, fewer bytes between nodes."""

from functools import partial

import pytest
import torch
from torch import nn

from course_lib import Network, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Link
from course_lib.data_parallel.zero import ShardedOptimizer, ShardedParameters, elements_held
from course_lib.mesh import hybrid_step, near_and_far, node_bytes
from course_lib.mesh.hybrid import sum_near_and_far

ADAM = partial(torch.optim.Adam, lr=0.01)
NODES = Network(bytes_per_s=1e10, ranks_per_node=4, outside=Link(1e-4, 1e9))
NUMBERS = 64 * 64 + 64 * 16


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU(), nn.Linear(64, 16, bias=False)).double()


def data():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.rand(64, 64, generator=generator, dtype=torch.float64)
    return inputs, torch.randint(16, (64,), generator=generator)


def train(comm, near, passes, sharding=ShardedParameters, whole=False):
    """Two steps; elements held, and if `whole` the weights."""
    inside, far = near_and_far(comm, near)
    sharded = sharding(inside, network(), ADAM)
    mine = [part.chunk(comm.world_size)[comm.rank].chunk(passes) for part in data()]
    for _ in range(2):
        sharded.zero_grad()
        for inputs, labels in zip(*mine, strict=True):
            (nn.functional.cross_entropy(sharded.module(inputs), labels) / passes).backward()
        hybrid_step(sharded, far)
    held = elements_held(sharded)
    if not whole:
        return held
    with sharded.whole() as module:
        return nn.utils.parameters_to_vector(module.parameters()).detach()


def alone():
    module = network()
    optimizer = ADAM(module.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(data()[0]), data()[1]).backward()
        optimizer.step()
    return nn.utils.parameters_to_vector(module.parameters()).detach()


@pytest.mark.parametrize("sharding", [ShardedOptimizer, ShardedParameters])
@pytest.mark.parametrize("near", [1, 2, 4])
def test_weights_are_those_of_one_process(sharding, near):
    for weights in simulate(train, 4, args=(near, 2, sharding, True)).results:
        torch.testing.assert_close(weights, alone(), atol=1e-12, rtol=0)


@pytest.mark.parametrize("ranks", [8, 16])
@pytest.mark.parametrize("passes", [1, 4])
def test_bytes_between_nodes_are_those_of_the_formula(ranks, passes):
    nodes, psi = ranks // 4, 8 * NUMBERS
    plain, hybrid = (simulate(train, ranks, args=(near, passes), network=NODES) for near in (ranks, 4))
    assert node_bytes(plain.trace, NODES)[1] == 2 * 3 * passes * nodes * psi * (ranks - 1) // ranks
    assert node_bytes(hybrid.trace, NODES)[1] == 2 * 2 * (nodes - 1) * psi
    assert plain.results[0].parameters * ranks == hybrid.results[0].parameters * 4 == NUMBERS
    assert hybrid.seconds < plain.seconds


@pytest.mark.parametrize("length", [0, 1, 7, 24])
@pytest.mark.parametrize("near", [1, 2, 3, 6])
def test_a_sum_near_and_far_is_an_all_reduce(near, length):
    def both(comm):
        rows = [torch.arange(length, dtype=torch.float64) * (comm.rank + 1) for _ in range(2)]
        sum_near_and_far(*near_and_far(comm, near), comm, rows[0])
        ring_all_reduce(comm, rows[1])
        return rows

    for one, other in simulate(both, 6).results:
        assert torch.equal(one, other)


def test_what_is_refused():
    with pytest.raises(Exception, match="near must divide the ranks, got 3 of 4"):
        simulate(lambda comm: near_and_far(comm, 3), 4)
