"""Our plans beside `torch.utils.checkpoint`: the same gradients, the same memory to the byte."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

from course_lib.checkpointing import (
    LiveMemory,
    chain_of,
    layers_of,
    plan_chain,
    plan_cost,
    plan_peak,
    run_plan,
    segment_plan,
    store_segment,
    torch_segments,
)

DEPTH, WIDTH, BATCH = 6, 16, 64


def network() -> nn.Sequential:
    torch.manual_seed(0)
    blocks = ([nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.ReLU(), nn.Dropout(0.2)] for _ in range(DEPTH))
    return nn.Sequential(*(layer for block in blocks for layer in block))


def measured(model, step):
    """(peak of all memory, gradients) of one step with gradients at hand."""
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    torch.manual_seed(1)
    with LiveMemory() as memory:
        step()
    return memory.peak_bytes, [parameter.grad.clone() for parameter in model.parameters()]


def by_plan(model, plan, chain, x):
    return measured(model, lambda: run_plan(plan, chain, layers_of(model), {0: x}, torch.sum))


def torchs(model, segments, x):
    return model(x) if segments == 1 else checkpoint_sequential(model, segments, x, use_reentrant=False)


@pytest.mark.parametrize("segments", [1, 2, 4, 5, 24])
def test_the_plan_of_torchs_segments_takes_torchs_memory_and_gives_its_gradients(segments):
    model, x = network(), torch.randn(BATCH, WIDTH)
    chain, plan = chain_of(model, x), segment_plan(torch_segments(len(model), segments))
    peak, gradients = measured(model, lambda: torchs(model, segments, x).sum().backward())
    ours, others = by_plan(model, plan, chain, x)
    assert all(torch.equal(a, b) for a, b in zip(gradients, others, strict=True))
    assert ours <= peak
    best = plan_chain(chain, plan_peak(plan, chain))
    ours, others = by_plan(model, best, chain, x)
    assert all(torch.equal(a, b) for a, b in zip(gradients, others, strict=True))
    assert ours <= peak * 1.01
    assert plan_cost(best, chain) < plan_cost(plan, chain) or segments == 1


def test_all_memory_is_the_plans_and_the_gradients_on_their_way():
    model, x = network(), torch.randn(BATCH, WIDTH)
    chain = chain_of(model, x)
    for plan in (store_segment(0, len(model)), segment_plan(torch_segments(len(model), 4))):
        peak, _ = by_plan(model, plan, chain, x)
        assert 0 <= peak + x.nbytes - plan_peak(plan, chain) <= 3 * x.nbytes  # x was there before
