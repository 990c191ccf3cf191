"""Ranks that average with one neighbor at a time keep the sum, wait for nobody's training, and come together."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Network, RankError, run, simulate
from course_lib.data_parallel import SharedRow, keep_averaging

LINKS = Network(latency_s=0.125)


def counted(comm, starts: list, seconds: float, step_s: float, pause_s: float, seed: int = 0) -> tuple:
    """This rank's row at the end and its steps: each adds 1 to a row that is averaged meanwhile."""
    shared = SharedRow(torch.tensor(starts[comm.rank], dtype=torch.float64))
    beside = comm.start(keep_averaging, shared, pause_s, seed)
    steps = 0
    while comm.now() < seconds:
        comm.compute(step_s)
        if step_s:
            shared.move(torch.ones(1, dtype=torch.float64))
            steps += 1
        else:
            comm.compute(seconds)
    shared.over = True
    beside.wait()
    return shared.read().item(), steps, shared.averagings


def test_two_ranks_meet_in_the_middle_as_drawn() -> None:
    args = [[2.0], [8.0]], 1.0, 0.0, 10.0
    report = simulate(counted, 2, args, network=LINKS)
    assert [result[::2] for result in report.results] == [(5.0, 1), (5.0, 1)]
    # Letter and answer; and the leave that rank 0 takes after its rest.
    assert [(m.src, m.dst, m.message_bytes, m.start_s) for m in report.trace.messages] == [
        (0, 1, 16, 0.0),
        (1, 0, 16, 0.125),
        (0, 1, 16, 10.25),
    ]


def test_a_row_moves_halfway_from_where_it_is_and_says_where_it_was() -> None:
    shared = SharedRow(torch.tensor([4.0]))
    shared.move(torch.tensor([2.0]))
    assert shared.move_halfway(torch.tensor([10.0])).item() == 6.0
    assert shared.read().item() == 8.0
    copy = shared.read()
    copy += 1
    assert shared.read().item() == 8.0


@settings(max_examples=25)
@given(
    starts=st.lists(st.integers(-99, 99).map(lambda n: [n]), min_size=2, max_size=8).filter(lambda s: len(s) % 2 == 0),
    slower=st.lists(st.sampled_from([1.0, 1.5, 4.0]), min_size=8, max_size=8),
    pause_s=st.sampled_from([0.3, 1.0, 2.5]),
    seed=st.integers(0, 99),
)
def test_the_sum_changes_by_what_the_trainings_add_and_nothing_else(starts, slower, pause_s, seed) -> None:
    network = Network(latency_s=0.1, stragglers=dict(enumerate(slower[: len(starts)])))
    results = simulate(counted, len(starts), (starts, 12.0, 1.0, pause_s, seed), network=network).results
    rows, steps, averagings = (sum(column) for column in zip(*results, strict=True))
    assert rows == pytest.approx(sum(start[0] for start in starts) + steps, abs=1e-9)
    assert averagings % 2 == 0  # each has two ends
    assert averagings > 0


def test_averaging_without_training_brings_all_ranks_to_the_mean() -> None:
    starts = [[value] for value in (9.0, 0.0, 0.0, 3.0, 0.0, 0.0)]
    results = simulate(counted, 6, (starts, 100.0, 0.0, 1.0), network=LINKS).results
    assert [row for row, _, _ in results] == pytest.approx([2.0] * 6, abs=1e-3)


def averaged(world_size: int = 4, network: Network = LINKS, pause_s: float = 0.5):
    """A report of twelve seconds, a second for each step, from rows of 0."""
    return simulate(counted, world_size, ([[0.0]] * world_size, 12.0, 1.0, pause_s), network=network)


def test_every_rank_goes_at_its_own_pace_and_a_slow_one_costs_the_others_no_step() -> None:
    report = averaged(network=Network(latency_s=0.1, stragglers={3: 4.0}))
    assert [steps for _, steps, _ in report.results] == [12, 12, 12, 3]
    for rank, step_s in enumerate((1.0, 1.0, 1.0, 4.0)):
        starts = [span.start_s for span in report.trace.spans if span.rank == rank and span.label != "rest"]
        assert starts == pytest.approx([number * step_s for number in range(len(starts))])


def test_an_even_rank_asks_a_neighbor_and_that_one_answers_it_before_it_hears_another() -> None:
    trace = averaged(8).trace
    letters = [(m.src, m.dst) for m in trace.messages if m.start_s < 12]
    assert {(dst - src) % 8 for src, dst in letters} == {1, 7}
    for odd in (1, 3, 5, 7):
        own = [letter for letter in letters if odd in letter]
        asks, answers = own[::2], own[1::2]
        assert all(dst == odd for _, dst in asks)
        assert answers == [(dst, src) for src, dst in asks[: len(answers)]]
        assert {src for src, _ in asks} == {odd - 1, (odd + 1) % 8}


def test_equal_runs_are_equal_to_the_last_bit() -> None:
    assert averaged().results == averaged().results


def test_ranks_that_average_more_often_stay_closer() -> None:
    slow = Network(latency_s=0.1, stragglers={3: 4.0})
    often, seldom, hardly = (averaged(network=slow, pause_s=pause_s).results for pause_s in (0.5, 6.0, 1000.0))
    spread = [
        max(row for row, _, _ in results) - min(row for row, _, _ in results) for results in (often, seldom, hardly)
    ]
    assert spread[0] < spread[1] < spread[2]


def test_real_processes_keep_the_sum_too() -> None:
    def until_they_have_met(comm):
        shared, steps = SharedRow(torch.tensor([2.0, 8.0], dtype=torch.float64)[[comm.rank]]), 0
        beside = comm.start(keep_averaging, shared, 0.01)
        while steps < 5 or not shared.averagings:
            comm.compute(0.01)
            shared.move(torch.ones(1, dtype=torch.float64))
            steps += 1
        shared.over = True
        beside.wait()
        return shared.read().item(), steps

    rows, steps = (sum(column) for column in zip(*run(until_they_have_met, 2).results, strict=True))
    assert rows == pytest.approx(10 + steps)


def test_an_odd_ring_and_an_endless_moment_are_refused() -> None:
    with pytest.raises(RankError, match="needs an even number of ranks, got 3"):
        averaged(3)
    with pytest.raises(RankError, match="pause_s must be more than 0, got 0"):
        averaged(pause_s=0.0)
