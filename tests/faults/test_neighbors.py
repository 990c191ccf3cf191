"""A copy in a neighbor's memory: whoever forgets goes on to the bit, and who has whose copy decides what is lost."""

import math
from functools import partial

import pytest
import torch
from torch import nn

from course_lib import run, simulate
from course_lib.data_parallel import state_hash
from course_lib.data_parallel.zero import ShardedOptimizer
from course_lib.faults import NeighborCopy, lost_share

ADAM = partial(torch.optim.Adam, lr=0.01)
MOMENTUM = partial(torch.optim.SGD, lr=0.1, momentum=0.9)


def train(comm, make_optimizer, lost=None, steps=4):
    """Some steps with a copy after each; after the second one rank forgets all, after the third another."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 2))  # 18 and 8 numbers: uneven shards
    zero = ShardedOptimizer(comm, model, make_optimizer)
    copy = NeighborCopy(comm, zero)
    for step in range(steps):
        inputs = torch.rand(4, 5, generator=torch.Generator().manual_seed(10 * step + comm.rank))
        zero.zero_grad()
        model(inputs).square().mean().backward()
        zero.step()
        copy.save()
        for rank in [lost, (lost + 2) % comm.world_size][step - 1 : step] if lost is not None else []:
            if comm.rank == rank:
                copy.forget()
            copy.restore(rank)
    return state_hash(model)


@pytest.mark.parametrize("make_optimizer", [ADAM, MOMENTUM])
@pytest.mark.parametrize("ranks", [2, 3, 5, 20])
def test_who_forgets_goes_on_to_the_bit(ranks, make_optimizer):
    expected = set(simulate(train, ranks, args=(make_optimizer,)).results)
    assert len(expected) == 1
    for lost in {0, 1, ranks - 1}:
        assert set(simulate(train, ranks, args=(make_optimizer, lost)).results) == expected


def test_real_processes_do_the_same():
    expected = simulate(train, 3, args=(ADAM,)).results
    assert run(train, 3, args=(ADAM, 2), device="cpu").results == expected


def test_a_copy_sends_each_ranks_part_once():
    def one_copy(comm, copies):
        model = nn.Linear(11, 1)  # 12 numbers
        zero = ShardedOptimizer(comm, model, ADAM)
        model(torch.ones(1, 11)).sum().backward()
        zero.step()
        for _ in range(copies):
            NeighborCopy(comm, zero).save()

    with_copy, without = (simulate(one_copy, 4, args=(copies,)).trace.total_bytes for copies in (1, 0))
    assert with_copy - without == 4 * (3 * 12 + 4)  # weights and two moments; Adam's count of steps on each rank


@pytest.mark.parametrize("machines", [4, 8, 16])
def test_two_deaths_lose_the_neighbors_only(machines):
    ring = [(m, (m + 1) % machines) for m in range(machines)]
    pairs = [(m, m ^ 1) for m in range(machines)]
    assert lost_share(ring, 1) == lost_share(pairs, 1) == 0
    assert lost_share(ring, 2) == pytest.approx(machines / math.comb(machines, 2))
    assert lost_share(pairs, 2) == pytest.approx(machines / 2 / math.comb(machines, 2))
    assert lost_share(pairs, machines) == 1


def test_what_is_refused():
    with pytest.raises(Exception, match="ranks must be at least 2, got 1"):
        simulate(train, 1, args=(ADAM,))
    with pytest.raises(ValueError, match="3 of 2 machines cannot die"):
        lost_share([(0, 1), (1, 0)], 3)


def test_a_copy_from_before_the_optimizers_first_step_is_followed_by_one_with_its_states():
    def saves_twice(comm):
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        zero = ShardedOptimizer(comm, model, ADAM)
        copy = NeighborCopy(comm, zero)
        copy.save()
        kept = len(zero.optimizer.state)  # to save makes no state
        for _ in range(2):
            zero.zero_grad()
            model(torch.ones(1, 3)).sum().backward()
            zero.step()
            copy.save()
        before = state_hash(model)
        if comm.rank == 1:
            copy.forget()
        copy.restore(1)
        return kept, before == state_hash(model)

    assert simulate(saves_twice, 3).results == [(0, True)] * 3
