"""The scaling explorer: what it shows is what the model of chapter 10 says."""

import pytest

from course_lib.draw.panels.drawing import Boxes, Curve
from course_lib.scaling import SYSTEMS
from course_lib.widgets import ScalingExplorer
from course_lib.widgets.scaling.columns import COLORS, columns_panel, crossings, parts_of
from course_lib.widgets.scaling.model import OWN, RANKS, Scaling, ScalingSetting
from course_lib.widgets.scaling.panels import describe_scaling, pictures

from .parts import facts_of, part

SETTING = ScalingSetting(OWN, "AlexNet", 1.0, 6.8e9, 1e-5, 512, True, 16, "fp32", True)


def test_a_faster_device_moves_the_crossover_down_and_fewer_bytes_move_it_up() -> None:
    crossovers = [Scaling(SETTING._replace(speed=speed)).crossover for speed in (0.25, 1, 4)]
    assert crossovers == sorted(crossovers, reverse=True)
    for fewer in ("fp32", "fp16", "int8", "1 bit", "a hundredth"), ("fp32", "outer step every 8"):
        sent = [Scaling(SETTING._replace(remedy=remedy)).crossover for remedy in fewer]
        assert sent == sorted(sent)


@pytest.mark.parametrize("period", [8, 500])
@pytest.mark.parametrize("fixed", [True, False])
def test_an_outer_step_is_a_whole_all_reduce_shared_by_the_steps_before_it(fixed: bool, period: int) -> None:
    setting = SETTING._replace(fixed=fixed)
    every, after = (
        Scaling(setting._replace(remedy=f"outer step every {period}")),
        Scaling(setting._replace(overlap=False)),
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
    assert explorer.controls["overlap"].disabled
    assert facts_of(explorer)["parameters on the wire, every 8 steps"] == "244 MB"
    before = facts_of(explorer)
    explorer.set(overlap=False)
    assert facts_of(explorer) == before
    explorer.set(remedy="fp16")
    assert not explorer.controls["overlap"].disabled


def test_a_batch_that_grows_has_no_crossover() -> None:
    scaling = Scaling(SETTING._replace(fixed=False))
    assert scaling.crossover is None
    assert "512 examples on each" in describe_scaling(scaling)


@pytest.mark.parametrize("system", list(SYSTEMS))
def test_what_was_published_of_a_system_stands_beside_its_line(system: str) -> None:
    efficiency = pictures(SETTING._replace(system=system))[-1]
    (points,) = [line.y for name, line in efficiency.lines.items() if "published" in name] or [[]]
    assert list(points) == list(SYSTEMS[system].efficiencies.values())
    assert (efficiency.origin == "computed, published") == bool(points)


def test_a_system_does_not_ask_the_controls_that_rest() -> None:
    explorer = ScalingExplorer(system="Horovod, VGG-16", ranks=512)
    assert facts_of(explorer)["published"] == "68% on 512 devices"
    resting = [name for name, control in explorer.controls.items() if control.disabled]
    before = facts_of(explorer)
    explorer.set(batch=8192, workload="AlexNet", speed=16.0)
    assert (len(resting), facts_of(explorer)) == (6, before)
    explorer.set(system=OWN)
    assert not any(control.disabled for control in explorer.controls.values())


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("system", [OWN, *SYSTEMS])
def test_the_parts_of_a_step_add_up_and_more_is_sent_than_computed_from_the_crossing_on(system, overlap) -> None:
    scaling = Scaling(SETTING._replace(system=system, overlap=overlap))
    for point in scaling.points(RANKS):
        alone_s, under_s, waiting_s = parts_of(point).values()
        assert min(alone_s, under_s, waiting_s) >= 0
        assert alone_s + under_s + waiting_s == pytest.approx(point.step_s)
        assert under_s + waiting_s == pytest.approx(point.communication_s)
        if scaling.system.fixed:
            assert (waiting_s > alone_s) == (scaling.crossover is not None and point.ranks >= scaling.crossover)


def bars_of(panel, color: str) -> list[list[tuple[float, float, float, float]]]:
    return [list(shape.where) for shape in panel.shapes if isinstance(shape, Boxes) and shape.color == color]


@pytest.mark.parametrize(("remedy", "columns"), [("fp32", 1), ("int8", 2)])
def test_a_remedy_stands_beside_the_step_without_it(remedy: str, columns: int) -> None:
    panel = columns_panel(Scaling(SETTING._replace(remedy=remedy)))
    waiting = bars_of(panel, COLORS["waiting"])
    assert len(waiting) == columns
    shares = [{round(x * 11 - 0.5): high / 160 for x, _, _, high in where} for where in waiting]
    point = Scaling(SETTING._replace(remedy=remedy)).here
    assert shares[0][4] == pytest.approx(point.communication_share)
    if columns == 2:
        assert shares[1][4] == pytest.approx(Scaling(SETTING).here.communication_share)
        assert shares[1][4] > shares[0][4]


def test_the_crossing_is_marked_with_its_number_and_that_without_the_remedy_too() -> None:
    names = {"all-reduce overtakes at 11": 4, "in fp32 at 4": 2}
    scaling = Scaling(SETTING._replace(remedy="int8"))
    assert list(crossings(scaling)) == list(names)
    panel, lines = columns_panel(scaling), part(ScalingExplorer(remedy="int8"), "Where the parts cross").lines
    marks = {key.text: key.color for key in panel.keys if key.dash is not None}
    assert list(marks) == list(names)
    for name, column in names.items():
        (place,) = {s.points[0][0] for s in panel.shapes if isinstance(s, Curve) and s.dash and s.color == marks[name]}
        assert place == pytest.approx(column / 11)  # between the columns below it and those from it on
        assert set(lines[name].x) == {crossings(scaling)[name][0]}
    assert crossings(Scaling(SETTING._replace(fixed=False))) == {}


def test_one_device_sends_nothing() -> None:
    here = Scaling(SETTING._replace(ranks=1)).here
    assert (here.speedup, here.communication_s, here.communication_share) == (1, 0, 0)


def test_it_says_what_it_shows() -> None:
    assert facts_of(ScalingExplorer())["gradients on the wire"] == "244 MB"
