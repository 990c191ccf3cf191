"""Averaging parameters every k steps: data-parallel SGD at k = 1, 1/k of its bytes, and a price that grows with k."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parameters_to_vector

from course_lib import RankError, run, simulate
from course_lib.compression import CompressedAllReduce, TopK
from course_lib.data_parallel import average_gradients, average_parameters, drift, part_batches, train_local_sgd
from course_lib.tasks import Digits, digits_model, load_digits

DIGITS = load_digits()
OPTIMIZERS = {
    "plain": lambda parameters: torch.optim.SGD(parameters, lr=2**-6),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=2**-6, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda parameters: torch.optim.SGD(parameters, lr=2**-6, momentum=0.9, nesterov=True),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=2**-6),
}


def trained(comm, name: str, averaged: str, period: int = 1, steps: int = 6) -> torch.Tensor:
    """The parameters after some steps; `averaged` says what travels: gradients or parameters."""
    model = digits_model(hidden=8).double()
    optimizer = OPTIMIZERS[name](model.parameters())
    for step, (inputs, labels) in enumerate(part_batches(comm, DIGITS, 4, steps), start=1):
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs.double()), labels).backward()
        if averaged == "gradients":
            average_gradients(comm, model)
        optimizer.step()
        if averaged != "gradients" and step % period == 0:
            average_parameters(comm, model)
    return parameters_to_vector(model.parameters()).detach()


def difference(name: str, **options) -> float:
    """How far averaged parameters are at most from those of averaged gradients."""
    found, wanted = (simulate(trained, 3, (name, way), options).results[0] for way in ("parameters", "gradients"))
    return (found - wanted).abs().max().item()


def test_two_ranks_by_hand() -> None:
    def program(comm):
        module = nn.Linear(1, 2, bias=False)
        module.weight.data = torch.tensor([[1.0], [2.0]]) * [1, 3][comm.rank]
        apart = drift(comm, module)
        average_parameters(comm, module)
        return apart, module.weight.tolist(), drift(comm, module)

    # Mean (2, 4); each rank is √(1² + 2²) away from it.
    assert simulate(program, 2).results == [(pytest.approx(math.sqrt(5)), [[2.0], [4.0]], 0.0)] * 2


def test_drift_is_one_number_for_all_ranks() -> None:
    def program(comm):
        module = nn.Linear(1, 1, bias=False)
        module.weight.data.fill_([0.0, 0.0, 3.0][comm.rank])
        return drift(comm, module)

    # Mean 1; distances 1, 1 and 2.
    assert simulate(program, 3).results == [pytest.approx(math.sqrt((1 + 1 + 4) / 3))] * 3


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_after_one_plain_step_it_is_data_parallel_sgd_to_the_last_bit(world_size: int) -> None:
    def program(comm, average_after: bool):
        generator = torch.Generator().manual_seed(comm.rank)
        model = nn.Linear(3, 2).double()
        for number, parameter in enumerate(model.parameters()):
            parameter.data.copy_(torch.arange(parameter.numel()).view_as(parameter) % 3 + number)
        for _ in range(4):
            model.zero_grad()
            inputs, targets = (torch.randint(-2, 3, (4, size), generator=generator).double() for size in (3, 2))
            functional.mse_loss(model(inputs), targets).backward()  # sums of whole numbers over a power of two: exact
            if not average_after:
                average_gradients(comm, model)
            torch.optim.SGD(model.parameters(), lr=2**-3).step()
            if average_after:
                average_parameters(comm, model)
        return parameters_to_vector(model.parameters()).detach()

    after, before = (simulate(program, world_size, (way,)).results for way in (True, False))
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(after, before, strict=True))


@pytest.mark.parametrize("name", ["plain", "momentum", "nesterov"])
def test_one_local_step_equals_averaged_gradients_where_the_optimizer_is_linear(name: str) -> None:
    assert difference(name) < 1e-13


def test_adam_is_not_linear() -> None:
    assert difference("adam") > 1e-3


def test_several_local_steps_are_another_training() -> None:
    assert difference("plain", period=3) > 1e-5


@pytest.mark.parametrize("period", [1, 2, 3, 5, 6, 7])
def test_the_bytes_are_those_of_one_averaging_in_every_period(period: int) -> None:
    def averaging(comm):
        average_parameters(comm, digits_model())

    each = simulate(averaging, 4).trace
    trace = simulate(train_local_sgd, 4, (DIGITS, period), {"steps": 6}).trace
    assert trace.total_bytes == math.ceil(6 / period) * each.total_bytes
    assert trace.bytes_sent == [math.ceil(6 / period) * sent for sent in each.bytes_sent]


def test_one_averaging_at_the_end_is_the_mean_of_trainings_that_never_met() -> None:
    def alone(comm):
        model = digits_model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, labels in part_batches(comm, DIGITS, 8, 10):
            optimizer.zero_grad()
            functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
        return parameters_to_vector(model.parameters()).detach()

    apart = simulate(alone, 3)
    assert apart.trace.messages == []
    met = simulate(train_local_sgd, 3, (DIGITS, 10), {"steps": 10}).results[0]
    torch.testing.assert_close(met.parameters, torch.stack(apart.results).mean(0))


def test_real_processes_train_as_simulated_ones() -> None:
    real, simulated = (runner(train_local_sgd, 2, (DIGITS, 4), {"steps": 8}).results for runner in (run, simulate))
    torch.testing.assert_close(real[0].parameters, simulated[0].parameters)
    assert torch.equal(real[0].parameters, real[1].parameters)


def test_longer_periods_cost_loss_most_of_all_where_parts_are_not_alike() -> None:
    runs = {
        sort: [simulate(train_local_sgd, 4, (DIGITS, period), {"sort": sort}).results[0] for period in (1, 8, 96)]
        for sort in (False, True)
    }
    for sort in (False, True):
        losses = [run.loss for run in runs[sort]]
        assert losses == sorted(losses)
    growth = {sort: runs[sort][-1].loss / runs[sort][0].loss for sort in (False, True)}
    assert growth[False] < 1.3 < 2 < growth[True]
    assert runs[False][0].accuracy > 0.85


def test_sorted_parts_hold_neighboring_labels_and_shuffled_ones_all() -> None:
    def labels(comm, sort):
        return {label.item() for _, labels in part_batches(comm, DIGITS, 50, 4, sort=sort) for label in labels}

    assert all(len(found) == 10 for found in simulate(labels, 5, (False,)).results)
    apart = simulate(labels, 5, (True,)).results
    assert all(len(found) <= 4 for found in apart)
    assert set().union(*apart) == set(range(10))


def test_ranks_draw_their_own_random_digits_of_their_own_parts() -> None:
    digits = DIGITS._replace(train_inputs=DIGITS.train_inputs[:1000], train_labels=torch.arange(1000))
    first, second = simulate(lambda comm: [part for _, part in part_batches(comm, digits, 20, 2)], 2).results
    for own, other in zip(first, second, strict=True):
        assert own.max() < 500 <= other.min()
        assert not torch.equal(own, other - 500)


def test_a_period_of_nothing_is_refused() -> None:
    with pytest.raises(RankError, match="period and steps must be at least 1, got a period of 0"):
        simulate(train_local_sgd, 2, (DIGITS, 0))


def test_each_dtype_is_averaged_by_itself_and_frozen_parameters_stay() -> None:
    def program(comm):
        module = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1).double(), nn.Linear(1, 1))
        for parameter in module.parameters():
            nn.init.constant_(parameter, comm.rank)
        module[2].requires_grad_(False)
        average_parameters(comm, module)
        return [(parameter.dtype, parameter.item()) for parameter in module.parameters()]

    for rank, found in enumerate(simulate(program, 3).results):
        assert found == [(torch.float32, 1.0)] * 2 + [(torch.float64, 1.0)] * 2 + [(torch.float32, rank)] * 2


def test_more_ranks_than_digits_are_refused() -> None:
    few = Digits(torch.ones(1, 64), torch.zeros(1, dtype=torch.int64), torch.ones(1, 64), torch.zeros(1))
    with pytest.raises(RankError, match="2 ranks must have a digit each, got 1"):
        simulate(lambda comm: next(iter(part_batches(comm, few, 4))), 2)


def test_an_all_reduce_that_only_sums_is_refused_by_name() -> None:
    def program(comm):
        average_parameters(comm, nn.Linear(2, 1), all_reduce=CompressedAllReduce(TopK(0.5)))

    with pytest.raises(
        RankError, match="got CompressedAllReduce, which sums gradients: hand that to average_gradients"
    ):
        simulate(program, 2)


def test_a_module_without_parameters_does_not_drift() -> None:
    assert simulate(lambda comm: drift(comm, nn.ReLU()), 2).results == [0.0, 0.0]
