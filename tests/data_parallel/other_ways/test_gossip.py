"""Averaging with two neighbors keeps the sum and shrinks the spread as the mixing matrix says."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_lib import Network, run, simulate
from course_lib.data_parallel import (
    gossip_factor,
    gossip_round,
    part_batches,
    rounds_to_agree,
    train_local_sgd,
    train_with_gossip,
)
from course_lib.tasks import digits_model, load_digits

DIGITS = load_digits()


def mixing_matrix(world_size: int) -> np.ndarray:
    """W of a round x ← W x: a third for the rank itself and for each neighbor."""
    own = np.eye(world_size)
    return (own + np.roll(own, 1, axis=0) + np.roll(own, -1, axis=0)) / 3


def mixed(comm, starts: list, rounds: int) -> list:
    """This rank's numbers after each round, the start first."""
    tensor = torch.tensor(starts[comm.rank], dtype=torch.float64)
    seen = [tensor.tolist()]
    for _ in range(rounds):
        gossip_round(comm, tensor)
        seen.append(tensor.tolist())
    return seen


def after_each_round(starts: list, rounds: int) -> np.ndarray:
    """[round, rank, ...] on as many simulated ranks as there are starts."""
    return np.array(simulate(mixed, len(starts), (starts, rounds)).results).swapaxes(0, 1)


def spreads(values: np.ndarray) -> np.ndarray:
    """Distance of the ranks from their mean, round by round."""
    return np.linalg.norm(values - values.mean(axis=1, keepdims=True), axis=1)


def test_nine_spreads_round_a_ring_of_six_as_drawn() -> None:
    assert after_each_round([9, 0, 0, 0, 0, 0], 2).tolist() == [
        [9, 0, 0, 0, 0, 0],
        [3, 3, 0, 0, 0, 3],
        [3, 2, 1, 0, 1, 2],
    ]


@settings(max_examples=30)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9), st.integers(0, 4))
def test_rounds_are_powers_of_the_mixing_matrix_and_keep_the_sum(starts: list, rounds: int) -> None:
    starts = [3**rounds * number for number in starts]  # so that every third is whole and every sum exact
    seen = after_each_round(starts, rounds)
    expected = np.linalg.matrix_power(np.rint(3 * mixing_matrix(len(starts))), rounds) @ starts / 3**rounds
    assert seen[-1].tolist() == expected.tolist()
    assert (seen.sum(axis=1) == sum(starts)).all()


@pytest.mark.parametrize("world_size", range(1, 13))
def test_the_factor_is_the_matrixs_second_largest_eigenvalue(world_size: int) -> None:
    matrix = mixing_matrix(world_size)
    assert np.allclose(matrix.sum(axis=0), 1)
    assert np.array_equal(matrix, matrix.T)
    sizes = sorted(abs(np.linalg.eigvalsh(matrix)), reverse=True)
    assert sizes[0] == pytest.approx(1.0)
    assert gossip_factor(world_size) == pytest.approx(sizes[1] if world_size > 1 else 0.0, abs=1e-12)


@pytest.mark.parametrize("world_size", [4, 5, 8, 11])
def test_the_longest_wave_shrinks_by_the_factor_in_every_round(world_size: int) -> None:
    wave = [math.cos(2 * math.pi * rank / world_size) for rank in range(world_size)]
    distances = spreads(after_each_round(wave, 6))
    if world_size != 4:  # there the shortest wave is as slow as the longest: 1/3 and -1/3
        assert (1 + 2 * math.cos(2 * math.pi / world_size)) / 3 == pytest.approx(gossip_factor(world_size))
    assert distances[1:] / distances[:-1] == pytest.approx(gossip_factor(world_size))


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=9))
def test_no_start_shrinks_more_slowly(starts: list) -> None:
    distances = spreads(after_each_round(starts, 3))
    assert (distances[1:] <= distances[:-1] * gossip_factor(len(starts)) + 1e-9).all()


@pytest.mark.parametrize("world_size", [3, 5, 8])
def test_agreement_takes_as_many_rounds_as_computed(world_size: int) -> None:
    rounds = rounds_to_agree(world_size, left=1e-2)
    wave = [math.cos(2 * math.pi * rank / world_size) for rank in range(world_size)]
    distances = spreads(after_each_round(wave, rounds))
    assert distances[-1] <= 1e-2 * distances[0] * (1 + 1e-9)
    if rounds > 1:
        assert distances[-2] > 1e-2 * distances[0]


def test_one_rank_agrees_with_itself_and_ranks_never_agree_exactly() -> None:
    assert rounds_to_agree(1) == 0
    for left in (0.0, 1.0):
        with pytest.raises(ValueError, match=f"left must be between 0 and 1, got {left}"):
            rounds_to_agree(4, left)


