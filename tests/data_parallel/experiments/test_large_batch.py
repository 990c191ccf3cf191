"""Rates for large batches, networks trained side by side, gradient noise, and what they do on handwritten digits."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from course_lib.data_parallel import (
    SCALINGS,
    WARM_UPS,
    RateSchedule,
    example_gradients,
    gradient_noise,
    scaled_rate,
    updates_per_epoch,
)
from course_lib.data_parallel.experiments import large_batch
from course_lib.data_parallel.experiments.large_batch import (
    BASELINE,
    GOYAL_ERRORS,
    GOYAL_RECIPES,
    RECIPES,
    Goal,
    LargeBatch,
    SeedErrors,
    error_by_batch_size,
    fit_critical_batch_size,
    noise_in_training,
    split_by_seed,
    train_recipes,
    updates_to_goal,
)
from course_lib.data_parallel.experiments.replicas import (
    momentum_step,
    replica_gradients,
    replica_losses,
    replica_outputs,
    start_replicas,
)
from course_lib.tasks import digits_model, load_digits

# Rates


def test_the_rate_of_goyal_by_hand() -> None:
    # Base 0.1 for 256 images; 8192 of them warm up in 5 epochs, and decay after 30, 60 and 80.
    schedule = RateSchedule(0.1, times=32, warm_up_epochs=5, decay_epochs=(30, 60, 80))
    at = {0: 0.1, 2.5: 1.65, 5: 3.2, 29.9: 3.2, 30: 0.32, 60: 0.032, 80: 0.0032, 90: 0.0032}
    assert [schedule.rate(epoch) for epoch in at] == pytest.approx(list(at.values()))


@pytest.mark.parametrize(("warm_up", "rates"), [("gradual", [1, 4.5, 8]), ("constant", [1, 1, 8]), ("none", [8] * 3)])
def test_warm_ups_differ_until_they_end(warm_up: str, rates: list) -> None:
    schedule = RateSchedule(1.0, times=8, warm_up=warm_up, warm_up_epochs=4)
    assert [schedule.rate(epoch) for epoch in (0, 2, 4)] == rates


@given(
    scaling=st.sampled_from(SCALINGS),
    warm_up=st.sampled_from(WARM_UPS),
    base_rate=st.floats(1e-4, 1),
    epoch=st.floats(0, 20),
)
def test_a_batch_that_is_not_larger_has_the_base_rate_whatever_the_recipe(scaling, warm_up, base_rate, epoch) -> None:
    schedule = RateSchedule(base_rate, 1, scaling, warm_up, warm_up_epochs=5)
    assert schedule.rate(epoch) == pytest.approx(base_rate)


def test_recipes_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match=r"scaling must be one of .*, got 'cubic'"):
        scaled_rate(0.1, 2, "cubic")
    with pytest.raises(ValueError, match="scaling must be one of"):
        RateSchedule(0.1, scaling="cubic")
    with pytest.raises(ValueError, match=r"warm_up must be one of .*, got 'hot'"):
        RateSchedule(0.1, warm_up="hot")


def test_an_epoch_of_n_devices_has_an_nth_of_the_updates() -> None:
    assert [updates_per_epoch(1024, 32, devices) for devices in (1, 2, 4, 32)] == [32, 16, 8, 1]
    assert updates_per_epoch(1025, 32, 32) == 2


# Networks side by side


def test_networks_side_by_side_are_those_that_torch_trains_alone() -> None:
    seeds, rates, generator = (3, 5), (0.1, 0.2), torch.Generator().manual_seed(0)
    together = start_replicas((4, 6, 3), seeds, start_scale=2.0)
    velocities = [torch.zeros_like(parameter) for parameter in together]
    alone = [nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)) for _ in seeds]
    optimizers = [
        torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=0.01)
        for model, rate in zip(alone, rates, strict=True)
    ]
    for number, model in enumerate(alone):
        for own, parameter in zip(model.parameters(), together, strict=True):
            own.data = parameter[number].squeeze(0).T.clone() if own.dim() == 2 else parameter[number, 0].clone()
    for _ in range(3):
        inputs, labels = (
            torch.randn(2, 5, 4, generator=generator),
            torch.randint(3, (2, 5), generator=generator),
        )
        gradients = replica_gradients(together, inputs, labels)
        momentum_step(together, velocities, gradients, torch.tensor(rates), momentum=0.9, weight_decay=0.01)
        for model, optimizer, own_inputs, own_labels in zip(alone, optimizers, inputs, labels, strict=True):
            optimizer.zero_grad()
            functional.cross_entropy(model(own_inputs), own_labels).backward()
            optimizer.step()
    for number, model in enumerate(alone):
        torch.testing.assert_close(replica_outputs(together, inputs)[number], model(inputs[number]).detach())
        expected = functional.cross_entropy(model(inputs[number]), labels[number]).detach()
        torch.testing.assert_close(replica_losses(together, inputs, labels)[number], expected)


def test_a_seed_has_the_same_network_whichever_others_are_there() -> None:
    alone, together = start_replicas((4, 3), seeds=[7]), start_replicas((4, 3), seeds=[1, 7, 2])
    assert all(torch.equal(one[0], many[1]) for one, many in zip(alone, together, strict=True))
    assert not torch.equal(together[0][0], together[0][1])
    deviation = start_replicas((50, 200), seeds=[0], start_scale=3.0)[0].std().item()
    assert deviation == pytest.approx(3 * (2 / 50) ** 0.5, rel=0.03)


def test_a_seed_has_the_same_errors_whichever_others_are_there() -> None:
    task = LargeBatch(epochs=2)
    alone = train_recipes(task, 64, [BASELINE], seeds=[5])[0].errors[0]
    many = train_recipes(task, 64, [RECIPES["gradual warm-up"], BASELINE], seeds=[2, 5])[1].errors[1]
    assert many == pytest.approx(alone, abs=2 / 360)  # to rounding, which may turn a doubtful image or two


# Noise


def test_noise_and_signal_of_four_gradients_by_hand() -> None:
    gradients = torch.tensor([[4.0, 2.0], [4.0, -2.0], [2.0, 0.0], [6.0, 0.0]])  # mean (4, 0)
    found = gradient_noise(gradients)
    assert found.noise == pytest.approx((4 + 4 + 4 + 4) / 3)
    assert found.signal == pytest.approx(16 - found.noise / 4)
    assert found.scale == found.noise / found.signal


def test_noise_and_signal_are_right_on_average_over_all_draws() -> None:
    # Every pair that can be drawn, with replacement, from three gradients.
    gradients = torch.tensor([[1.0, 0.0], [2.0, 5.0], [6.0, 1.0]])
    signal = gradients.mean(0).square().sum().item()
    noise = gradients.var(0, correction=0).sum().item()
    draws = [gradient_noise(torch.stack(pair)) for pair in itertools.product(gradients, repeat=2)]
    assert sum(draw.signal for draw in draws) / len(draws) == pytest.approx(signal)
    assert sum(draw.noise for draw in draws) / len(draws) == pytest.approx(noise)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [2, 3, 7, 50])
def test_gradients_that_agree_have_no_noise_and_never_less(count: int, seed: int) -> None:
    one = 1000 * torch.randn(333, generator=torch.Generator().manual_seed(seed))
    found = gradient_noise(one.expand(count, -1))
    assert 0 <= found.noise <= 1e-20 * found.signal
    assert found.signal == pytest.approx(one.double().square().sum().item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_little_noise_is_seen_beside_a_signal_a_billion_times_as_large(dtype: torch.dtype) -> None:
    apart = {torch.float32: 2.0**-10, torch.float64: 2.0**-25, torch.bfloat16: 8.0}[dtype]
    gradients = torch.full((4, 3), 1024.0, dtype=dtype)
    gradients[:2, 1] += apart  # a mean of half of that, from which each is as far
    assert gradient_noise(gradients).noise == pytest.approx(apart**2 / 3)


def test_the_gradients_of_single_examples_are_those_of_autograd() -> None:
    digits, model = load_digits(), digits_model()
    model[0].bias.requires_grad_(False)
    found = example_gradients(model, digits.train_inputs[:5], digits.train_labels[:5])
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    assert found.shape == (5, sum(parameter.numel() for parameter in trained))
    for number in range(5):
        part = slice(number, number + 1)
        loss = functional.cross_entropy(model(digits.train_inputs[part]), digits.train_labels[part])
        expected = torch.cat([gradient.flatten() for gradient in torch.autograd.grad(loss, trained)])
        torch.testing.assert_close(found[number], expected)


def test_noise_that_cannot_be_seen_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two examples, got 1"):
        gradient_noise(torch.ones(1, 3))
    assert gradient_noise(torch.tensor([[1.0], [-1.0]])).scale == float("inf")


def test_the_noise_of_digits_grows_as_the_loss_falls() -> None:
    first, middle, last = noise_in_training(points=(0, 100, 600))
    assert first.loss > middle.loss > last.loss
    assert last.noise.scale > 3 * middle.noise.scale


# The critical batch size


@given(critical=st.floats(1, 1e4), fewest=st.floats(1, 1e3))
def test_a_curve_of_the_model_gives_its_critical_batch_size_back(critical, fewest) -> None:
    goals = [Goal(batch, 0.1, fewest * (1 + critical / batch)) for batch in (1, 10, 100)]
    assert fit_critical_batch_size(goals) == pytest.approx((critical, fewest), rel=1e-6)


def test_larger_batches_save_updates_until_they_only_waste_examples() -> None:
    calls = []
    small, middle, large, huge = goals = updates_to_goal(
        (4, 16, 256, 512), goal=0.8, seeds=range(3), progress=lambda *done: calls.append(done)
    )
    assert small.updates > 1.8 * middle.updates > 1.8 * large.updates
    assert huge.updates > 0.7 * large.updates  # twice the batch, nothing saved
    assert small.examples < middle.examples < large.examples < huge.examples
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    critical, fewest = fit_critical_batch_size(goals)
    assert 4 < critical < 256
    for goal in goals:
        assert fewest * (1 + critical / goal.batch_size) == pytest.approx(goal.updates, rel=0.3)


def test_a_goal_that_is_not_reached_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"reaches a loss of 0\.0 in 2 updates of 4 images"):
        updates_to_goal((4,), goal=0.0, limit=2)


# Recipes


def test_an_outcome_knows_the_mean_of_its_seeds_and_how_far_that_may_be_off() -> None:
    low = SeedErrors(4, BASELINE, (0.1, 0.3, 0.2))
    assert low.error == pytest.approx(0.2)
    assert low.standard_error == pytest.approx(0.1 / 3**0.5)


def test_no_network_is_tested_on_what_it_was_trained_on(monkeypatch) -> None:
    train, test = split_by_seed(1797, 1437, seeds=[0, 1])
    assert train.shape == (2, 1437)
    for own_train, own_test in zip(train, test, strict=True):
        assert sorted([*own_train.tolist(), *own_test.tolist()]) == list(range(1797))
    assert not torch.equal(train[0], train[1])
    used = []
    monkeypatch.setattr(large_batch, "split_by_seed", lambda *_: (torch.arange(64)[None], torch.arange(64, 128)[None]))
    real = {"replica_gradients": large_batch.replica_gradients, "replica_outputs": large_batch.replica_outputs}
    for name, function in real.items():
        monkeypatch.setattr(
            large_batch, name, lambda p, inputs, *rest, f=function: (used.append(inputs), f(p, inputs, *rest))[1]
        )
    train_recipes(LargeBatch(epochs=1, train_length=64), 16, [BASELINE], seeds=[0])
    seen = [{tuple(image.tolist()) for image in inputs[0]} for inputs in used]
    assert len(set.union(*seen[:-1]) | seen[-1]) == 128


def test_progress_counts_every_update() -> None:
    calls, task = [], LargeBatch(epochs=2, train_length=1000)
    outcomes = error_by_batch_size((128, 500), seeds=range(2), task=task, progress=lambda *done: calls.append(done))
    assert calls == [(8, 20), (16, 20), (18, 20), (20, 20)]
    assert [outcome.batch_size for outcome in outcomes] == [128, 500]
    assert [len(outcome.errors) for outcome in outcomes] == [2, 2]


def test_the_published_order_of_recipes() -> None:
    assert list(GOYAL_RECIPES) == list(RECIPES) == sorted(GOYAL_RECIPES, key=GOYAL_RECIPES.get)
    assert GOYAL_RECIPES["gradual warm-up"] == GOYAL_ERRORS[8192]


@pytest.mark.exhaustive
def test_digits_keep_the_small_batches_error_up_to_a_knee() -> None:
    baseline, *larger = error_by_batch_size()
    for outcome in larger:
        assert (outcome.error < baseline.error + 0.005) == (outcome.batch_size <= 64)
    errors = [outcome.error for outcome in larger if outcome.batch_size >= 64]
    assert errors == sorted(errors)
