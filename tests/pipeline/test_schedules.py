"""Schedules as data: each can be carried out, bubbles and memory are those of the papers."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.pipeline import (
    GPIPE_THROUGHPUT,
    SCHEDULES,
    ZERO_BUBBLE_RATES,
    Operation,
    OperationTimes,
    Schedule,
    ScheduleError,
    breadth_first,
    check_schedule,
    gpipe,
    inputs_of,
    interleaved,
    one_at_a_time,
    one_forward_one_backward,
    peak_in_flight,
    pipeline_timeline,
    textbook_bubble,
    zero_bubble_h1,
    zero_bubble_h2,
)
from course_lib.pipeline import schedule as schedule_module


def written(schedule: Schedule) -> list[str]:
    return [" ".join(f"{kind}{number}" for kind, _, number in operations) for operations in schedule.ranks]


def test_1f1b_of_four_stages_reads_as_in_the_paper():
    # Narayanan et al., arXiv 2006.09503, figure 2 (with a flush after four micro-batches).
    assert written(one_forward_one_backward(4, 4)) == [
        "F0 F1 F2 F3 B0 B1 B2 B3",
        "F0 F1 F2 B0 F3 B1 B2 B3",
        "F0 F1 B0 F2 B1 F3 B2 B3",
        "F0 B0 F1 B1 F2 B2 F3 B3",
    ]


def test_h1_of_two_stages_puts_the_weights_of_rank_1_off_by_one():
    assert written(zero_bubble_h1(2, 3)) == ["F0 F1 B0 W0 F2 B1 W1 B2 W2", "F0 B0 F1 B1 W0 F2 B2 W1 W2"]


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("micro_batches", [1, 2, 5, 6, 10])
def test_every_schedule_can_be_carried_out(name, stages, micro_batches):
    if name == "interleaved" and micro_batches % stages:
        with pytest.raises(ValueError, match=f"{stages} ranks must divide the micro-batches, got {micro_batches}"):
            SCHEDULES[name](stages, micro_batches)
    else:
        check_schedule(SCHEDULES[name](stages, micro_batches))


@pytest.mark.parametrize("row", ZERO_BUBBLE_RATES, ids=lambda row: f"{row.micro_batches} micro-batches")
def test_the_published_bubble_rates_to_four_decimals(row):
    timelines = {
        name: pipeline_timeline(SCHEDULES[name](row.stages, row.micro_batches), row.times) for name in row.rates
    }
    assert {name: round(timeline.bubble, 4) for name, timeline in timelines.items()} == row.rates
    assert textbook_bubble(row.stages, row.micro_batches) < row.rates["1F1B"]  # transfers are not in it


@pytest.mark.parametrize(
    ("stages", "micro_batches", "times", "rates"),  # the models of 6.2 and 14.6 billion parameters, same tables
    [
        (8, 24, (29.718, 29.444, 19.927, 0.527), [0.2347, 0.1323, 0.0698]),
        (8, 64, (29.935, 29.621, 19.388, 0.535), [0.1091, 0.0554, 0.0294]),
        (16, 64, (11.307, 11.254, 8.101, 0.379), [0.2082, 0.1088, 0.0516]),
    ],
)
def test_the_rates_of_the_other_models_are_the_published_ones_too(stages, micro_batches, times, rates):
    schedules = [SCHEDULES[name](stages, micro_batches) for name in ("1F1B", "ZB-H1", "ZB-H2")]
    assert [round(pipeline_timeline(each, OperationTimes(*times)).bubble, 4) for each in schedules] == rates


@pytest.mark.parametrize("stages", [1, 2, 8, 16])
@pytest.mark.parametrize("rounds", [2, 3])
def test_zero_bubble_rates_are_those_of_their_closed_forms(stages, rounds):
    # x/(mT + x) is the rate. Source: Qi et al., arXiv 2401.10241, table 2, with transfers.
    m, f, b, w, c = rounds * stages, 29.0, 28.0, 19.0, 0.5
    for maker, x in ((zero_bubble_h1, f + b - w + 4 * c), (zero_bubble_h2, f + b - 2 * w + 2 * c)):
        bubble = pipeline_timeline(maker(stages, m), OperationTimes(f, b, w, c)).bubble
        assert bubble == pytest.approx((stages - 1) * x / (m * (f + b + w) + (stages - 1) * x), abs=1e-12)


def test_gpipes_published_throughput_is_4_to_8_percent_below_the_formula():
    computed = {k: k * (1 - textbook_bubble(k, 32)) for k in (2, 4, 8)}
    assert {k: round(times, 2) for k, times in computed.items()} == {2: 1.94, 4: 3.66, 8: 6.56}
    assert all(1.04 < computed[k] / times < 1.08 for k, times in GPIPE_THROUGHPUT[32].items())
    assert all(k * (1 - textbook_bubble(k, 4)) < times for k, times in GPIPE_THROUGHPUT[4].items())  # does not fit


@pytest.mark.parametrize("maker", [gpipe, one_forward_one_backward])
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("micro_batches", [1, 3, 8])
def test_without_transfers_the_bubble_is_the_textbooks(maker, stages, micro_batches):
    timeline = pipeline_timeline(maker(stages, micro_batches), OperationTimes())
    assert timeline.bubble == pytest.approx(textbook_bubble(stages, micro_batches), abs=1e-12)


@pytest.mark.parametrize(("ranks", "micro_batches", "chunks"), [(1, 3, 2), (4, 4, 2), (4, 9, 3), (3, 3, 5)])
def test_breadth_first_idles_as_interleaved_holds_all_and_changes_stages_least(ranks, micro_batches, chunks):
    schedule = breadth_first(ranks, micro_batches, chunks)
    timeline = pipeline_timeline(schedule, OperationTimes().shared_by(chunks))
    assert timeline.makespan_s == pytest.approx(3 * micro_batches + 3 * (ranks - 1) / chunks)
    assert peak_in_flight(schedule) == [chunks * micro_batches] * ranks
    for operations in schedule.ranks:
        changes = sum(one.stage != other.stage for one, other in pairwise(operations))
        assert changes == 2 * (chunks - 1)


def test_interleaving_divides_the_bubble_by_the_chunks():
    plain, halved = pipeline_timeline(one_forward_one_backward(4, 8), OperationTimes()), OperationTimes(0.5, 0.5, 0.5)
    chunked = pipeline_timeline(interleaved(4, 8, chunks=2), halved)
    assert plain.makespan_s - 8 * 3 == 2 * (chunked.makespan_s - 8 * 3) == 3 * 3


def test_peak_activations_are_those_of_the_papers():
    assert peak_in_flight(one_at_a_time(4, 8)) == [1, 1, 1, 1]
    assert peak_in_flight(gpipe(4, 8)) == [8, 8, 8, 8]
    assert peak_in_flight(one_forward_one_backward(4, 8)) == [4, 3, 2, 1]
    assert peak_in_flight(zero_bubble_h1(4, 8)) == [4, 4, 4, 4]
    assert peak_in_flight(zero_bubble_h2(4, 8)) == [7, 7, 7, 7]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"weight_s": -1.0}, "weight_s must be at least 0, got -1.0"),
        ({"transfer_s": float("nan")}, "transfer_s must be at least 0, got nan"),
        ({"shares": (1.0, -2.0)}, "share 1 must be at least 0, got -2.0"),
        ({"overlap_s": 1.5}, "forward_s must be at least 1.5, got 1.0"),
    ],
)
def test_no_time_is_negative(times, message):
    with pytest.raises(ValueError, match=message):
        OperationTimes(**times)


def test_where_nothing_takes_time_nothing_idles():
    assert pipeline_timeline(gpipe(3, 2), OperationTimes(0.0, 0.0, 0.0)).bubble == 0.0


def test_shares_are_for_all_stages():
    with pytest.raises(ValueError, match="shares must say each stage's, got 2 for stage 2"):
        pipeline_timeline(one_forward_one_backward(3, 2), OperationTimes(shares=(1, 2)))


def test_a_slow_stage_holds_everybody_back():
    times = OperationTimes(shares=(1, 1, 3, 1))
    assert pipeline_timeline(one_forward_one_backward(4, 16), times).makespan_s > 16 * 3 * 3


def schedule_of(*ranks: str, micro_batches: int = 2) -> Schedule:
    """A student's own schedule, a stage a rank, written as "F0 F1 B0 B1"."""
    operations = (
        tuple(Operation(word[0], rank, int(word[1:])) for word in words.split()) for rank, words in enumerate(ranks)
    )
    return Schedule("own", len(ranks), micro_batches, tuple(operations))