@pytest.mark.parametrize("world_size", [2, 3, 4, 5, 8, 9, 16, 33])
def test_a_round_costs_two_messages_whatever_the_number_of_ranks(world_size: int) -> None:
    links = Network(latency_s=0.5, bytes_per_s=1000.0)
    report = simulate(lambda comm: gossip_round(comm, torch.zeros(125)), world_size, network=links)
    assert report.trace.messages_sent == [2] * world_size
    assert report.trace.steps == 1
    one_s = links.seconds(0, 1, 500)
    assert report.seconds in (2 * one_s, 3 * one_s) if world_size % 2 else report.seconds == 2 * one_s


def test_lateness_travels_one_rank_a_round() -> None:
    def program(comm):
        comm.compute(100.0 if comm.rank == 0 else 1.0)
        ends = []
        for _ in range(3):
            gossip_round(comm, torch.zeros(1))
            ends.append(comm.now())
        return ends

    late = [[end >= 100 for end in ends] for ends in simulate(program, 7).results]
    assert late == [[min(rank, 7 - rank) <= distance for distance in (1, 2, 3)] for rank in range(7)]


def training(world_size: int = 8, runner=simulate, **options):
    return runner(train_with_gossip, world_size, (DIGITS,), options)


def test_training_with_gossip_keeps_the_ranks_together_and_learns() -> None:
    reports = [training(6, rounds=rounds, steps=48, rate=0.4) for rounds in (0, 1, 4)]
    rows = [torch.stack([result.parameters for result in report.results]) for report in reports]
    alone, together, more = ((row - row.mean(0)).norm() for row in rows)
    assert more < together < 0.5 * alone
    assert reports[1].results[0].accuracy > 0.6  # guessing gives 0.1


def test_where_parts_are_not_alike_gossip_learns_what_no_rank_could_alone() -> None:
    options = {"sort": True, "steps": 48, "rate": 0.4}
    together, alone = (training(6, rounds=rounds, **options).results[0] for rounds in (1, 0))
    exact = simulate(train_local_sgd, 6, (DIGITS, 1), options).results[0]
    assert together.accuracy > alone.accuracy + 0.25
    assert together.loss > exact.loss


def test_no_round_is_training_alone_with_one_averaging_at_the_end() -> None:
    report = training(3, rounds=0, steps=10)
    once = simulate(train_local_sgd, 3, (DIGITS, 10), {"steps": 10})
    own = torch.stack([result.parameters for result in report.results])
    torch.testing.assert_close(own.mean(0), once.results[0].parameters)
    assert report.results[0].loss == pytest.approx(once.results[0].loss, rel=1e-5)
    assert report.trace.total_bytes == once.trace.total_bytes


def written_down(world_size: int, steps: int, rate: float = 0.2) -> torch.Tensor:
    """All ranks' parameters [rank, parameter] after x ← W x - rate × gradient(x), without a message."""
    model = digits_model()
    rows = torch.stack([parameters_to_vector(model.parameters()).detach()] * world_size)
    places = [SimpleNamespace(rank=rank, world_size=world_size) for rank in range(world_size)]
    batches = [list(part_batches(place, DIGITS, 8, steps)) for place in places]
    for step in range(steps):
        gradients = []
        for rank in range(world_size):
            vector_to_parameters(rows[rank].clone(), model.parameters())
            inputs, labels = batches[rank][step]
            loss = functional.cross_entropy(model(inputs), labels)
            gradients.append(parameters_to_vector(torch.autograd.grad(loss, list(model.parameters()))))
        rows = torch.tensor(mixing_matrix(world_size)).float() @ rows - rate * torch.stack(gradients)
    return rows


@pytest.mark.parametrize("world_size", [1, 2, 5])
def test_a_step_mixes_the_parameters_and_takes_the_gradient_of_the_unmixed_ones(world_size: int) -> None:
    found = torch.stack([result.parameters for result in training(world_size, steps=5).results])
    torch.testing.assert_close(found, written_down(world_size, steps=5), rtol=1e-4, atol=1e-5)


def test_real_processes_train_as_simulated_ones() -> None:
    real, simulated = (training(2, runner, steps=6).results for runner in (run, simulate))
    for ours, theirs in zip(real, simulated, strict=True):
        torch.testing.assert_close(ours.parameters, theirs.parameters)


def test_a_step_is_two_messages_long_and_the_judging_at_the_end_is_not_in_it() -> None:
    report = simulate(train_with_gossip, 4, (DIGITS,), {"steps": 5}, Network(latency_s=1.0))
    assert [result.step_s for result in report.results] == pytest.approx([2.0] * 4)
    assert report.seconds == pytest.approx(5 * 2.0 + 6.0)  # and one ring all-reduce
