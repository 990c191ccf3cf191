"""A fully connected layer on several ranks: the same numbers as on one, and no byte more than the formula says."""

import pytest
import torch

from course_lib import run, simulate
from course_lib.model_parallel import (
    ExampleSplitLinear,
    InputSplitLinear,
    OutputSplitLinear,
    border_batch,
    gather,
    linear_traffic,
    own_part,
    scatter_sum,
)

LAYERS = {"examples": ExampleSplitLinear, "outputs": OutputSplitLinear, "inputs": InputSplitLinear}


def whole(*shape: int) -> torch.Tensor:
    """Whole numbers: sums are exact in any order."""
    return torch.randint(-9, 10, shape, generator=torch.Generator().manual_seed(sum(shape))).double()


def one_step(comm, split, x, weight, bias, y_grad):
    """A forward and a backward pass as in the middle of a network: what goes out and comes back is put together."""
    layer = LAYERS[split](comm, weight, bias)
    if split == "examples":
        y = layer.forward(own_part(comm, x, 0))
        x_grad = layer.backward(own_part(comm, y_grad, 0))
    elif split == "outputs":
        y = gather(comm, layer.forward(x), 1, weight.shape[0])
        x_grad = layer.backward(own_part(comm, y_grad, 1))
    else:
        y = layer.forward(own_part(comm, x, 1))
        x_grad = gather(comm, layer.backward(y_grad), 1, weight.shape[1])
    return y, x_grad, layer.weight_grad, layer.bias_grad


def joined(split, results):
    """The whole y, gradients of x, weight and bias, from what each rank has."""
    y, x_grad, weight_grad, bias_grad = zip(*results, strict=True)
    if split == "examples":
        return torch.cat(y), torch.cat(x_grad), weight_grad[0], bias_grad[0]
    if split == "outputs":
        return y[0], x_grad[0], torch.cat(weight_grad), torch.cat(bias_grad)
    return y[0], x_grad[0], torch.cat(weight_grad, 1), bias_grad[0]


def test_two_ranks_by_hand():
    # y = x Wᵀ + b with x = (1, 2), W = ((3, 4), (5, 6)), b = (7, 8): y = (18, 25).
    x, weight, bias = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0]]), torch.tensor([7.0, 8.0])

    def by_inputs(comm):
        layer = InputSplitLinear(comm, weight, bias)
        return layer.forward(own_part(comm, x, 1)), layer.backward(torch.tensor([[1.0, 10.0]]))

    first, second = simulate(by_inputs, 2).results
    assert first[0].tolist() == second[0].tolist() == [[18.0, 25.0]]
    assert (first[1].tolist(), second[1].tolist()) == ([[53.0]], [[64.0]])  # 3 + 50, 4 + 60


@pytest.mark.parametrize("split", LAYERS)
@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
@pytest.mark.parametrize(("batch", "inputs", "outputs"), [(6, 8, 12), (5, 7, 10), (1, 2, 1)])
def test_every_split_computes_what_one_rank_does(split, world_size, batch, inputs, outputs):
    x, weight, bias, y_grad = whole(batch, inputs), whole(outputs, inputs), whole(outputs), whole(batch, outputs)
    report = simulate(one_step, world_size, args=(split, x, weight, bias, y_grad))
    y, x_grad, weight_grad, bias_grad = joined(split, report.results)
    assert torch.equal(y, x @ weight.T + bias)
    assert torch.equal(x_grad, y_grad @ weight)
    assert torch.equal(weight_grad, y_grad.T @ x)
    assert torch.equal(bias_grad, y_grad.sum(0))


@pytest.mark.parametrize("split", LAYERS)
@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
@pytest.mark.parametrize(("batch", "inputs", "outputs"), [(6, 8, 12), (5, 7, 10)])
def test_the_formula_says_every_byte(split, world_size, batch, inputs, outputs):
    args = (split, whole(batch, inputs), whole(outputs, inputs), whole(outputs), whole(batch, outputs))
    traffic = linear_traffic(split, batch=batch, inputs=inputs, outputs=outputs, world_size=world_size, element_bytes=8)
    sent = [forward + backward for forward, backward in zip(*traffic, strict=True)]
    assert simulate(one_step, world_size, args=args).trace.bytes_sent == sent


@pytest.mark.parametrize("split", LAYERS)
def test_real_processes_send_the_same(split):
    args = (split, whole(4, 6), whole(8, 6), whole(8), whole(4, 8))
    real, simulated = run(one_step, 2, args=args), simulate(one_step, 2, args=args)
    assert real.trace.bytes_sent == simulated.trace.bytes_sent
    for ours, theirs in zip(real.results, simulated.results, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def among_its_like(comm, split, x, weight, y_grad):
    """A layer between others that are split like it: sums are scattered to the ranks that own the features."""
    dim = 0 if split == "outputs" else 1
    part = own_part(comm, weight, dim)
    if split == "outputs":
        gather(comm, x @ part.T, 1, weight.shape[0])
        return scatter_sum(comm, own_part(comm, y_grad, 1) @ part, 1)
    scatter_sum(comm, own_part(comm, x, 1) @ part.T, 1)
    return own_part(comm, gather(comm, y_grad @ part, 1, weight.shape[1]), 1)


@pytest.mark.parametrize("split", ["outputs", "inputs"])
@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(("batch", "inputs", "outputs"), [(6, 8, 12), (5, 7, 10)])
def test_among_layers_split_alike_the_formula_says_every_byte(split, world_size, batch, inputs, outputs):
    x, weight, y_grad = whole(batch, inputs), whole(outputs, inputs), whole(batch, outputs)
    sizes = {"batch": batch, "inputs": inputs, "outputs": outputs, "world_size": world_size}
    traffic = linear_traffic(split, **sizes, element_bytes=8, alike=True)
    report = simulate(among_its_like, world_size, args=(split, x, weight, y_grad))
    assert report.trace.bytes_sent == [forward + backward for forward, backward in zip(*traffic, strict=True)]
    assert torch.equal(torch.cat(report.results, 1), y_grad @ weight)


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("split", ["outputs", "inputs"])
@pytest.mark.parametrize(("inputs", "outputs"), [(64, 64), (32, 128), (128, 32)])
def test_the_winner_changes_at_the_border(split, inputs, outputs, alike):
    border = border_batch(split, inputs=inputs, outputs=outputs, alike=alike)
    sizes = {"inputs": inputs, "outputs": outputs, "world_size": 4, "alike": alike}
    below, above = (
        linear_traffic(split, batch=batch, **sizes).busiest_bytes
        - linear_traffic("examples", batch=batch, **sizes).busiest_bytes
        for batch in (int(border) - 4, int(border) + 5)
    )
    assert below < 0 < above


def test_scattered_sums_are_parts_of_the_sum():
    def program(comm):
        return scatter_sum(comm, torch.arange(5.0) * 10**comm.rank, 0)

    assert [part.tolist() for part in simulate(program, 2).results] == [[0.0, 11.0, 22.0], [33.0, 44.0]]


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="split must be one of examples, outputs, inputs, got 'rows'"):
        linear_traffic("rows", batch=1, inputs=1, outputs=1, world_size=1)
    with pytest.raises(ValueError, match="split must be outputs or inputs, got 'examples'"):
        border_batch("examples", inputs=1, outputs=1)
