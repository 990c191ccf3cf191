"""The scaling explorer: what it shows is what the model of chapter 10 says."""

import pytest

from course_lib.scaling import SYSTEMS
from course_lib.widgets import ScalingExplorer
from course_lib.widgets.scaling.model import OWN, REMEDIES, Scaling, ScalingSetting
from course_lib.widgets.scaling.panels import describe_scaling, pictures

from .parts import facts_of

SETTING = ScalingSetting(OWN, "AlexNet", 1.0, 6.8e9, 1e-5, 512, True, 16, "fp32", True)


def test_a_faster_device_moves_the_crossover_down_and_fewer_bytes_move_it_up() -> None:
    crossovers = [Scaling(SETTING._replace(speed=speed)).crossover for speed in (0.25, 1, 4)]
    assert crossovers == sorted(crossovers, reverse=True)
    sent = [Scaling(SETTING._replace(remedy=remedy)).crossover for remedy in REMEDIES]
    assert sent == sorted(sent)


def test_a_batch_that_grows_has_no_crossover() -> None:
    scaling = Scaling(SETTING._replace(fixed=False))
    assert scaling.crossover is None
    assert "512 examples on each" in describe_scaling(scaling)


@pytest.mark.parametrize("system", list(SYSTEMS))
def test_what_was_published_of_a_system_stands_beside_its_line(system: str) -> None:
    speedup, efficiency = pictures(SETTING._replace(system=system))[-2:]
    (points,) = [line.y for name, line in efficiency.lines.items() if "published" in name] or [[]]
    assert list(points) == list(SYSTEMS[system].efficiencies.values())
    assert (efficiency.origin == "computed, published") == bool(points)
    assert len(speedup.lines) == (3 if points and SYSTEMS[system].base == 1 else 2)


def test_a_system_does_not_ask_the_controls_that_rest() -> None:
    explorer = ScalingExplorer(system="Horovod, VGG-16", ranks=512)
    assert facts_of(explorer)["published"] == "68% on 512 devices"
    resting = [name for name, control in explorer.controls.items() if control.disabled]
    before = facts_of(explorer)
    explorer.set(batch=8192, workload="AlexNet", speed=16.0)
    assert (len(resting), facts_of(explorer)) == (6, before)
    explorer.set(system=OWN)
    assert not any(control.disabled for control in explorer.controls.values())


def test_one_device_sends_nothing() -> None:
    here = Scaling(SETTING._replace(ranks=1)).here
    assert (here.speedup, here.communication_s, here.communication_share) == (1, 0, 0)


def test_it_says_what_it_shows() -> None:
    assert facts_of(ScalingExplorer())["gradients on the wire"] == "244 MB"
