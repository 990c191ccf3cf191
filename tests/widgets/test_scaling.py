"""The scaling explorer: what it shows is what the model of chapter 10 says."""

from dataclasses import replace

import pytest

from course_lib.draw.panels.drawing import Boxes, Polyline
from course_lib.scaling import SYSTEMS
from course_lib.widgets import ScalingExplorer
from course_lib.widgets.scaling import (
    COLORS,
    OWN,
    RANKS,
    Scaling,
    ScalingSetting,
    columns_panel,
    crossings,
    describe_scaling,
    parts_of,
)

from .parts import facts_of, part

SETTING = ScalingSetting(OWN, "AlexNet", 1.0, 6.8e9, 1e-5, 512, True, 16, "fp32", True)
ALEXNET = {"workload": "AlexNet", "bytes_per_s": 6.8e9, "latency_s": 1e-5, "batch": 512}


def test_a_faster_device_moves_the_crossover_down_and_fewer_bytes_move_it_up() -> None:
    crossovers = [Scaling(replace(SETTING, speed=speed)).crossover for speed in (0.25, 1, 4)]
    assert crossovers == sorted(crossovers, reverse=True)
    for fewer in (
        ("fp32", "fp16", "1 bit, to all", "1 bit, cut"),
        ("fp32", "outer step every 8", "outer step every 100"),
    ):
        sent = [Scaling(replace(SETTING, remedy=remedy)).crossover for remedy in fewer]
        assert sent == sorted(sent)


@pytest.mark.parametrize("period", [8, 100, 500])
@pytest.mark.parametrize("fixed", [True, False])
def test_an_outer_step_is_a_whole_all_reduce_shared_by_the_steps_before_it(fixed: bool, period: int) -> None:
    setting = replace(SETTING, fixed=fixed)
    every, after = (
        Scaling(replace(setting, remedy=f"outer step every {period}")),
        Scaling(replace(setting, early=False)),
    )
    for seldom, always in zip(every.points(RANKS), after.points(RANKS), strict=True):
        assert seldom.communication_s == pytest.approx(always.communication_s / period)
        assert seldom.step_s == pytest.approx(always.compute_s + always.communication_s / period)
        assert seldom.speedup * seldom.step_s == pytest.approx(always.speedup * always.step_s)
    assert every.points(RANKS)[0].speedup == pytest.approx(1)
    if every.crossover:
        before, there = every.points((every.crossover - 1, every.crossover))
        assert before.communication_s <= before.compute_s
        assert there.communication_s > there.compute_s


def test_what_follows_the_passes_cannot_hide_under_them() -> None:
    explorer = ScalingExplorer(remedy="outer step every 8")
    assert explorer.controls["early"].disabled
    assert facts_of(explorer)["each GPU sends, every 8 steps"] == "933 MB"
    before = facts_of(explorer)
    explorer.set(early=False)
    assert facts_of(explorer) == before
    explorer.set(remedy="fp16")
    assert not explorer.controls["early"].disabled


def test_a_batch_that_grows_has_no_crossover() -> None:
    scaling = Scaling(replace(SETTING, fixed=False))
    assert scaling.crossover is None
    assert "512 examples on each" in describe_scaling(scaling)


@pytest.mark.parametrize("system", list(SYSTEMS))
def test_what_was_published_of_a_system_stands_beside_its_line(system: str) -> None:
    efficiency = ScalingExplorer.pictures(replace(SETTING, system=system))[-1]
    (points,) = [line.y for name, line in efficiency.lines.items() if "published" in name] or [[]]
    assert list(points) == list(SYSTEMS[system].efficiencies.values())
    assert (efficiency.origin == "computed, published") == bool(points)


def test_a_system_does_not_ask_the_controls_that_rest() -> None:
    explorer = ScalingExplorer(system="Horovod, VGG-16", ranks=512)
    assert facts_of(explorer)["published"] == "68% on 512 GPUs"
    resting = [name for name, control in explorer.controls.items() if control.disabled]
    before = facts_of(explorer)
    explorer.set(batch=8192, workload="AlexNet", speed=16.0)
    assert (len(resting), facts_of(explorer)) == (6, before)
    explorer.set(system=OWN)
    assert not any(control.disabled for control in explorer.controls.values())


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("system", [OWN, *SYSTEMS])
def test_the_parts_of_a_step_add_up_and_more_is_sent_than_computed_from_the_crossing_on(system, early) -> None:
    scaling = Scaling(replace(SETTING, system=system, early=early))
    for point in scaling.points(RANKS):
        alone_s, under_s, waiting_s = parts_of(point).values()
        assert min(alone_s, under_s, waiting_s) >= 0
        assert alone_s + under_s + waiting_s == pytest.approx(point.step_s)
        assert under_s + waiting_s == pytest.approx(point.communication_s)
        if scaling.system.fixed:
            assert (waiting_s > alone_s) == (scaling.crossover is not None and point.ranks >= scaling.crossover)


