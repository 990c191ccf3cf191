"""A schedule for a memory: it fits, none of those that were tried is better, and what does not fit is refused."""

import pytest

from course_lib.pipeline import (
    OperationTimes,
    all_v,
    check_schedule,
    gpipe,
    idles_least,
    known_schedules,
    one_at_a_time,
    one_forward_one_backward,
    peak_in_flight,
    v_half,
    zero_bubble_v,
)

SHORT_W = OperationTimes(2, 2, 1)


def test_by_hand_the_least_idle_of_three():
    three = [make(4, 8) for make in (one_at_a_time, gpipe, one_forward_one_backward)]
    named = [(limit, idles_least(three, OperationTimes(), limit).schedule.name) for limit in (1, 3, 4, 9)]
    assert named == [(1, "one at a time"), (3, "one at a time"), (4, "1F1B"), (9, "GPipe")]
    with pytest.raises(ValueError, match=r"none of the schedules holds at most 0\.5 micro-batches"):
        idles_least(three, OperationTimes(), 0.5)


@pytest.mark.parametrize(("ranks", "micro_batches"), [(1, 1), (3, 4), (4, 8)])
def test_interleaved_alone_is_missing_where_the_ranks_do_not_divide(ranks, micro_batches):
    names = [schedule.name for schedule in known_schedules(ranks, micro_batches)]
    assert ("interleaved, 2 chunks" in names) == (micro_batches % ranks == 0)
    assert len(names) > 9


@pytest.mark.parametrize(("ranks", "micro_batches", "max_held"), [(1, 2, 1.5), (3, 5, 2.5), (4, 6, 3)])
def test_every_v_can_be_carried_out_and_fits(ranks, micro_batches, max_held):
    several = list(all_v(ranks, micro_batches, max_held))
    assert len(several) > 80
    for schedule in several:
        check_schedule(schedule, max_in_flight=int(2 * max_held))


def test_a_block_for_the_times_idles_less_than_half_as_long_as_v_half_in_its_memory():
    found = idles_least(all_v(4, 12, 3), SHORT_W, 3)
    assert max(found.peak_in_flight) == max(peak_in_flight(v_half(4, 12))) == 6
    assert found.bubble < 0.5 * idles_least([v_half(4, 12)], SHORT_W, 3).bubble


def test_two_stages_a_rank_take_half_of_the_time_each():
    for times in (OperationTimes(), SHORT_W):
        timeline = idles_least([zero_bubble_v(2, 6)], times, 2)
        work = sum(timed.end_s - timed.start_s for timed in timeline.ranks[0])
        assert work == pytest.approx(6 * times.all_s)
