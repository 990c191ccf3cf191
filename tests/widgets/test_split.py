"""The split explorer: what it shows is what `plan_bytes` says, with the page's case, cuts and goal."""

from itertools import product

import pytest

from course_lib.draw.units import format_bytes
from course_lib.model_parallel import ALEXNET, layer_elements, plan_bytes
from course_lib.widgets import SplitExplorer
from course_lib.widgets.split import CUTS, GOAL_BYTES, PARTS, SplitSetting, describe_split

from .parts import facts_of, part

NAMES = [layer.name for layer in ALEXNET]


def setting_of(*by_outputs, batch=1024, world_size=8):
    return SplitSetting(**dict.fromkeys(by_outputs, "by outputs"), batch=batch, world_size=world_size)


def test_it_begins_with_the_case_of_the_page():
    explorer = SplitExplorer()
    assert facts_of(explorer)["a rank sends"] == "427 MB"
    assert format_bytes(GOAL_BYTES) == "142 MB"
    page = part(explorer, "What a rank sends in a step")
    assert list(page.bars) == ["all by examples: 427 MB", "your plan: 427 MB", "the best plan: 145 MB"]
    assert list(page.limits) == ["goal: 142 MB"]


@pytest.mark.parametrize("batch", [4, 1024, 8192])
@pytest.mark.parametrize("world_size", [1, 2, 3, 8, 64])
def test_the_parts_of_each_layer_add_up_to_what_the_library_counts(batch, world_size):
    for cuts in product(CUTS, repeat=3):
        setting = SplitSetting("by examples", "by examples", *cuts, *cuts, batch, world_size)
        choices = setting.choices
        for number, (layer, parts) in enumerate(setting.by_layer.items()):
            before = choices[number - 1] if number else None
            whole = 4 * layer_elements(ALEXNET[number], choices[number], before, batch, world_size)
            assert sum(parts.values()) == pytest.approx(whole), layer
            assert set(parts) <= set(PARTS)
        assert setting.sent_bytes == plan_bytes(ALEXNET, choices, batch=batch, world_size=world_size)


def test_what_crosses_is_told_apart():
    megabytes = {name: {what: round(sent / 1e6) for what, sent in parts.items()} for name, parts in layers_of("fc6")}
    assert megabytes["fc6"] == {"outputs": 15, "gradients of inputs": 33, "changes of the cut": 33}
    assert megabytes["fc7"] == {"gradients of weights": 117, "changes of the cut": 15}
    assert set(megabytes["conv1"]) == {"gradients of weights"}


def layers_of(*by_outputs):
    return setting_of(*by_outputs).by_layer.items()


def test_the_first_layer_sends_no_gradient_of_the_pictures():
    assert set(setting_of("conv1").by_layer["conv1"]) == {"outputs"}


def test_the_answers_of_the_page():
    best = SplitExplorer(by_outputs=("fc6", "fc7", "fc8"))
    assert best.caption.endswith("145 MB in a step: no plan of these two cuts sends less, with all-gathers.")
    assert facts_of(best)["a rank holds"] == "9.7 of 61.0 million weights and biases"
    worse = SplitExplorer(by_outputs=("fc6", "fc7"), batch=3500)
    assert worse.caption.startswith(
        "By this plan a rank sends 472 MB in a step. The best plan of these two cuts, with all-gathers, sends 427"
    )


def test_who_has_no_picture_is_said_unless_nothing_is_cut_by_examples():
    assert describe_split(setting_of(batch=4)).endswith("4 ranks of 8 have no picture for the layers by examples.")
    assert "no picture" not in describe_split(setting_of(*NAMES, batch=4))
    assert "no picture" not in describe_split(setting_of(batch=8))


def test_a_rank_holds_its_part_of_what_is_cut_by_outputs_and_the_largest_part_counts():
    whole = sum(layer.parameters for layer in ALEXNET)
    assert setting_of().held_parameters == whole
    assert setting_of("fc8", world_size=3).held_parameters == whole - ALEXNET[-1].parameters + 334 * 4097


def test_one_rank_has_nobody_to_talk_to():
    explorer = SplitExplorer(world_size=1)
    assert explorer.caption == "One rank has nobody to talk to."
    assert explorer.problem is None


def test_a_layer_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"by_outputs must name layers among conv1, .*fc8, got fc9"):
        SplitExplorer(by_outputs=("fc9",))
