"""Ranks that average with one neighbor at a time keep the sum, wait for nobody's training, and learn together."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Network, RankError, run, simulate
from course_lib.data_parallel import SharedRow, keep_averaging, train_with_async_gossip
from course_lib.tasks import load_digits

DIGITS = load_digits()
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


def training(world_size: int = 4, network: Network = LINKS, **options):
    return simulate(train_with_async_gossip, world_size, (DIGITS,), options, network)


def test_every_rank_trains_at_its_own_pace() -> None:
    report = training(network=Network(latency_s=0.1, stragglers={3: 4.0}), seconds=24.0)
    assert [result.steps for result in report.results] == [24, 24, 24, 6]
    for rank, step_s in enumerate((1.0, 1.0, 1.0, 4.0)):
        steps = [span for span in report.trace.spans if (span.rank, span.label) == (rank, "step")]
        assert [span.start_s for span in steps] == pytest.approx([number * step_s for number in range(len(steps))])


def test_an_even_rank_asks_a_neighbor_and_that_one_answers_it_before_it_hears_another() -> None:
    trace = training(8, seconds=12.0).trace
    letters = [(m.src, m.dst) for m in trace.messages if m.start_s < 12]
    assert {(dst - src) % 8 for src, dst in letters} == {1, 7}
    for odd in (1, 3, 5, 7):
        own = [letter for letter in letters if odd in letter]
        asks, answers = own[::2], own[1::2]
        assert all(dst == odd for _, dst in asks)
        assert answers == [(dst, src) for src, dst in asks[: len(answers)]]
        assert {src for src, _ in asks} == {odd - 1, (odd + 1) % 8}


def test_a_rank_is_judged_after_its_last_averaging() -> None:
    report = training(network=Network(latency_s=0.7), seconds=12.0)
    letter_bytes = max(m.message_bytes for m in report.trace.messages)
    for rank in range(4):
        own = [m for m in report.trace.messages if rank in (m.src, m.dst)]
        letters = [m for m in own if m.message_bytes == letter_bytes]
        assert letters == own[: len(letters)]  # messages are in order of their start
        assert letters[-1].end_s <= own[len(letters)].start_s


def test_equal_trainings_are_equal_to_the_last_bit() -> None:
    assert training(seconds=12.0).results == training(seconds=12.0).results


def test_ranks_that_average_more_often_stay_closer_and_all_learn() -> None:
    often, seldom, hardly = (training(pause_s=pause_s) for pause_s in (0.5, 24.0, 1000.0))
    assert [run.results[0].averagings for run in (seldom, hardly)] == [4, 1]
    assert often.results[0].drift < seldom.results[0].drift < 0.6 * hardly.results[0].drift
    assert often.results[0].accuracy > 0.85
    assert len({(result.loss, result.drift) for result in often.results}) == 1


def test_where_parts_are_not_alike_ranks_learn_from_each_other_without_ever_meeting_all() -> None:
    together, alone = (training(sort=True, pause_s=pause_s).results[0] for pause_s in (0.5, 1000.0))
    assert together.accuracy > alone.accuracy + 0.2


def test_a_slow_rank_costs_the_others_no_step() -> None:
    slow, even = (training(network=Network(latency_s=0.1, stragglers=s)).results for s in ({3: 4.0}, {}))
    assert [result.steps for result in slow[:3]] == [result.steps for result in even[:3]]
    assert slow[3].steps == even[3].steps / 4


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
        training(3)
    with pytest.raises(RankError, match="pause_s must be more than 0, got 0"):
        training(pause_s=0.0)
