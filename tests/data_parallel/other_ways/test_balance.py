"""Parts in proportion to speed end together, and train as one process does if each counts by its examples."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from course_lib import Network, RankError, run, simulate
from course_lib.data_parallel import part_lengths, slowest_rank_s, train_balanced
from course_lib.tasks import digits_model, load_digits

SECONDS_PER_EXAMPLE = 0.005
SPEEDS = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def training(network: Network | None, *, runner=simulate, world_size: int = 4, **options):
    """(steps, parameters) of rank 0 of a training on 28 digits a step, in float64."""
    digits = load_digits()
    args = digits_model().double(), digits.train_inputs.double(), digits.train_labels
    options = {"batch_size": 28, "steps": 4, **options}
    steps, model = runner(train_balanced, world_size, args, options, network).results[0]
    return steps, list(model.parameters())


def joined(batch_size: int = 28, steps: int = 4) -> list:
    """The parameters of one process that trains on the same batches."""
    digits, model = load_digits(), digits_model().double()
    optimizer, generator = torch.optim.SGD(model.parameters(), lr=0.1), torch.Generator().manual_seed(0)
    for _ in range(steps):
        batch = torch.randint(len(digits.train_labels), (batch_size,), generator=generator)
        optimizer.zero_grad()
        functional.cross_entropy(model(digits.train_inputs[batch].double()), digits.train_labels[batch]).backward()
        optimizer.step()
    return list(model.parameters())


def test_one_device_three_times_slower_as_drawn() -> None:
    lengths = part_lengths(28, [3, 3, 1])
    assert lengths == [12, 12, 4]
    assert slowest_rank_s(lengths, [3, 3, 1]) == 4.0
    assert slowest_rank_s((9, 9, 10), [3, 3, 1]) == 10.0


@given(st.integers(0, 40), SPEEDS)
def test_all_examples_are_dealt_and_nobody_is_an_example_late(examples: int, speeds: list) -> None:
    lengths = part_lengths(examples, speeds)
    assert sum(lengths) == examples
    ideal_s = examples / sum(speeds)
    for length, speed in zip(lengths, speeds, strict=True):
        assert abs(length / speed - ideal_s) < 1 / speed + 1e-9


@given(st.integers(1, 9), st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_no_other_parts_are_faster_by_more_than_an_example_of_the_slowest_rank(examples: int, speeds: list) -> None:
    every = itertools.product(range(examples + 1), repeat=len(speeds))
    best_s = min(slowest_rank_s(lengths, speeds) for lengths in every if sum(lengths) == examples)
    assert best_s <= slowest_rank_s(part_lengths(examples, speeds), speeds) < best_s + 1 / min(speeds)


def test_steps_by_measured_speed_take_what_the_formula_says() -> None:
    slow = Network(stragglers={3: 3.0})
    balanced, equal = training(slow)[0], training(slow, adapt=False)[0]
    assert equal == [((7, 7, 7, 7), 21.0)] * 4
    assert balanced[0] == ((7, 7, 7, 7), 21.0)  # nobody's speed is known yet
    assert [step.lengths for step in balanced[1:]] == [tuple(part_lengths(28, [3, 3, 3, 1]))] * 3
    assert [step.seconds for step in balanced[1:]] == pytest.approx(
        [slowest_rank_s((9, 8, 8, 3), [1, 1, 1, 1 / 3])] * 3
    )


def test_equally_fast_ranks_keep_equal_parts() -> None:
    assert training(Network())[0] == [((7, 7, 7, 7), 7.0)] * 4


def test_a_rank_too_slow_for_a_single_example_gets_none_and_the_others_go_on() -> None:
    steps, parameters = training(Network(stragglers={0: 1000.0}))
    assert [step.lengths for step in steps[1:]] == [(0, 10, 9, 9)] * 3
    torch.testing.assert_close(parameters, joined(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("slower", [1.0, 3.0, 5.5])
def test_weighted_means_train_as_one_process(slower: float) -> None:
    _, parameters = training(Network(stragglers={3: slower}))
    torch.testing.assert_close(parameters, joined(), rtol=1e-9, atol=1e-10)


def test_the_mean_of_means_trains_otherwise_where_parts_are_unequal() -> None:
    equal, unequal = (training(Network(stragglers={3: s}), weighted=False)[1] for s in (1.0, 3.0))
    torch.testing.assert_close(equal, joined(), rtol=1e-9, atol=1e-10)
    assert max((ours - theirs).abs().max().item() for ours, theirs in zip(unequal, joined(), strict=True)) > 1e-3


def emulated(adapt: bool) -> tuple[list, list]:
    """(steps, parameters) on 4 real processes of which the last is three times slower; its clock is paced."""
    options = {"seconds_per_example": SECONDS_PER_EXAMPLE, "adapt": adapt}
    return training(Network(stragglers={3: 3.0}), runner=run, **options)


def test_emulated_equal_parts_wait_for_the_slow_device_and_parts_by_speed_do_not() -> None:
    (equal, same), (balanced, parameters) = emulated(adapt=False), emulated(adapt=True)
    assert [step.lengths for step in equal] == [(7, 7, 7, 7)] * 4
    assert balanced[0].lengths == (7, 7, 7, 7)  # nobody's speed is known yet
    for step in balanced[1:]:
        assert sum(step.lengths) == 28
        assert step.lengths[3] < min(step.lengths[:3])  # what it gets exactly depends on the speeds that it measured
    for step in [*equal, *balanced]:  # a paced clock is never ahead of the formula, however busy the machine
        assert step.seconds >= SECONDS_PER_EXAMPLE * slowest_rank_s(step.lengths, [1, 1, 1, 1 / 3]) - 1e-9
    for trained in (same, parameters):
        torch.testing.assert_close(trained, joined(), rtol=1e-9, atol=1e-10)


@pytest.mark.clock
def test_emulated_equal_parts_take_longer_than_parts_by_speed() -> None:
    (equal, _), (balanced, _) = emulated(adapt=False), emulated(adapt=True)
    assert min(step.seconds for step in equal) > 1.5 * min(step.seconds for step in balanced[1:])  # the formula: 2.3


def test_impossible_speeds_and_batches_are_refused() -> None:
    with pytest.raises(ValueError, match="shares must be 0 or more"):
        part_lengths(4, [1, -1])
    with pytest.raises(RankError, match="batch_size must be at least the 4 ranks, got 3"):
        training(Network(), batch_size=3)
    with pytest.raises(ValueError, match=r"a speed of more than 0, got \(4, 4\) and \[1, 0\]"):
        slowest_rank_s((4, 4), [1, 0])
    assert slowest_rank_s((0, 0), [1, 1]) == 0.0
    with pytest.raises(RankError, match="seconds_per_example must be more than 0, got 0"):
        training(Network(), seconds_per_example=0)
