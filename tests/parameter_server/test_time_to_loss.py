"""How long a policy needs to a loss: one clock for all policies, and the ranges that the lecture's folds name."""

import math
from statistics import median

import pytest

from course_lib.parameter_server import asynchronous, stale_synchronous, synchronous
from course_lib.parameter_server.experiments import Speeds, time_to_loss, train, train_to_loss

HEALTHY = Speeds(gradient_s=0.1, spread=0.1)
STALLING = Speeds(gradient_s=0.1, spread=0.1, stall_share=0.05, stall_s=1.0)


@pytest.mark.parametrize("policy", [synchronous(3), asynchronous()], ids=lambda policy: policy.name)
def test_a_loss_is_taken_at_equal_times_and_is_that_of_the_last_update_before(policy):
    setting = {"workers": 3, "updates": math.inf, "seconds": 1.0, "seed": 2}
    looked = train(policy, every_s=0.25, **setting)
    every = train(policy, points=10_000, **setting)
    assert looked.time_s[:-1] == [0.0, 0.25, 0.5, 0.75]
    assert looked.time_s[-1] == every.time_s[-1]
    assert looked.loss == [every.loss_at(time_s) for time_s in looked.time_s]
    for at_s, updates in zip(looked.time_s, looked.updates, strict=True):
        assert updates == sum(0 < made_s <= at_s for made_s in every.time_s)


def test_a_run_ends_before_its_time_only_if_it_arrived():
    arrives = train_to_loss(asynchronous(), workers=2, speeds=HEALTHY, rate=2, loss=1.0, until_s=6.0)
    assert arrives.seconds_to(1.0) <= arrives.time_s[-1] < 2.1  # a third of the time is tried first
    never = train_to_loss(asynchronous(), workers=2, speeds=HEALTHY, rate=0.01, loss=1.0, until_s=1.0)
    assert never.seconds_to(1.0) == math.inf
    assert never.time_s[-1] > 0.9


def test_it_is_the_median_and_the_oldest_of_all():
    setting = {"workers": 2, "speeds": STALLING, "rate": 1, "loss": 1.0}
    runs = [train_to_loss(asynchronous(), seed=seed, **setting) for seed in range(3)]
    found = time_to_loss(asynchronous(), seeds=range(3), **setting)
    assert found.seconds == median(run.seconds_to(1.0) for run in runs)
    assert found.oldest == max(max(run.staleness) for run in runs)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        time_to_loss(asynchronous(), seeds=[])
    with pytest.raises(ValueError, match="every_s must be more than 0, got 0"):
        train(asynchronous(), every_s=0)


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("policy", "rate", "least", "most"),
    [
        (synchronous(8), 8, 11.5, 13.0),
        (synchronous(7, backup=1), 8, 5.7, 7.1),
        (synchronous(6, backup=2), 8, 4.0, 4.8),
        (synchronous(5, backup=3), 8, 2.8, 3.5),
        (asynchronous(), 1, 3.1, 3.5),
        (stale_synchronous(2), 1, 6.2, 6.8),
        (stale_synchronous(8), 1, 3.4, 4.1),
    ],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_medians_of_five_seeds_lie_where_the_lecture_says(policy, rate, least, most):
    runs = [train_to_loss(policy, workers=8, rate=rate, speeds=STALLING, seed=seed) for seed in range(10)]
    medians = [median(run.seconds_to(0.2) for run in runs[first : first + 5]) for first in range(6)]
    assert (round(min(medians), 1), round(max(medians), 1)) == (least, most)
    if policy == synchronous(8):
        took = [run.seconds_to(0.2) for run in runs]
        assert (min(took), sum(each == math.inf for each in took)) == (9.3, 2)
