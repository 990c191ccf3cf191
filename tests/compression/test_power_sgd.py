"""PowerSGD: exact on matrices of its rank, nothing lost on others, its published compression; and pruning."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from course_lib import RankError, run, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.compression import (
    CompressedAllReduce,
    MaskedAllReduce,
    PowerSGD,
    TopK,
    ddp_hook,
    magnitude_masks,
    power_sgd_bytes,
    prune_neurons,
)
from course_lib.compression.experiments import REMEDIES, train_with
from course_lib.compression.published import POWER_SGD_RANK_2, resnet18_cifar_shapes
from course_lib.data_parallel import DataParallel
from course_lib.tasks import digits_model, load_digits


def power_steps(comm, gradients: list[torch.Tensor], rank: int) -> list[torch.Tensor]:
    """What arrives in each step for a 6 × 8 weight and a bias, and the residual at the end."""
    layer = nn.Linear(8, 6)
    row = torch.zeros(54)
    layer.weight.grad, layer.bias.grad = row[:48].view(6, 8), row[48:]
    all_reduce, arrived = PowerSGD(layer.parameters(), rank), []
    for gradient in gradients:
        row.copy_(gradient * (comm.rank + 1))
        all_reduce(comm, row)
        arrived.append(row.clone())
    return [*arrived, all_reduce.residuals.get(0, torch.zeros(6, 8)).flatten()]


def whole_numbers(seed: int) -> torch.Tensor:
    return torch.randint(-5, 6, (54,), generator=torch.Generator().manual_seed(seed)).float()


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_a_matrix_of_low_rank_arrives_whole(world_size: int) -> None:
    factors = whole_numbers(0)
    gradient = torch.cat([(factors[:12].view(6, 2) @ factors[12:28].view(2, 8)).flatten(), factors[:6]])
    for arrived, residual in simulate(power_steps, world_size, ([gradient], 2)).results:
        assert torch.allclose(arrived, gradient * sum(range(1, world_size + 1)), atol=1e-3)
        assert residual.abs().max() < 1e-3


@pytest.mark.parametrize("rank", [1, 2])
def test_what_was_sent_and_the_residuals_are_all_gradients(rank: int) -> None:
    gradients = [whole_numbers(seed) for seed in range(5)]
    results = simulate(power_steps, 3, (gradients, rank)).results
    arrived = sum(results[0][:5])
    assert all(torch.equal(a, b) for a, b in zip(results[0][:5], results[2][:5], strict=True))
    left = sum(result[5] for result in results)
    assert torch.allclose(arrived[:48] + left, 6 * sum(gradients)[:48], atol=1e-3)
    assert torch.equal(arrived[48:], 6 * sum(gradients)[48:])  # the bias travels as it is


def test_a_matrix_that_would_not_shrink_travels_as_it_is() -> None:
    gradient = whole_numbers(3)
    for arrived, residual in simulate(power_steps, 2, ([gradient], 4)).results:  # 4 (6 + 8) > 48
        assert torch.equal(arrived, 3 * gradient)
        assert not residual.any()


def test_rank_two_of_resnet_18_is_the_published_share() -> None:
    shapes = resnet18_cifar_shapes()
    lengths = [torch.Size(shape).numel() for shape in shapes]
    assert sum(lengths) == 11_173_962
    assert round(4 * sum(n for n, shape in zip(lengths, shapes, strict=True) if len(shape) == 1) / 1024, 1) == 37.5
    assert round(4 * sum(lengths) / power_sgd_bytes(shapes, rank=2)) == POWER_SGD_RANK_2


def test_a_mask_leaves_only_what_is_kept() -> None:
    def program(comm):
        module = digits_model()
        masks = magnitude_masks(module, 0.25)
        model = DataParallel(comm, module, all_reduce=MaskedAllReduce(masks), overlap=False)
        functional.cross_entropy(model(torch.rand(5, 64)), torch.arange(5)).backward()
        for parameter, mask in masks.items():
            assert not parameter.grad[~mask].any()
            assert not parameter.detach()[~mask].any()
            assert mask.sum() == round(0.25 * mask.numel())
        return sum(int(mask.sum()) for mask in masks.values()) + 32 + 10  # and the biases

    report = simulate(program, 2)
    assert report.trace.bytes_sent[0] == pytest.approx(4 * report.results[0], abs=4)


def test_without_the_neurons_that_do_nothing_the_network_says_the_same() -> None:
    first, second = nn.Linear(4, 6), nn.Linear(6, 3)
    second.weight.data[:, [1, 4]] = 0
    smaller = prune_neurons(first, second, kept=4)
    x = torch.randn(5, 4)
    assert torch.allclose(smaller[1](smaller[0](x).relu()), second(first(x).relu()), atol=1e-6)
    with pytest.raises(ValueError, match="got 7"):
        prune_neurons(first, second, kept=7)


def train(comm, wrap, steps: int = 4) -> list[torch.Tensor]:
    module = digits_model()
    model = wrap(comm, module)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(comm.rank)
    for _ in range(steps):
        optimizer.zero_grad()
        functional.cross_entropy(model(torch.rand(6, 64, generator=generator)), torch.arange(6)).backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in module.parameters()]


class AfterTheFirst:
    """Averages the first pass uncompressed, as our hook under DDP does."""

    def __init__(self, all_reduce) -> None:
        self.all_reduce, self.passes = all_reduce, 0

    def __call__(self, comm, row) -> None:
        (self.all_reduce if self.passes else ring_all_reduce)(comm, row)
        self.passes += 1


def ours(make):
    return lambda comm, module: DataParallel(comm, module, all_reduce=AfterTheFirst(make(module)))


def ddp(make):
    def wrap(comm, module):
        model = DistributedDataParallel(module, gradient_as_bucket_view=True)
        model.register_comm_hook(None, ddp_hook(comm, make(module)))
        return model

    return wrap


@pytest.mark.parametrize("name", ["top-k", "PowerSGD"])
def test_under_ddp_the_same_function_makes_the_same_weights(name: str) -> None:
    make = {
        "top-k": lambda module: CompressedAllReduce(TopK(0.1)),
        "PowerSGD": lambda module: PowerSGD(module.parameters(), 2),
    }[name]
    mine, theirs = (run(train, 2, (wrap(make),)).results for wrap in (ours, ddp))
    for a, b in zip(mine[0], theirs[0], strict=True):
        assert torch.allclose(a, b, atol=1e-5)
    assert all(torch.equal(a, b) for a, b in zip(*theirs, strict=True))


@pytest.mark.parametrize("remedy", REMEDIES)
def test_every_remedy_trains_the_same_model_on_every_rank(remedy: str) -> None:
    report, dense = (simulate(train_with, 2, (load_digits(), name), {"steps": 3}) for name in (remedy, "fp32"))
    assert report.results[0] == report.results[1]
    assert (report.trace.bytes_sent < dense.trace.bytes_sent) is (remedy != "fp32")


def test_layers_without_a_bias_are_pruned_and_layers_that_do_not_fit_are_refused() -> None:
    first, second = nn.Linear(4, 3, bias=False), nn.Linear(3, 2, bias=False)
    smaller = prune_neurons(first, second, kept=3)
    x = torch.randn(5, 4)
    assert torch.allclose(smaller[1](smaller[0](x)), second(first(x)))
    with pytest.raises(ValueError, match="layers must fit, got 3 outputs and 5 inputs"):
        prune_neurons(first, nn.Linear(5, 2), kept=1)
    assert magnitude_masks(nn.ParameterList([nn.Parameter(torch.ones(0, 3))]), 0.5) == {}


def gradients_of_a_dead_input(comm, rank: int) -> bool:
    """Whether the weight of a layer has a gradient, where its first input is always 0."""
    layer = nn.Linear(8, 8, bias=False)
    model = DataParallel(comm, layer, all_reduce=PowerSGD(layer.parameters(), rank))
    inputs = torch.randn(16, 8)
    inputs[:, 0] = 0
    model(inputs).sum().backward()
    return layer.weight.grad is not None


@pytest.mark.parametrize("rank", [1, 2])
def test_a_matrix_whose_product_begins_with_a_negative_zero_keeps_its_gradient(rank: int) -> None:
    for world_size in (1, 3):
        assert all(simulate(gradients_of_a_dead_input, world_size, args=(rank,)).results)


def test_gradients_of_16_bits_are_refused() -> None:
    all_reduce = PowerSGD([], rank=1)
    with pytest.raises(RankError, match="must be of float32 or float64"):
        simulate(lambda comm: all_reduce(comm, torch.ones(4, dtype=torch.bfloat16)), 2)
