"""torch's partitioner: the same gradients, what it keeps by budget, and what a step takes all the same."""

import pytest
import torch

from course_lib.checkpointing import plan_peak, run_plan
from course_lib.checkpointing.graphs import (
    ResidualNet,
    cut_plan,
    graph_frontier,
    measure_step,
    partitioned_step,
    trace_model,
)


def loss_of(y):
    return y.square().sum()


@pytest.fixture
def model():
    torch.manual_seed(0)
    return ResidualNet(3, 4)


@pytest.fixture
def x():
    return torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(2))


def test_the_allocators_peak_falls_as_the_plan_promises(model, x):
    graph, functions = trace_model(model, x)
    everything, least = cut_plan(graph), graph_frontier(graph)[0].plan
    steps = [
        measure_step(lambda p=p: run_plan(p, graph, functions, {"x": x}, loss_of), model) for p in (everything, least)
    ]
    saved = plan_peak(everything, graph) - plan_peak(least, graph)
    assert steps[0].peak_bytes - steps[1].peak_bytes > 0.7 * saved
    assert steps[0].convolutions == 7 < steps[1].convolutions


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_keeps_less_for_a_smaller_budget_with_the_same_gradients(model, x):
    plain = measure_step(lambda: loss_of(model(x)).backward(), model)
    steps = {budget: partitioned_step(model, x, loss_of, budget) for budget in (1.0, 0.5, 0.0)}
    assert steps[1.0].saved_bytes > steps[0.5].saved_bytes > steps[0.0].saved_bytes == 0
    assert [step.convolutions for step in steps.values()] == sorted(step.convolutions for step in steps.values())
    assert steps[0.0].convolutions == 2 * plain.convolutions == 14
    for step in steps.values():
        for a, b in zip(step.gradients, plain.gradients, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    assert steps[0.0].peak_bytes > 0.9 * plain.peak_bytes  # everything is recomputed before any of it is used