def test_what_cannot_be_carried_out_is_refused_with_its_reason():
    with pytest.raises(ScheduleError, match="rank 1 never does B1 of stage 1"):
        check_schedule(schedule_of("F0 F1 B0 B1", "F0 B0 F1"))
    with pytest.raises(ScheduleError, match="rank 0 does F1 of stage 0 2 times"):
        check_schedule(schedule_of("F0 F1 F1 B0 B1", "F0 B0 F1 B1"))
    with pytest.raises(ScheduleError, match="rank 0 does F2 of stage 0, which is no operation of this schedule"):
        check_schedule(schedule_of("F0 F1 F2 B0 B1", "F0 B0 F1 B1"))
    with pytest.raises(ScheduleError, match="rank 1 does F0 of stage 0, which lies on rank 0"):
        check_schedule(Schedule("own", 2, 1, ((), (Operation("F", 0, 0),))))
    with pytest.raises(ScheduleError, match=r"deadlock: rank 0 cannot do B1 of stage 0 before F1 of stage 0$"):
        check_schedule(schedule_of("F0 B1 F1 B0", "F0 B0 F1 B1"))
    with pytest.raises(ScheduleError, match="there must be a rank, a stage and a micro-batch, got 0, 1 and 1"):
        check_schedule(Schedule("own", 1, 1, ()))
    with pytest.raises(ScheduleError, match="rank 0 holds activations of 8 micro-batches, 4 are allowed"):
        check_schedule(gpipe(4, 8), max_in_flight=4)
    with pytest.raises(ValueError, match="there must be a stage and a micro-batch, got 0 and 1"):
        gpipe(0, 1)
    with pytest.raises(ValueError, match="there must be a stage and a micro-batch, got 1 and 0"):
        textbook_bubble(1, 0)
    with pytest.raises(ValueError, match="2 ranks must divide the micro-batches, got 0"):
        interleaved(2, 0)


