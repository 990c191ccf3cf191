"""Real models as graphs: the gradients of plain autograd, and the memory that the plan promises."""

import copy

import pytest
import torch
from torch import nn

from course_lib.checkpointing import PlanError, plan_peak, run_plan
from course_lib.checkpointing.graphs import (
    DenseNet,
    ResidualNet,
    UNet,
    cut_plan,
    graph_frontier,
    separator_plan,
    trace_model,
    tree_decomposition,
)
from course_lib.pipeline import HeldActivations

from .drawn import narrow_cuts

MODELS = {"residual": lambda: ResidualNet(2, 4), "unet": lambda: UNet(2, 4, 0.3), "dense": lambda: DenseNet(3, 4)}


def loss_of(y):
    return y.square().sum()


@pytest.fixture(params=MODELS)
def model(request):
    torch.manual_seed(1)
    return MODELS[request.param]()


@pytest.fixture
def x():
    return torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(2))


def plans_of(graph):
    frontier = graph_frontier(graph)
    best = [frontier[place].plan for place in (0, len(frontier) // 3, len(frontier) // 2, -1)]
    return [
        cut_plan(graph),
        cut_plan(graph, narrow_cuts(graph)),
        separator_plan(graph),
        separator_plan(graph, 6),
        *best,
    ]


def test_gradients_are_autograds_and_the_peak_is_the_promised_one(model, x):
    plain = copy.deepcopy(model)
    torch.manual_seed(0)
    loss_of(plain(x)).backward()
    for plan in plans_of(trace_model(model, x).graph):
        ours = copy.deepcopy(model)
        graph, functions = trace_model(ours, x)
        activations = HeldActivations([*ours.parameters(), *ours.buffers()])
        torch.manual_seed(0)
        run_plan(plan, graph, functions, {"x": x}, loss_of, activations)
        assert activations.peak_bytes == plan_peak(plan, graph)
        for a, b in zip(ours.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=0, atol=0)
        assert all(torch.equal(a, b) for a, b in zip(ours.buffers(), plain.buffers(), strict=True))


def test_the_widths_of_real_models(x):
    widths = {name: tree_decomposition(trace_model(make(), x).graph).width for name, make in MODELS.items()}
    assert widths == {"residual": 2, "unet": 2, "dense": 4}


def test_tracing_leaves_no_trace(model, x):
    before, random = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    trace_model(model, x)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert torch.equal(random, torch.get_rng_state())


def test_functions_and_methods_keep_their_other_arguments(x):
    class Other(nn.Module):
        def forward(self, x):
            return torch.cat([x, x.roll(1, dims=-1)], dim=1).mean(dim=(2, 3), keepdim=True).flatten(start_dim=1)

    graph, functions = trace_model(Other(), x.requires_grad_())
    run_plan(cut_plan(graph), graph, functions, {"x": x}, loss_of)
    expected = torch.autograd.grad(loss_of(Other()(x)), x)[0]
    assert torch.equal(x.grad, expected)
    assert graph["flatten"].view_of == "mean"
    assert all(plan_peak(each.plan, graph) == each.peak_bytes for each in graph_frontier(graph))


def test_two_inputs_and_parameters_outside_of_layers_are_refused(x):
    class Two(nn.Module):
        def forward(self, x, y):
            return x + y

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, x):
            return x * self.scale

    with pytest.raises(ValueError, match="a model of one input is needed; y is another"):
        trace_model(Two(), x)
    with pytest.raises(ValueError, match="scale is no layer and no function of values"):
        trace_model(Scale(), x)


def test_a_layer_that_works_in_place_is_refused(x):
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(inplace=True))
    graph, functions = trace_model(model, x)
    with pytest.raises(PlanError, match="changes its input in place"):
        run_plan(cut_plan(graph), graph, functions, {"x": x}, loss_of)
