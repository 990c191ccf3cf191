"""Schedules in the shape of a V: what the papers promise of their bubble and memory, and what they are refused for."""

from dataclasses import replace

import pytest

from course_lib.pipeline import (
    OperationTimes,
    Schedule,
    ScheduleError,
    block_ticks,
    check_schedule,
    filled_v,
    one_forward_one_backward,
    peak_in_flight,
    pipeline_timeline,
    receiver_of,
    v_half,
    v_min,
    zero_bubble_v,
)

HALVES = OperationTimes(0.5, 0.5, 0.5)  # two stages a rank, each half as long
MAX_HELD = {zero_bubble_v: lambda p: 2 * p, v_half: lambda p: p + 2, v_min: lambda p: 2 * (p + 4) // 3}


def idle(schedule: Schedule, times: OperationTimes = HALVES) -> float:
    """Units that the rank idles which is at work longest."""
    share = pipeline_timeline(schedule, times).bubble
    return 2 * schedule.micro_batches * times.all_s * share / (1 - share)


def written(schedule: Schedule) -> list[str]:
    """A stroke marks the second of a rank's stages."""
    return [
        " ".join(f"{kind}{number}" + "'" * (stage // schedule.world_size) for kind, stage, number in operations)
        for operations in schedule.ranks
    ]


def test_the_stages_of_a_v_go_down_the_ranks_and_up_again():
    v = zero_bubble_v(3, 1)
    assert [v.rank_of(stage) for stage in range(6)] == [0, 1, 2, 2, 1, 0]
    assert [replace(v, v_shaped=False).rank_of(stage) for stage in range(6)] == [0, 1, 2, 0, 1, 2]


def test_zb_v_on_two_ranks_by_hand():
    # A micro-batch comes back to rank 0 after three passes elsewhere; meanwhile rank 0 begins others, and one place of
    # its four stays free for the pass on the way up.
    assert written(zero_bubble_v(2, 3)) == [
        "F0 F1 F2 F0' B0' W0' F1' B1' B0 W1' W0 F2' B2' B1 W2' B2 W1 W2",
        "F0 F0' F1 F1' B0' B0 W0' F2 W0 F2' B1' B1 B2' B2 W1' W1 W2' W2",
    ]


@pytest.mark.parametrize("make", MAX_HELD)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 6, 8, 9, 11])
@pytest.mark.parametrize("micro_batches", [1, 2, 3, 7, 12, 24])
def test_each_can_be_carried_out_and_holds_what_its_paper_says(make, ranks, micro_batches):
    schedule = make(ranks, micro_batches)
    check_schedule(schedule, max_in_flight=MAX_HELD[make](ranks))
    if micro_batches == 24:
        assert max(peak_in_flight(schedule)) == MAX_HELD[make](ranks)


@pytest.mark.parametrize("ranks", range(1, 13))
def test_zb_v_idles_nowhere_within_the_memory_of_1f1b(ranks):
    for micro_batches in (2 * ranks - 1, 2 * ranks, 3 * ranks):
        assert idle(zero_bubble_v(ranks, micro_batches)) == pytest.approx(0, abs=1e-9)
        halves = peak_in_flight(zero_bubble_v(ranks, micro_batches))
        assert max(halves) / 2 <= peak_in_flight(one_forward_one_backward(ranks, micro_batches))[0]


@pytest.mark.parametrize("ranks", range(1, 13))
def test_v_half_and_v_min_idle_no_longer_than_published_however_many_micro_batches(ranks):
    # Table in Qi et al., arXiv 2405.15362: bubble rates of p/2m and 2p/3m, where a micro-batch takes 3 units.
    for make, published in ((v_half, 3 * ranks / 2), (v_min, 2 * ranks)):
        found = [idle(make(ranks, micro_batches)) for micro_batches in (24, 48)]
        assert found[0] == pytest.approx(found[1], abs=1e-6)
        assert found[0] <= published


def test_a_v_sends_less_than_interleaved_for_its_turn_crosses_no_wire():
    schedule = zero_bubble_v(4, 8)
    sent = sum(receiver_of(operation, schedule) is not None for each in schedule.ranks for operation in each)
    assert sent == 2 * 8 * 2 * (4 - 1)


def test_a_block_without_room_is_refused():
    ticks = block_ticks(4, (1, 1, 1, 1), (1, 1, 1))
    with pytest.raises(ValueError, match="1 held at most is too few for 4 ranks"):
        filled_v("too small", ticks, 4, max_held=1)
    with pytest.raises(ValueError, match="there must be a micro-batch, got 0"):
        zero_bubble_v(4, 0)
    with pytest.raises(ValueError, match="there must be a rank, got 0"):
        v_min(0, 4)


def test_a_v_is_no_v_where_its_stages_are_dealt_out_in_rounds():
    with pytest.raises(ScheduleError, match="rank 0 does F0 of stage 3, which lies on rank 1"):
        check_schedule(replace(zero_bubble_v(2, 2), v_shaped=False))
