"""Two ways to update the weights of a layer whose neurons are shared out."""

import pytest
import torch

from course_lib import Network, run, simulate
from course_lib.model_parallel import WAYS, NeuronLayer, train_neurons, training_seconds

NETWORK = Network(latency_s=1e-4, bytes_per_s=1e6)


def numbers(n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(n)
    return tuple(torch.randint(-9, 10, shape, generator=draw).float() for shape in ((n, n), (n,), (n,)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_the_new_weights_and_errors_are_those_of_one_rank(way, world_size):
    weight, x, y_grad = numbers(8)
    results = simulate(train_neurons, world_size, args=(way, NeuronLayer(8), weight, x, y_grad)).results
    assert torch.equal(torch.cat([rows for rows, _ in results]), weight - torch.outer(y_grad, x))
    assert torch.equal(torch.cat([error for _, error in results]), weight.T @ y_grad)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("world_size", [1, 2, 4, 10])
def test_the_simulated_step_takes_the_time_of_the_formula(way, world_size):
    layer = NeuronLayer(20)
    report = simulate(train_neurons, world_size, args=(way, layer, *numbers(20)), network=NETWORK)
    assert report.seconds == pytest.approx(training_seconds(way, layer, world_size, NETWORK), abs=1e-9)


def test_twice_loses_on_one_rank_and_wins_on_many_where_sums_are_gathered():
    def ratio(ranks):
        gathered, twice = (training_seconds(way, NeuronLayer(), ranks, NETWORK) for way in (WAYS[0], WAYS[2]))
        return gathered / twice

    assert ratio(1) == 3 / 4
    assert ratio(10) > 1


def test_where_the_sums_are_reduced_on_the_way_once_always_wins():
    for ranks in (1, 2, 5, 10, 50, 100):
        assert training_seconds(WAYS[1], NeuronLayer(), ranks, NETWORK) < training_seconds(
            "twice", NeuronLayer(), ranks, NETWORK
        )


def test_emulated_ranks_agree():
    report = run(train_neurons, 2, args=("twice", NeuronLayer(8), *numbers(8)), network=NETWORK)
    weight, x, y_grad = numbers(8)
    assert torch.equal(torch.cat([rows for rows, _ in report.results]), weight - torch.outer(y_grad, x))


def test_an_unknown_way_is_refused():
    with pytest.raises(ValueError, match=r"way must be one of once, .*, got 'thrice'"):
        training_seconds("thrice", NeuronLayer(), 2, NETWORK)
