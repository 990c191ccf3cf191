"""A choice for each layer: the cheapest plan, its bytes on the wire, and the gradients of one process."""

from itertools import product

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from course_lib import run, simulate
from course_lib.model_parallel import ALEXNET, VGG16, ConvShape, HybridNetwork, LinearShape, choose_splits, plan_bytes
from course_lib.tasks import load_digits

SHAPES = (
    ConvShape("conv1", 1, 8, height=8, kernel=3, padding=1),
    ConvShape("conv2", 8, 12, height=4, kernel=3, padding=1),
    LinearShape("fc3", 12 * 4 * 4, 64),
    LinearShape("fc4", 64, 12),
)
BATCH = 24


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 12, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(192, 64),
        nn.ReLU(),
        nn.Linear(64, 12),
    ).double()


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    digits = load_digits()
    return digits.train_inputs[:BATCH].double(), digits.train_labels[:BATCH]


def one_step(comm, choices):
    inputs, labels = batch()
    hybrid = HybridNetwork(comm, network(), choices, BATCH)
    loss = hybrid.loss(inputs, labels)
    loss.backward()
    hybrid.sum_gradients()
    return [[p.grad for p in layer.parameters()] for layer in hybrid.choices]


def expected_gradients() -> list[list[torch.Tensor]]:
    one, (inputs, labels) = network(), batch()
    cross_entropy(one(inputs), labels).backward()
    return [[p.grad for p in layer.parameters()] for layer in one if list(layer.parameters())]


def check(results, choices):
    for layer, (choice, expected) in enumerate(zip(choices, expected_gradients(), strict=True)):
        for number, gradient in enumerate(expected):
            parts = [result[layer][number] for result in results]
            whole = torch.cat(parts) if choice == "model" else parts[-1]
            torch.testing.assert_close(whole, gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize("choices", list(product(("data", "model"), repeat=4)), ids="-".join)
def test_every_plan_gives_the_gradients_of_one_process_and_sends_the_bytes_of_the_formula(choices):
    report = simulate(one_step, 4, args=(choices,))
    check(report.results, choices)
    formula = plan_bytes(SHAPES, choices, batch=BATCH, world_size=4, element_bytes=8)
    assert set(report.trace.bytes_sent) == {formula}


@pytest.mark.parametrize("choices", ["dmdm", "mmmm", "dmmd", "mmdm"])
@pytest.mark.parametrize("world_size", [1, 3, 5])
def test_ranks_that_do_not_divide_the_batch_nor_the_layers(world_size, choices):
    choices = [{"d": "data", "m": "model"}[choice] for choice in choices]
    check(simulate(one_step, world_size, args=(choices,)).results, choices)


def test_real_processes_follow_the_plan():
    choices = choose_splits(SHAPES, batch=BATCH, world_size=2).choices
    report = run(one_step, 2, args=(choices,))
    check(report.results, choices)
    assert set(report.trace.bytes_sent) == {plan_bytes(SHAPES, choices, batch=BATCH, world_size=2, element_bytes=8)}


@pytest.mark.parametrize("batch_size", [1, 64, 1024, 100_000])
def test_the_chosen_plan_is_the_best_of_all(batch_size):
    layers = ALEXNET[3:]
    all_plans = product(("data", "model"), repeat=len(layers))
    best = min(plan_bytes(layers, choices, batch=batch_size, world_size=8) for choices in all_plans)
    plan = choose_splits(layers, batch=batch_size, world_size=8)
    assert plan.sent_bytes == best == plan_bytes(layers, plan.choices, batch=batch_size, world_size=8)


@pytest.mark.parametrize("layers", [ALEXNET, VGG16], ids=["AlexNet", "VGG-16"])
def test_convolutions_by_data_and_fully_connected_layers_by_model(layers):
    choices = choose_splits(layers, batch=1024, world_size=8).choices
    assert choices == ("data",) * (len(layers) - 3) + ("model",) * 3


def test_the_networks_have_their_published_numbers_of_parameters():
    assert sum(layer.parameters for layer in ALEXNET) == 60_965_224
    assert sum(layer.parameters for layer in VGG16) == 138_357_544


def test_a_plan_that_does_not_fit_the_network_is_refused():
    with pytest.raises(Exception, match="4 layers need as many choices, data or model, got \\['data'\\]"):
        simulate(one_step, 2, args=(["data"],))
    with pytest.raises(Exception, match="9 ranks cannot share 8 output channels"):
        simulate(one_step, 9, args=(["model"] * 4,))
    with pytest.raises(Exception, match="for batches of 24 examples, got 23"):
        simulate(lambda comm: HybridNetwork(comm, network(), ["data"] * 4, BATCH)(batch()[0][1:]), 2)


def test_more_ranks_than_examples_or_outputs_of_a_linear_layer_change_nothing():
    choices = ["data", "data", "model", "model"]
    check(simulate(one_step, 25, args=(choices,)).results, choices)
