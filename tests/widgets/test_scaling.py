"""The scaling explorer: what it shows is what the model of chapter 10 says."""

import pytest

from course_lib.scaling import HOROVOD_512
from course_lib.widgets import ScalingExplorer
from course_lib.widgets.scaling.model import REMEDIES, Scaling, ScalingSetting
from course_lib.widgets.scaling.panels import describe_scaling, pictures

from .parts import facts_of

SETTING = ScalingSetting("AlexNet", 1.0, 6.8e9, 1e-5, 512, True, 16, "fp32", True)


def test_a_faster_device_moves_the_crossover_down_and_fewer_bytes_move_it_up() -> None:
    crossovers = [Scaling(SETTING._replace(speed=speed)).crossover for speed in (0.25, 1, 4)]
    assert crossovers == sorted(crossovers, reverse=True)
    sent = [Scaling(SETTING._replace(remedy=remedy)).crossover for remedy in REMEDIES]
    assert sent == sorted(sent)


def test_a_batch_that_grows_has_no_crossover() -> None:
    scaling = Scaling(SETTING._replace(fixed=False))
    assert scaling.crossover is None
    assert "512 examples on each" in describe_scaling(scaling)


@pytest.mark.parametrize("workload", ["VGG-16", "Inception-v3"])
def test_horovods_point_stands_beside_the_workload_that_it_is_of(workload: str) -> None:
    lines = pictures(SETTING._replace(workload=workload))[-1].lines
    assert lines["Horovod (published)"].y == [HOROVOD_512[workload]]
    assert "Horovod (published)" not in pictures(SETTING)[-1].lines


def test_one_device_sends_nothing() -> None:
    here = Scaling(SETTING._replace(ranks=1)).here
    assert (here.speedup, here.communication_s, here.communication_share) == (1, 0, 0)


def test_it_says_what_it_shows() -> None:
    assert facts_of(ScalingExplorer())["gradients on the wire"] == "244 MB"
