"""The split explorer: what it shows is what the formulas of chapter 04 say."""

import pytest

from course_lib.model_parallel import VGG16, border_batch, conv_traffic, linear_traffic
from course_lib.widgets import SplitExplorer
from course_lib.widgets.split.model import BATCHES, SplitSetting, busiest_curve, held_elements, traffic_of
from course_lib.widgets.split.panels import describe_split, pictures

from .parts import facts_of

SETTING = SplitSetting("fully connected", 256, 4096, 1024, 28, 3, 8, "outputs")


def test_its_bytes_are_those_of_the_formulas():
    assert traffic_of(SETTING, "outputs") == linear_traffic(
        "outputs", batch=256, inputs=4096, outputs=1024, world_size=8, alike=True
    )
    first = SplitSetting("convolution", 32, 64, 64, 224, 3, 4, "regions")
    assert traffic_of(first, "regions") == conv_traffic("regions", VGG16[1], batch=32, world_size=4)


def test_its_curves_cross_at_the_border():
    border = border_batch("outputs", inputs=4096, outputs=1024, alike=True)
    pairs = zip(BATCHES, busiest_curve(SETTING, "outputs"), busiest_curve(SETTING, "examples"), strict=True)
    assert all((by_outputs < by_examples) == (batch < border) for batch, by_outputs, by_examples in pairs)


def test_a_rank_holds_its_share_of_what_is_cut():
    held = held_elements(SETTING, "outputs")
    assert held == {"input": 256 * 4096, "parameters": 1024 * 4097 / 8, "output": 256 * 1024 / 8}


def test_a_cut_that_the_layer_does_not_have_becomes_examples():
    sentence = pictures(SETTING._replace(split="regions"))[0]
    assert sentence.startswith("By examples the busiest rank sends")


@pytest.mark.parametrize("world_size", [1, 3, 64])
@pytest.mark.parametrize("layer", ["fully connected", "convolution"])
def test_every_setting_has_its_pictures(layer, world_size):
    explorer = SplitExplorer(layer=layer, world_size=world_size, inputs=64, outputs=64)
    assert "parameters" in facts_of(explorer)


def test_one_rank_has_nobody_to_talk_to():
    assert describe_split(SETTING._replace(world_size=1)) == "One rank has nobody to talk to."
