"""The pipeline explorer: what it shows is what the schedule and its times say; a schedule of one's own is checked."""

import pytest

from course_lib.pipeline import SCHEDULES, Operation, OperationTimes, Schedule, pipeline_timeline
from course_lib.widgets import PipelineExplorer
from course_lib.widgets.pipeline.model import PipelineSetting, bubble_curve, schedule_of, timeline_of
from course_lib.widgets.pipeline.panels import pictures

from .parts import facts_of

SETTING = PipelineSetting("ZB-H1", 8, 24, 18.522e-3, 18.086e-3, 9.337e-3, 0.601e-3)


def test_its_bubble_is_the_published_one():
    assert round(timeline_of(SETTING).bubble, 4) == 0.1585  # Qi et al., arXiv 2401.10241, tables 5 and 9


def test_interleaved_rounds_micro_batches_up_and_halves_the_times():
    setting = SETTING._replace(schedule="interleaved", ranks=4, micro_batches=6)
    assert schedule_of(setting).micro_batches == 8
    halves = OperationTimes(9.261e-3, 9.043e-3, 4.6685e-3, transfer_s=0.601e-3)
    expected = pipeline_timeline(SCHEDULES["interleaved"](4, 8), halves).makespan_s
    assert timeline_of(setting).makespan_s == pytest.approx(expected)


def test_the_curve_is_that_of_every_number_of_micro_batches():
    curve = bubble_curve(SETTING._replace(schedule="1F1B", ranks=4, transfer_s=0.0))
    assert curve[12] == pytest.approx(3 / 15)
    assert list(bubble_curve(SETTING._replace(schedule="interleaved", ranks=4))) == [4, 8, 12, 16, 20, 24, 28, 32]


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("ranks", [1, 4])
def test_every_schedule_has_its_pictures(name, ranks):
    assert facts_of(PipelineExplorer(schedule=name, ranks=ranks))["bubble"].endswith("%")


def test_a_schedule_of_ones_own_is_drawn_if_it_can_be_carried_out_and_explained_if_not():
    good = Schedule("own", 1, 1, ((Operation("F", 0, 0), Operation("B", 0, 0)),))
    bad = Schedule("own", 1, 1, ((Operation("B", 0, 0), Operation("F", 0, 0)),))
    assert len(pictures(SETTING._replace(schedule=good))) == 4
    assert pictures(SETTING._replace(schedule=bad)) == [
        "This schedule cannot be carried out. deadlock: rank 0 cannot do B0 of stage 0 before F0 of stage 0."
    ]
    assert facts_of(PipelineExplorer(good))["micro-batches"] == "1"
