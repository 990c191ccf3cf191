"""Staleness: by hand, as published, and the law that its mean is the same whatever the workers' speeds."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.parameter_server import (
    FULL_WEIGHT,
    Message,
    Server,
    Sgd,
    Staleness,
    StalenessWeight,
    asynchronous,
    decay,
    drop_older_than,
    expected_staleness,
    inverse_staleness,
    softsync,
    synchronous,
)
from course_lib.parameter_server.experiments import Speeds, measure_staleness, train

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (1, 2))]


def test_staleness_is_the_updates_made_since_the_pull() -> None:
    # version:   0        1        2
    # worker 1:  pull ---------------- push  has missed two updates
    # worker 2:  pull push pull push         has missed none, and none of its own
    server = Server(0, None, asynchronous(), workers=[1, 2])
    for sender, clock, version in ((2, 1, 0), (2, 2, 1), (1, 1, 0)):
        server.handle(Message("push", sender, clock, version))
    assert [update.staleness for update in server.log] == [(0,), (0,), (2,)]


def test_an_update_of_several_gradients_knows_the_staleness_of_each() -> None:
    server = Server(0, None, softsync(4, 2), workers=[1, 2, 3, 4])
    for sender in (1, 2, 3, 4):
        server.handle(Message("push", sender, clock=1, version=0))
    assert [update.staleness for update in server.log] == [(0, 0), (1, 1)]


@pytest.mark.parametrize("seed", SEEDS)
def test_one_softsync_of_thirty_learners_is_as_published(seed: int) -> None:
    # Zhang et al. 2015: λ = 30, n = 1: staleness 0, 1 or 2; mean (λ - 1)/c = 29/30.
    found = measure_staleness(softsync(30, 1), workers=30, updates=200, seed=seed)
    assert set(found.counts) == {0, 1, 2}
    assert found.gradients == 6000
    assert found.mean == pytest.approx(0.967, abs=0.01)


@pytest.mark.parametrize("seed", SEEDS)
def test_fifteen_softsync_of_thirty_learners_is_as_published(seed: int) -> None:
    # Zhang et al. 2015: λ = 30, n = 15: mean 14.5, P(staleness > 2n) < 1e-4 with times that vary by 10 %.
    found = measure_staleness(softsync(30, 15), workers=30, updates=3000, seed=seed)
    assert found.mean == pytest.approx(14.5, abs=0.1)
    assert found.share_over(30) < 1e-4


@given(
    workers=st.integers(1, 6),
    gradients_per_update=st.integers(1, 6),
    spread=st.floats(0.05, 0.9),
    slower=st.floats(1.0, 3.0),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=10, deadline=None)
def test_the_mean_staleness_does_not_depend_on_the_speeds(
    workers: int, gradients_per_update: int, spread: float, slower: float, seed: int
) -> None:
    gradients_per_update = min(workers, gradients_per_update)
    policy, updates = softsync(workers, workers // gradients_per_update), int(6 * slower * workers**2) + 1
    c = policy.gradients_per_update
    speeds = Speeds(spread=spread, slower={0: slower})
    found = measure_staleness(policy, workers=workers, updates=updates, speeds=speeds, seed=seed)
    # What is on its way at the end has not been counted: it misses about slower × workers² pushes, so that a mean of
    # workers / c, one more than is right, is seen to be wrong.
    assert found.mean == pytest.approx(expected_staleness(workers, c), abs=0.4 / c)


def test_a_training_of_nobody_has_no_staleness() -> None:
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        measure_staleness(asynchronous(), workers=0, updates=5)


def test_who_waits_is_never_stale() -> None:
    for policy in (synchronous(4), synchronous(3, backup=1)):
        assert set(measure_staleness(policy, workers=4, updates=50).counts) == {0}


def test_a_slow_worker_is_stale_and_the_others_are_the_fresher_for_it() -> None:
    even, uneven = (
        measure_staleness(asynchronous(), workers=4, updates=2000, speeds=Speeds(slower=slower))
        for slower in ({}, {0: 10.0})
    )
    assert max(even.counts) < 10 < max(uneven.counts)
    assert uneven.counts[2] > uneven.counts.get(3, 0)  # three fast workers miss each other's pushes
    assert even.mean == pytest.approx(3, abs=0.05)
    assert uneven.mean == pytest.approx(3, abs=0.05)


def test_staleness_of_training_is_what_is_measured_without_parameters() -> None:
    history = train(asynchronous(), workers=5, updates=100)
    assert Staleness.of(history.staleness).mean == pytest.approx(4, abs=0.2)


@pytest.mark.parametrize(
    ("staleness_weight", "value", "weights"),
    [
        (FULL_WEIGHT, 2.0, (1.0, 1.0)),
        (inverse_staleness(), 1 + 1 / 4, (1.0, 0.25)),
        (decay(0.5), 1 + 1 / 16, (1.0, 0.0625)),
        (drop_older_than(3), 1.0, (1.0,)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_stale_gradient_counts_as_the_staleness_weight_says(
    staleness_weight: StalenessWeight, value: float, weights: tuple
) -> None:
    server = Server(0, torch.zeros(1), asynchronous(), [1, 2], Sgd(-1.0), staleness_weight=staleness_weight)
    for clock, staleness in ((1, 0), (2, 4)):
        gradient = torch.ones(1)
        if clock == 2:
            server.version = 4
        server.handle(Message("push", 1, clock, server.version - staleness, payload=gradient))
    assert server.parameters.item() == value
    assert tuple(weight for update in server.log for weight in update.weights) == weights
    assert server.dropped == ([] if len(weights) == 2 else [4])
