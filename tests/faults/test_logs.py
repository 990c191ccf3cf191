"""The logs of ranks of which one gets into trouble: who speaks, in which order, and how each process ended."""

import os
import time

import pytest
import torch
import torch.distributed as dist

from course_lib.draw import draw_failure_costs
from course_lib.faults import failure_cost_s, young_interval_s
from course_lib.faults.experiments import logs_of


def two_sums(trouble, victim):
    """A program whose rank `victim` gets into trouble between its two sums."""

    def program(rank, log):
        for number in (1, 2):
            if (rank, number) == (victim, 2):
                trouble()
            log(f"begins sum {number}")
            dist.all_reduce(torch.ones(1))

    return program


def errors(logs):
    """The lines that are no beginning of a sum, in their order."""
    return [line for line in logs.lines if not line.words.startswith("begins")]


@pytest.mark.parametrize("victim", [0, 2])
def test_who_fails_speaks_first_and_the_others_see_connections_close(victim):
    def fails():
        raise ValueError("it is broken")

    logs = logs_of(two_sums(fails, victim), 3, timeout_s=20)
    first, *others = errors(logs)
    assert (first.rank, first.words) == (victim, "ValueError: it is broken")
    assert all("onnection" in line.words or "roken pipe" in line.words for line in others)
    assert {line.rank for line in others} == {0, 1, 2} - {victim}
    assert logs.exits == ["exit code 1"] * 3


@pytest.mark.parametrize("victim", [0, 2])
def test_who_is_killed_says_nothing_and_only_its_exit_names_it(victim):
    logs = logs_of(two_sums(lambda: os.kill(os.getpid(), 9), victim), 3, timeout_s=20)
    assert {line.rank for line in errors(logs)} == {0, 1, 2} - {victim}
    assert all("onnection" in line.words or "roken pipe" in line.words for line in errors(logs))
    assert [rank for rank, how in enumerate(logs.exits) if how == "signal 9"] == [victim]


@pytest.mark.parametrize("victim", [0, 2])
def test_for_one_that_hangs_the_others_time_out(victim):
    logs = logs_of(two_sums(lambda: time.sleep(600), victim), 3, timeout_s=2)
    assert any(line.words.startswith("RuntimeError: Timed out") for line in errors(logs))  # perhaps not the first
    assert {line.rank for line in errors(logs)} == {0, 1, 2} - {victim}
    assert [line.words for line in logs.lines if line.rank == victim] == ["begins sum 1"]
    assert logs.exits[victim] == "did not end"


def test_without_trouble_nobody_complains():
    logs = logs_of(two_sums(None, -1), 2, timeout_s=20)
    assert (errors(logs), logs.exits) == ([], ["exit code 0"] * 2)
    assert logs.lines[0].at_s == 0.0


def test_the_sum_of_what_a_failure_costs_is_least_where_saves_cost_what_is_lost():
    best_s = young_interval_s(60, 10_000)
    parts = failure_cost_s(best_s, 60, 10_000)
    assert parts["saves"] == pytest.approx(parts["lost work"])
    assert failure_cost_s(best_s, 60, 10_000, notice_s=7, restart_s=8, write_s=9)["lost work"] == parts["lost work"] + 9
    with pytest.raises(ValueError, match="must be 0 or more"):
        failure_cost_s(60, -1, 10_000)


def test_the_picture_of_the_costs_says_the_sums_and_the_limit():
    costs = {"often": {"notice": 1.0, "saves": 2.5}, "seldom": {"notice": 1.0, "lost work": 40.0}}
    words = "Minutes for each failure, and a tenth of M: 18.6. often: 3.5; seldom: 41.0. (computed)"
    assert draw_failure_costs(costs, 185.6).alt == words
