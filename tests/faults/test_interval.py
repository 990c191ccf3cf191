"""Formulas for how often to save, against each other and against failures that are drawn."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.faults import (
    LLAMA_3,
    LLAMA_3_CAUSES,
    META_CLUSTERS,
    META_PROJECTED_MTTF_H,
    RunStretch,
    best_interval_s,
    daly_interval_s,
    first_order_interval_s,
    job_mtbf_s,
    simulate_run,
    waste,
    young_interval_s,
)

HOUR = 3600.0


def test_without_failures_a_run_takes_its_work_and_its_saves():
    run = simulate_run(work_s=100, interval_s=30, save_s=2, mtbf_s=1e18)
    assert run == (108, 100, 0)  # the last save, after 10 s of work, counts too


def test_a_failure_costs_the_work_since_the_save_and_a_restart():
    # The only failure within 140 s of seed 3 is drawn below; the run is played by hand.
    import random

    failure_s = random.Random(3).expovariate(1 / 1000)
    interval_s = failure_s / 1.5
    run = simulate_run(work_s=2 * interval_s, interval_s=interval_s, save_s=0, mtbf_s=1000, restart_s=7, seed=3)
    assert run.failures == 1
    assert run.seconds == pytest.approx(failure_s + 7 + interval_s)


@pytest.mark.parametrize("save_s", [5, 60, 600])
@pytest.mark.parametrize("factor", [0.3, 1, 3])
@pytest.mark.parametrize("restart_s", [0, 300])
def test_the_expected_waste_is_that_of_drawn_failures(save_s, factor, restart_s):
    mtbf_s = HOUR
    interval_s = factor * best_interval_s(save_s, mtbf_s)
    runs = [simulate_run(2000 * interval_s, interval_s, save_s, mtbf_s, restart_s, seed=seed) for seed in range(8)]
    shares = [1 - run.waste for run in runs]
    mean = sum(shares) / len(shares)
    error = math.sqrt(sum((share - mean) ** 2 for share in shares) / 7 / 8)
    assert abs(mean - (1 - waste(interval_s, save_s, mtbf_s, restart_s))) < 5 * error + 1e-3


@pytest.mark.parametrize("save_s", [1, 10, 100, 1000, 5000])
def test_the_best_interval_wastes_least_and_daly_is_close(save_s):
    best_s = best_interval_s(save_s, HOUR)
    least = waste(best_s, save_s, HOUR)
    assert all(waste(best_s * factor, save_s, HOUR) > least for factor in (0.9, 0.99, 1.01, 1.1))
    assert daly_interval_s(save_s, HOUR) == pytest.approx(best_s, rel=0.001 if save_s < 1000 else 0.04)
    assert waste(daly_interval_s(save_s, HOUR), save_s, HOUR) == pytest.approx(least, rel=1e-3)


TIMES_S = st.floats(1e-3, 1e12)


@given(TIMES_S, TIMES_S, TIMES_S, TIMES_S)
def test_the_waste_is_a_share_and_grows_with_the_restart_however_often_machines_fail(save_s, mtbf_s, restart_s, more_s):
    interval_s = best_interval_s(save_s, mtbf_s)
    assert 0 <= interval_s <= mtbf_s
    assert -1e-12 <= waste(interval_s, save_s, mtbf_s, restart_s) <= 1
    assert waste(interval_s, save_s, mtbf_s, restart_s) <= waste(interval_s, save_s, mtbf_s, restart_s + more_s)


def test_where_no_segment_ends_before_the_next_failure_all_time_is_wasted():
    assert waste(interval_s=86_400, save_s=3600, mtbf_s=50, restart_s=3600) == 1


def test_all_formulas_are_one_where_a_save_costs_nothing_much():
    for formula in (young_interval_s, first_order_interval_s, daly_interval_s):
        assert formula(1e-6, HOUR) == pytest.approx(best_interval_s(1e-6, HOUR), rel=1e-4)


def test_daly_beats_young_where_saves_are_long():
    best_s = best_interval_s(1000, HOUR)
    misses = [abs(formula(1000, HOUR) - best_s) for formula in (daly_interval_s, young_interval_s)]
    assert misses[0] < misses[1] / 5


def test_saves_in_the_background_keep_what_is_on_disk_only():
    behind = [simulate_run(400_000, 600, 1, HOUR, write_s=100, seed=seed).waste for seed in range(6)]
    blocking = [simulate_run(400_000, 600, 101, HOUR, seed=seed).waste for seed in range(6)]
    free = [simulate_run(400_000, 600, 1, HOUR, seed=seed).waste for seed in range(6)]
    assert sum(free) < sum(behind) < sum(blocking)


def test_a_write_longer_than_the_interval_stalls_training():
    run = simulate_run(work_s=300, interval_s=100, save_s=1, mtbf_s=1e18, write_s=150)
    assert run.seconds == 101 + 151 + 151


def test_published_rates_and_models_agree():
    assert sum(LLAMA_3_CAUSES.values()) == LLAMA_3.failures
    assert LLAMA_3.mtbf_s / HOUR == pytest.approx(3.09, abs=0.01)
    for gpus, hours in META_PROJECTED_MTTF_H.items():
        assert job_mtbf_s(gpus, META_CLUSTERS["RSC-1"]) / HOUR == pytest.approx(hours, rel=0.03)
    # Kokolis et al.'s estimate of the share that is training: each failure costs a restart and half an interval.
    theirs = (1 - (120 + 600 / 2) / (3 * HOUR)) / (1 + 10 / 600)
    assert theirs == pytest.approx(1 - waste(600, 10, 3 * HOUR, 120), abs=0.002)


def test_times_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"mtbf_s more than 0, got 1, 0\.0 and 0"):
        young_interval_s(1, 0)
    with pytest.raises(ValueError, match="got -1"):
        daly_interval_s(-1, 5)


def test_the_log_says_what_the_training_does_without_a_gap() -> None:
    log: list[RunStretch] = []
    run = simulate_run(work_s=2000, interval_s=100, save_s=10, mtbf_s=400, restart_s=30, write_s=50, seed=1, log=log)
    assert [after.start_s for after in log[1:]] == [before.end_s for before in log[:-1]]
    assert (log[0].start_s, log[-1].end_s, log[-1].done_s) == (0.0, run.seconds, 2000)
    assert {stretch.what for stretch in log} == {"compute", "save", "restart"}
    assert run == simulate_run(2000, 100, 10, 400, 30, 50, seed=1)