def bars_of(panel, color: str) -> list[list[tuple[float, float, float, float]]]:
    return [list(shape.where) for shape in panel.shapes if isinstance(shape, Boxes) and shape.color == color]


@pytest.mark.parametrize(("remedy", "columns"), [("fp32", 1), ("fp16", 2)])
def test_a_remedy_stands_beside_the_step_without_it(remedy: str, columns: int) -> None:
    panel = columns_panel(Scaling(replace(SETTING, remedy=remedy)))
    waiting = bars_of(panel, COLORS["waiting"])
    assert len(waiting) == columns
    shares = [{round(x * 11 - 0.5): high / 160 for x, _, _, high in where} for where in waiting]
    point = Scaling(replace(SETTING, remedy=remedy)).here
    assert shares[0][4] == pytest.approx(point.communication_share)
    if columns == 2:
        assert shares[1][4] == pytest.approx(Scaling(SETTING).here.communication_share)
        assert shares[1][4] > shares[0][4]


def test_the_crossing_is_marked_with_its_number_and_that_without_the_remedy_too() -> None:
    names = {"all-reduce overtakes at 6": 3, "in fp32 at 4": 2}
    scaling = Scaling(replace(SETTING, remedy="fp16"))
    assert list(crossings(scaling)) == list(names)
    panel, lines = (
        columns_panel(scaling),
        part(ScalingExplorer(**ALEXNET, remedy="fp16"), "Where the parts cross").lines,
    )
    marks = {key.text: key.color for key in panel.keys if key.dash is not None}
    assert list(marks) == list(names)
    for name, column in names.items():
        (place,) = {
            s.points[0][0] for s in panel.shapes if isinstance(s, Polyline) and s.dash and s.color == marks[name]
        }
        assert place == pytest.approx(column / 11)  # between the columns below it and those from it on
        assert set(lines[name].x) == {crossings(scaling)[name][0]}
    assert crossings(Scaling(replace(SETTING, fixed=False))) == {}


def test_one_device_sends_nothing() -> None:
    here = Scaling(replace(SETTING, ranks=1)).here
    assert (here.speedup, here.communication_s, here.communication_share) == (1, 0, 0)


def test_it_says_what_it_shows() -> None:
    facts = facts_of(ScalingExplorer())
    assert (facts["a GPU"], facts["each GPU sends"], facts["speed-up"]) == ("A100", "933 MB", "0.61")
    assert facts_of(ScalingExplorer(**ALEXNET, speed=2.0))["a GPU"] == "2 × P100"


def test_it_starts_in_the_room_of_the_page_and_has_its_numbers() -> None:
    room = {"fp16": "1.2", "1 bit, to all": "2.3", "top 1%, to all": "3.5", "1 bit, cut": "12.7"}
    for remedy, times in (room | {"outer step every 500": "15.2"}).items():
        assert facts_of(ScalingExplorer(remedy=remedy))["speed-up"] == times
    cities = {"fp32": "0.46", "1 bit, cut": "1.7", "outer step every 100": "12.0", "outer step every 500": "15.0"}
    for remedy, times in cities.items():
        assert facts_of(ScalingExplorer(latency_s=0.075, early=False, remedy=remedy))["speed-up"] == times
    assert facts_of(ScalingExplorer(latency_s=0.075))["speed-up"] == "0.13"  # a bucket for each of 12 blocks


@pytest.mark.parametrize("ranks", [2, 3, 16, 64])
@pytest.mark.parametrize(("remedy", "share"), [("1 bit, to all", 1 / 32), ("top 1%, to all", 8 / 400)])
def test_what_travels_to_all_is_sent_to_every_other_gpu(ranks: int, remedy: str, share: float) -> None:
    scaling = Scaling(replace(SETTING, ranks=ranks, remedy=remedy, early=False))
    message = share * scaling.setup.workload.gradient_bytes
    expected = (ranks - 1) * (SETTING.latency_s + message / SETTING.bytes_per_s)
    assert scaling.here.communication_s == pytest.approx(expected, rel=1e-5)
