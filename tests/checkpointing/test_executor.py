"""Any plan on real layers: the gradients of plain autograd to the last bit, and the peak that was promised."""

import copy
import random

import pytest
import torch
from torch import nn

from course_lib.checkpointing import (
    Action,
    Graph,
    Node,
    PlanError,
    chain_of,
    layers_of,
    plan_peak,
    read_plan,
    run_plan,
)
from course_lib.pipeline import HeldActivations


def network() -> nn.Sequential:
    """Layers of every kind that a plan could get wrong: random ones, running statistics, views, masks, indices."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.3),
        nn.Flatten(),
        nn.Linear(64, 12),
        nn.LayerNorm(12),
        nn.GELU(),
        nn.Dropout(0.5),
        nn.Linear(12, 3),
    )


def batch() -> torch.Tensor:
    return torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(1))


def random_plan(length: int, seed: int) -> list[Action]:
    """A plan that runs, holds and recomputes without sense, and can be carried out."""
    draw, held, plan = random.Random(seed), {0}, []

    def compute(kind: str, node: int) -> None:
        start = max(each for each in held if each < node)
        for each in [*range(start + 1, node), node]:
            plan.append(Action(kind if each == node else "run", each))
            held.add(each)
            for old in [old for old in held if old not in (0, each) and draw.random() < 0.5]:
                plan.append(Action("free", old))
                held.remove(old)

    for node in range(length, 0, -1):
        if draw.random() < 0.3:
            compute("run", draw.randrange(1, length + 1))
        compute("store", node)
        plan.append(Action("back", node))
    return plan


def with_moves(plan: list[Action], graph: Graph, seed: int) -> list[Action]:
    """The same, and some values go to the host as soon as they are made, and come back."""
    draw, longer = random.Random(seed), []
    for action in plan:
        longer.append(action)
        if action.kind in ("run", "store") and graph[action.node].view_of is None and draw.random() < 0.4:
            longer += [Action("move", action.node), Action("fetch", action.node)]
    return longer


def plain_step(model: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(5)
    loss = model(x).square().sum()
    loss.backward()
    return loss


@pytest.mark.parametrize("seed", range(12))
def test_gradients_are_those_of_plain_autograd_to_the_last_bit(seed):
    plain, planned = network(), network()
    loss, x = plain_step(plain, batch()), batch()
    drawn = torch.get_rng_state()
    graph = chain_of(planned, x)
    torch.manual_seed(5)
    plan = with_moves(random_plan(len(planned), seed), graph, seed)
    ours = run_plan(plan, graph, layers_of(planned), {0: x}, lambda y: y.square().sum())
    assert torch.equal(ours, loss)
    for name, parameter in plain.named_parameters():
        assert torch.equal(planned.get_parameter(name).grad, parameter.grad), name
    for name, buffer in plain.named_buffers():  # updated once, however often their layer ran
        assert torch.equal(planned.get_buffer(name), buffer), name
    assert torch.equal(torch.get_rng_state(), drawn)  # as many random numbers were drawn


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("input_learns", [False, True])
def test_the_peak_that_the_plan_promises_is_measured(seed, input_learns):
    model, x = network(), batch().requires_grad_(input_learns)
    graph = chain_of(model, x)
    plan = with_moves(random_plan(len(model), seed), graph, seed)
    activations = HeldActivations([*model.parameters(), *model.buffers()])
    run_plan(plan, graph, layers_of(model), {0: x}, lambda y: y.sum(), activations)
    assert activations.peak_bytes == plan_peak(plan, graph)


def test_the_input_gets_its_gradient():
    plain, x, other = network(), batch().requires_grad_(), batch().requires_grad_()
    planned = copy.deepcopy(plain)
    plain_step(plain, x)
    torch.manual_seed(5)
    plan = random_plan(len(planned), 3)
    run_plan(plan, chain_of(planned, other), layers_of(planned), {0: other}, lambda y: y.square().sum())
    assert torch.equal(other.grad, x.grad)


def test_measuring_leaves_no_trace():
    model, before = network(), copy.deepcopy(network().state_dict())
    state = torch.get_rng_state()
    chain_of(model, batch())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


def test_a_layer_that_two_places_share_gets_both_gradients():
    layer, x = nn.Linear(5, 5), torch.randn(3, 5)
    model = nn.Sequential(layer, nn.Tanh(), layer, nn.Tanh(), layer)
    model(x).sum().backward()
    plain, layer.weight.grad, layer.bias.grad = layer.weight.grad, None, None
    run_plan(random_plan(5, 0), chain_of(model, x), layers_of(model), {0: x}, torch.sum)
    assert torch.equal(layer.weight.grad, plain)


def test_frozen_layers_take_part():
    model, x = network(), batch()
    model[0].requires_grad_(False)
    model[1].requires_grad_(False)
    plain = copy.deepcopy(model)
    plain_step(plain, x)
    graph = chain_of(model, x)
    assert (graph[1].needs, graph[2].needs, graph[2].stored_bytes) == ((), (), 0)
    torch.manual_seed(5)
    run_plan(random_plan(len(model), 2), graph, layers_of(model), {0: x}, lambda y: y.square().sum())
    assert model[0].weight.grad is None
    assert torch.equal(model[6].weight.grad, plain[6].weight.grad)


def test_a_graph_with_a_residual_is_carried_out_too():
    layer, x = nn.Linear(5, 5), torch.randn(3, 5)
    (x + layer(x).relu()).sum().backward()
    plain, layer.weight.grad = layer.weight.grad, None
    graph = {"x": Node(), "a": Node(("x",), ("x",)), "b": Node(("a",), ("b",)), "c": Node(("x", "b"))}
    functions = {"a": layer, "b": torch.relu, "c": torch.add}
    plan = read_plan("run a, run b, free a, store c, free b, back c, store a, store b, back b, back a")
    run_plan(plan, graph, functions, {"x": x}, torch.sum)
    assert torch.equal(layer.weight.grad, plain)


@pytest.mark.parametrize("first", ["", "run 1, run 2, "])
def test_a_layer_that_changes_its_input_is_refused(first):
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)), torch.randn(2, 4)
    graph = chain_of(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), x)
    with pytest.raises(PlanError, match=r"2, ReLU\(inplace=True\), changes its input in place"):
        run_plan(read_plan(first + "store 1, store 2, back 2, back 1"), graph, layers_of(model), {0: x}, torch.sum)


def test_a_plan_that_cannot_be_carried_out_runs_nothing():
    model, x = network(), batch()
    with pytest.raises(PlanError, match="action 0, back 3: what it needs is not stored"):
        run_plan([Action("back", 3)], chain_of(model, x), layers_of(model), {0: x}, torch.sum)
    two, plan = {"x": Node(), "a": Node(("x",)), "b": Node(("x",))}, read_plan("store a, store b, back a, back b")
    with pytest.raises(PlanError, match=r"one node must give the output, whose value no other takes; got \['a', 'b'\]"):
        run_plan(plan, two, {}, {"x": x}, torch.sum)
