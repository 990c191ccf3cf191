"""Several workers on each part of the batch: nobody waits for the slower copy, and the weights do not notice."""

import math

import pytest
import torch
from torch.nn import functional
from torch.nn.utils import parameters_to_vector

from course_lib import RankError, run, simulate
from course_lib.data_parallel import expected_step_s, random_seconds, train_redundantly
from course_lib.tasks import digits_model, load_digits, random_batches

DIGITS = load_digits()


def copy_seconds(copies: int, seed: int = 0):
    """Times whose first copies are the same, however many copies there are."""
    return lambda worker, step: random_seconds(1000 * (worker % copies) + worker // copies, step, seed=seed)


def training(parts: int, copies: int, steps: int = 6, runner=simulate, seconds=None, batch_size: int = 12):
    """The report of a training in float64."""
    args = digits_model(hidden=4).double(), DIGITS.train_inputs.double(), DIGITS.train_labels
    options = {"copies": copies, "steps": steps, "batch_size": batch_size, "seconds": seconds or copy_seconds(copies)}
    return runner(train_redundantly, 1 + parts * copies, args, options)


def test_two_parts_of_two_copies_as_drawn() -> None:
    took = [[2, 4], [5, 1], [4, 2], [3, 4]]  # by worker and step
    report = training(2, 2, steps=2, seconds=lambda worker, step: took[worker][step])
    assert report.results[0].step_ends_s == [3, 6]
    assert report.results[0].dropped == 4
    worked = [(span.rank - 1, span.label, span.start_s, span.end_s) for span in report.trace.spans]
    assert sorted(worked) == [
        (0, "step 0", 0, 2),
        (0, "step 1", 3, 7),
        (1, "step 0", 0, 5),
        (1, "step 1", 5, 6),
        (2, "step 0", 0, 4),
        (2, "step 1", 4, 6),
        (3, "step 0", 0, 3),
        (3, "step 1", 3, 7),
    ]
    first_copies = training(2, 1, steps=2, seconds=lambda worker, step: took[2 * worker][step])
    assert first_copies.results[0].step_ends_s == [4, 8]


@pytest.mark.parametrize(("parts", "copies"), [(1, 1), (1, 3), (2, 2), (3, 2), (2, 3)])
def test_the_weights_are_those_without_redundancy_to_the_last_bit(parts: int, copies: int) -> None:
    alone, redundant = (training(parts, c).results[0] for c in (1, copies))
    assert torch.equal(redundant.parameters, alone.parameters)
    other_winners = training(parts, copies, seconds=copy_seconds(copies, seed=7)).results[0]
    assert torch.equal(other_winners.parameters, alone.parameters)


def test_the_weights_are_those_of_one_process() -> None:
    model = digits_model(hidden=4).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for step in range(6):
        batch = next(random_batches(len(DIGITS.train_labels), 13, seed=step))
        optimizer.zero_grad()
        functional.cross_entropy(model(DIGITS.train_inputs[batch].double()), DIGITS.train_labels[batch]).backward()
        optimizer.step()
    found = training(3, 2, batch_size=13).results[0].parameters  # parts of five, four and four
    torch.testing.assert_close(found, parameters_to_vector(model.parameters()).detach(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("parts", "copies"), [(1, 2), (3, 1), (3, 2), (4, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_a_first_step_ends_with_the_slowest_parts_fastest_copy(parts: int, copies: int, seed: int) -> None:
    seconds = copy_seconds(copies, seed)
    fastest = [min(seconds(part * copies + copy, 0) for copy in range(copies)) for part in range(parts)]
    assert training(parts, copies, steps=1, seconds=seconds).results[0].step_ends_s == [pytest.approx(max(fastest))]


@pytest.mark.parametrize("seed", range(4))
def test_every_step_ends_between_fresh_copies_and_no_copies(seed: int) -> None:
    parts, copies, steps = 3, 2, 12
    seconds = copy_seconds(copies, seed)
    alone = training(parts, 1, steps, seconds=copy_seconds(1, seed)).results[0].step_ends_s
    redundant = training(parts, copies, steps, seconds=seconds).results[0].step_ends_s
    fresh = [
        max(min(seconds(part * copies + copy, step) for copy in range(copies)) for part in range(parts))
        for step in range(steps)
    ]
    for step, (fast, slow) in enumerate(zip(redundant, alone, strict=True)):
        assert sum(fresh[: step + 1]) - 1e-9 <= fast <= slow + 1e-9
    assert redundant[-1] < 0.8 * alone[-1]


@pytest.mark.parametrize(("parts", "copies"), [(1, 1), (4, 1), (4, 2), (8, 3)])
def test_the_expected_step_is_the_mean_of_many(parts: int, copies: int) -> None:
    steps = [
        max(min(random_seconds(part * copies + copy, step, 2.0) for copy in range(copies)) for part in range(parts))
        for step in range(3000)
    ]
    assert sum(steps) / len(steps) == pytest.approx(expected_step_s(parts, copies, 2.0), rel=0.05)


def test_frozen_and_unused_parameters_stay() -> None:
    model = digits_model(hidden=4).double()
    model[0].weight.requires_grad_(False)
    model.unused = torch.nn.ParameterList([torch.ones(3).double()])
    model.forward = lambda inputs: model[2](model[1](model[0](inputs)))
    options = {"copies": 1, "steps": 2, "seconds": copy_seconds(1)}
    args = model, DIGITS.train_inputs.double(), DIGITS.train_labels
    before, after = parameters_to_vector(model.parameters()), simulate(train_redundantly, 3, args, options).results[0]
    frozen = 64 * 4
    assert torch.equal(after.parameters[:frozen], before[:frozen])
    assert after.parameters[-3:].tolist() == [1.0] * 3
    assert (after.parameters[-13:-3] != before[-13:-3]).all()  # the last biases


def test_every_late_gradient_is_received_and_dropped() -> None:
    parts, copies, steps = 3, 2, 6
    report = training(parts, copies, steps)
    workers = parts * copies
    sent_by_workers = sum(report.trace.messages_sent[1:]) - workers  # the first letters hold none
    assert report.results[0].dropped == sent_by_workers - steps * parts > 0
    assert report.trace.messages_sent[0] == sum(report.trace.messages_sent[1:])  # each letter is answered
    assert training(parts, 1, steps).results[0].dropped == 0


def test_two_copies_at_the_very_same_time_count_once() -> None:
    result = training(2, 2, steps=4, seconds=lambda worker, step: 1.0).results[0]
    assert result.step_ends_s == [1.0, 2.0, 3.0, 4.0]
    assert torch.equal(result.parameters, training(2, 1, steps=4).results[0].parameters)


def test_real_processes_end_with_the_simulated_weights() -> None:
    real = training(1, 2, runner=run, seconds=lambda worker, step: 0.002 * worker).results[0].parameters
    assert torch.equal(real, training(1, 1).results[0].parameters)


def test_the_same_numbers_always_take_the_same_time() -> None:
    assert random_seconds(3, 5) == random_seconds(3, 5) != random_seconds(5, 3)
    assert random_seconds(3, 5, seed=1) != random_seconds(3, 5)
    assert math.isclose(random_seconds(3, 5, mean_s=2.0), 2 * random_seconds(3, 5))


@pytest.mark.parametrize("copies", [0, 2, 4])
def test_copies_that_do_not_divide_the_workers_are_refused(copies: int) -> None:
    args = digits_model(), DIGITS.train_inputs, DIGITS.train_labels
    with pytest.raises(RankError, match=f"copies must divide the 3 workers, got {copies}"):
        simulate(train_redundantly, 4, args, {"copies": copies, "steps": 1})


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_training_ends_where_its_dtype_cannot_count_the_steps(dtype: torch.dtype) -> None:
    model, inputs = torch.nn.Linear(64, 10).to(dtype), DIGITS.train_inputs.to(dtype)
    options = {"copies": 1, "steps": 260, "batch_size": 2, "rate": 0.0, "seconds": lambda worker, step: 0.0}
    report = simulate(train_redundantly, 2, (model, inputs, DIGITS.train_labels), options)
    assert len(report.results[0].step_ends_s) == 260
