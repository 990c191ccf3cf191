"""Experts on several ranks equal a loop over them on one process; dropped tokens are counted."""

import pytest
import torch
from torch import nn

from course_lib import RankError, run, simulate
from course_lib.tensor_parallel import ExpertParallel, capacity_of, mixture_on_one_process, route

TOKENS = torch.randn(64, 6, generator=torch.Generator().manual_seed(0)).double()


def mixture() -> tuple[nn.Linear, nn.ModuleList]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        experts = nn.ModuleList(nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6)) for _ in range(4))
        return nn.Linear(6, 4).double(), experts.double()


def one_step(comm, capacity):
    router, experts = mixture()
    layer = ExpertParallel(comm, router, experts, capacity)
    x = TOKENS.chunk(comm.world_size)[comm.rank].clone().requires_grad_()
    y = layer(x)
    (y**2).sum().backward()
    expert_grads = [p.grad for e in layer.experts for p in e.parameters()]
    return y.detach(), x.grad, expert_grads, layer.routing.dropped, [p.grad for p in router.parameters()]


@pytest.mark.parametrize("factor", [0.5, 1.25, 4.0])
@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_they_equal_a_loop_on_one_process(world_size, factor):
    capacity = capacity_of(64 // world_size, experts=4, factor=factor)
    results = simulate(one_step, world_size, args=(capacity,)).results
    router, experts = mixture()
    parts = [part.clone().requires_grad_() for part in TOKENS.chunk(world_size)]
    made = [mixture_on_one_process(router, experts, part, capacity) for part in parts]
    sum((y**2).sum() for y in made).backward()
    for (y, x_grad, *_), right, part in zip(results, made, parts, strict=True):
        torch.testing.assert_close(y, right.detach(), rtol=0, atol=1e-12)
        torch.testing.assert_close(x_grad, part.grad, rtol=0, atol=1e-12)
    gradients = [gradient for result in results for gradient in result[2]]
    for came, parameter in zip(gradients, experts.parameters(), strict=True):
        torch.testing.assert_close(came, parameter.grad, rtol=0, atol=1e-11)
    for number, parameter in enumerate(router.parameters()):  # each rank's is of its own tokens
        total = sum(result[4][number] for result in results)
        torch.testing.assert_close(total, parameter.grad, rtol=0, atol=1e-11)
    dropped = sum(result[3] for result in results)
    assert (dropped > 0) == (factor < 1) if factor != 1.25 else dropped < 16


def test_real_processes_do_the_same():
    results, simulated = (how(one_step, 2, args=(20,)).results for how in (run, simulate))
    assert all(torch.equal(a[0], b[0]) for a, b in zip(results, simulated, strict=True))


def test_tokens_beyond_the_capacity_are_dropped_in_their_order():
    routing = route(torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0], [4.0, 0.0]]), capacity=2)
    assert routing.expert.tolist() == [0, 0, 1, 0]
    assert routing.slot.tolist() == [0, 1, 0, 2]
    assert routing.kept.tolist() == [True, True, True, False]
    assert routing.dropped == 1


def test_ranks_must_divide_the_experts_and_the_router_score_them():
    with pytest.raises(RankError, match="the router scores 4 experts, and there are 2"):
        simulate(lambda comm: ExpertParallel(comm, mixture()[0], mixture()[1][:2], capacity=1), 2)
    with pytest.raises(RankError, match="3 ranks must divide the experts, got 4"):
        simulate(lambda comm: ExpertParallel(comm, *mixture(), capacity=1), 3)


def test_without_an_expert_there_is_no_capacity():
    assert capacity_of(0, experts=4) == 0
    with pytest.raises(ValueError, match="experts must be at least 1, got 0"):
        capacity_of(4, experts=0)