def test_a_deadlock_is_told_by_its_circle_and_not_by_all_that_wait():
    schedule = schedule_of("F0 B0", "B0 F0", "F0 B0", "F0 B0", micro_batches=1)  # rank 1 waits for itself, by 2 and 3
    with pytest.raises(ScheduleError) as caught:
        check_schedule(schedule)
    assert str(caught.value) == "deadlock: rank 1 cannot do B0 of stage 1 before F0 of stage 1"
    schedule = schedule_of("F0 F1 B0 B1", "F0 F1 B0 B1", "F0 B0 F1 B1", "F1 F0 B0 B1")
    with pytest.raises(ScheduleError) as caught:
        check_schedule(schedule)
    assert str(caught.value) == (
        "deadlock: rank 2 cannot do B0 of stage 2 before B0 of stage 3; "
        "rank 3 cannot do F1 of stage 3 before F1 of stage 2"
    )  # ranks 0 and 1 wait as well, for these


@given(st.permutations([(kind, number) for kind in "FB" for number in range(2)]), st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_a_deadlock_names_a_circle(passes, odd):
    ranks = [["F0", "F1", "B0", "B1"] for _ in range(3)]
    ranks[odd] = [f"{kind}{number}" for kind, number in passes]
    schedule = schedule_of(*map(" ".join, ranks))
    try:
        check_schedule(schedule)
    except ScheduleError as error:
        waits = re.findall(r"rank (\d) cannot do (.)(\d) of stage (\d) before (.)(\d) of stage (\d)", str(error))
        behind = [*waits[1:], waits[0]]
        assert [wait[6] for wait in waits] == [wait[0] for wait in behind]  # each waits for the next one


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_timeline_looks_at_each_operation_a_few_times_however_many_there_are(name, monkeypatch):
    looks = Counter()

    def counted(operation, stages):
        looks[stages] += 1
        return inputs_of(operation, stages)

    monkeypatch.setattr(schedule_module, "inputs_of", counted)
    for stages in (8, 16):
        pipeline_timeline(SCHEDULES[name](stages, 16), OperationTimes())
    few, many = looks.values()
    assert many <= 2.2 * few
