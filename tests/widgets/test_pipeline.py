"""The pipeline explorer: what it shows is what the schedule and its times say; a schedule of one's own is checked."""

from dataclasses import replace

import pytest

from course_lib.pipeline import SCHEDULES, Operation, OperationTimes, Schedule, pipeline_timeline
from course_lib.widgets import PipelineExplorer
from course_lib.widgets.pipeline import (
    PipelineSetting,
    bubble_curve,
    held_of,
    moment_of,
    moments_of,
    schedule_of,
    stages_a_rank,
    timeline_of,
)

from .parts import facts_of

SMALL = {"forward_ms": 10.0, "input_ms": 10.0, "weight_ms": 10.0, "transfer_ms": 0.0}
SETTING = PipelineSetting("ZB-H1", 8, 24, 18.522, 18.086, 9.337, 0.601)


def test_its_bubble_is_the_published_one():
    assert (
        round(timeline_of(SETTING).idle, 4) == round(timeline_of(SETTING).bubble, 4) == 0.1585
    )  # Qi et al., arXiv 2401.10241, tables 5 and 9


def test_interleaved_rounds_micro_batches_up_and_halves_the_times():
    setting = replace(SETTING, schedule="interleaved", ranks=4, micro_batches=6)
    assert schedule_of(setting).micro_batches == 8
    halves = OperationTimes(9.261e-3, 9.043e-3, 4.6685e-3, transfer_s=0.601e-3)
    expected = pipeline_timeline(SCHEDULES["interleaved"](4, 8), halves).makespan_s
    assert timeline_of(setting).makespan_s == pytest.approx(expected)


def test_it_begins_with_the_pipeline_of_the_page():
    caption = PipelineExplorer().caption
    assert (
        "1F1B: 24 micro-batches through 8 stages in 1.46 s; 24.3% of it idle, at most 8 micro-batches held" in caption
    )


def test_held_counts_micro_batches_of_a_whole_rank_however_many_stages_it_has():
    most = {name: facts_of(PipelineExplorer(schedule=name))["most micro-batches held"] for name in SCHEDULES}
    assert {name: most[name] for name in ("ZB-H2", "ZB-V", "interleaved")} == {
        "ZB-H2": "15",
        "ZB-V": "8",
        "interleaved": "11.5",
    }


def test_idle_is_the_share_of_the_whole_step_also_where_ranks_begin_late():
    setting = PipelineSetting("ZB-H2", 4, 8, 1e3, 1e3, 1e3, 0.0)  # 24 units of work in a step of 27
    assert timeline_of(setting).idle == pytest.approx(3 / 27)
    assert timeline_of(setting).bubble == pytest.approx(0)  # from each rank's first operation to its last one


def test_the_curve_is_that_of_every_number_of_micro_batches():
    curve = bubble_curve(replace(SETTING, schedule="1F1B", ranks=4, transfer_ms=0.0))
    assert curve[12] == pytest.approx(3 / 15)
    assert list(bubble_curve(replace(SETTING, schedule="interleaved", ranks=4))) == [4, 8, 12, 16, 20, 24, 28, 32]


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("ranks", [1, 4])
def test_every_schedule_has_its_pictures(name, ranks):
    assert facts_of(PipelineExplorer(schedule=name, ranks=ranks))["idle"].endswith("%")


def test_a_schedule_of_ones_own_is_drawn_if_it_can_be_carried_out_and_explained_if_not():
    good = Schedule("own", 1, 1, ((Operation("F", 0, 0), Operation("B", 0, 0)),))
    bad = Schedule("own", 1, 1, ((Operation("B", 0, 0), Operation("F", 0, 0)),))
    assert len(PipelineExplorer.pictures(replace(SETTING, schedule=good))) == 4
    assert PipelineExplorer.pictures(replace(SETTING, schedule=bad)) == [
        "This schedule cannot be carried out. deadlock: rank 0 cannot do B0 of stage 0 before F0 of stage 0."
    ]
    assert facts_of(PipelineExplorer(good))["micro-batches"] == "1"


@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.parametrize("name", SCHEDULES)
def test_what_is_held_at_a_moment_is_what_has_begun_and_is_still_needed(name, ranks):
    timeline = timeline_of(replace(SETTING, schedule=name, ranks=ranks, micro_batches=4))
    begins = sorted({timed.start_s for rank in timeline.ranks for timed in rank})
    moments = [moment_of(timeline, each) for each in begins]
    peaks = [max(moment.held[rank] for moment in moments) for rank in range(ranks)]
    assert peaks == held_of(timeline) == [each / stages_a_rank(timeline.schedule) for each in timeline.peak_in_flight]
    end = moment_of(timeline, timeline.makespan_s)
    assert (end.held, end.running) == ([0] * ranks, [None] * ranks)
    for moment in moments:
        assert any(timed and timed.start_s == pytest.approx(moment.time_s) for timed in moment.running)
        assert min(*moment.for_backward, *moment.for_weights) >= 0
    assert any(any(moment.for_weights) for moment in moments) == timeline.schedule.splits_backward


def test_a_small_case_by_hand():
    """GPipe, 2 ranks, 2 micro-batches: F of 1 s; B and W together 2 s."""
    timeline = timeline_of(PipelineSetting("GPipe", 2, 2, 1e3, 1e3, 1e3, 0.0))
    assert moments_of(timeline) == [0, 1, 2, 3, 5, 7]
    at = {time_s: moment_of(timeline, time_s) for time_s in (0, 1, 2, 3, 4.5, 5, 7)}
    names = {time_s: [str(done.operation)[:2] if done else "" for done in at[time_s].running] for time_s in at}
    assert names == {0: ["F0", ""], 1: ["F1", "F0"], 2: ["", "F1"], 3: ["", "B1"]} | {
        4.5: ["", "B1"],
        5: ["B1", "B0"],
        7: ["B0", ""],
    }
    assert [at[time_s].held for time_s in at] == [[1, 0], [2, 1], [2, 2], [2, 2], [2, 2], [2, 1], [1, 0]]


def test_moments_are_played_and_the_first_step_is_all_of_the_time():
    explorer = PipelineExplorer(schedule="ZB-H1", ranks=4, micro_batches=8, **SMALL)
    assert explorer.step_slider.max == 27
    assert "Moment" not in explorer.caption
    explorer.set(step=6)
    assert "Moment 6 of 27: at 50 ms rank 0 idle, rank 1 idle, rank 2 B0, rank 3 F1." in explorer.caption
    assert "(1 of them for W alone)" in explorer.caption
    (lanes,) = (part.lanes.values() for part in explorer.parts if hasattr(part, "lanes"))
    assert sorted((s.row, s.text) for lane in lanes for s in lane.stretches if s.now) == [(2, "0"), (3, "1")]
    assert len(moments_of(timeline_of(replace(SETTING, ranks=12, micro_batches=32)))) <= 40
    bad = Schedule("own", 1, 1, ((Operation("B", 0, 0), Operation("F", 0, 0)),))
    assert PipelineExplorer(bad).step_slider.disabled
