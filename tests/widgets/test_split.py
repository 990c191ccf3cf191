"""The split explorer: what it shows is what the formulas of chapter 04 say."""

import math

import pytest
import torch

from course_lib import simulate
from course_lib.draw.colors import RANK_COLORS
from course_lib.draw.looks import FILLS
from course_lib.draw.panels.drawing import Boxes
from course_lib.model_parallel import (
    VGG16,
    Grid,
    border_batch,
    cannon,
    cannon_elements_sent,
    cannon_product,
    conv_traffic,
    linear_traffic,
)
from course_lib.widgets import SplitExplorer
from course_lib.widgets.split.cuts import cut_panel
from course_lib.widgets.split.model import (
    BATCHES,
    BLOCKS,
    SplitSetting,
    busiest_curve,
    held_elements,
    parts_of,
    traffic_of,
    winners_of,
)
from course_lib.widgets.split.panels import describe_split, pictures
from course_lib.widgets.split.turns import describe_turn, turn_of

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


def least(setting, batch):
    sent = {split: traffic_of(setting._replace(batch=batch), split).busiest_bytes for split in setting.splits}
    return min(sent, key=lambda split: sent[split])


@pytest.mark.parametrize(("inputs", "outputs"), [(4096, 4096), (64, 8), (8, 64), (1024, 4096)])
def test_the_winner_changes_at_the_border_of_the_formula(inputs, outputs):
    setting = SETTING._replace(inputs=inputs, outputs=outputs)
    border = border_batch("outputs", inputs=inputs, outputs=outputs, alike=True)
    assert winners_of(setting)[1:] == [(math.ceil(border), "examples")]


@pytest.mark.parametrize("kernel", [1, 3, 11])
@pytest.mark.parametrize("world_size", [2, 3, 64])
@pytest.mark.parametrize("layer", ["fully connected", "convolution"])
def test_between_its_changes_one_cut_sends_least(layer, world_size, kernel):
    setting = SplitSetting(layer, 4, 256, 128, 7, kernel, world_size, "examples")
    winners = winners_of(setting)
    for batch in range(BATCHES[0], 400):
        assert next(name for first, name in reversed(winners) if first <= batch) == least(setting, batch)


def test_the_longest_arrow_is_the_most_that_a_rank_sends_and_nothing_has_none():
    shapes = cut_panel(SETTING, "examples", "", 2 * max(traffic_of(SETTING, "examples").backward_bytes)).shapes
    color = {name: FILLS["passes"][name].color for name in ("forward", "backward")}
    arrows = {name: [s.where for s in shapes if isinstance(s, Boxes) and s.color == color[name]] for name in color}
    parts = [
        s.where for s in cut_panel(SETTING._replace(world_size=1), "examples", "", 1.0).shapes if isinstance(s, Boxes)
    ]
    ((backward,),) = [where for where in arrows["backward"] if where[0][3] == 12]
    assert backward[2] == pytest.approx(0.33)
    assert not [where for where in arrows["forward"] if where[0][3] == 12]
    assert [where[0][3] for where in parts] == [48, 48, 48]


def test_what_crosses_is_said_of_each_cut():
    words = SplitExplorer(layer="convolution").in_words
    for split in ("examples", "regions", "output channels", "input channels"):
        panel = cut_panel(SETTING._replace(layer="convolution"), split, "", 1e9)
        assert panel.label.startswith("a rank has ")
        assert f"by {split}: " in words
    assert "forward halos: " in words
    assert "backward halos, gradient of W summed: " in words
    assert "halos" not in SplitExplorer(layer="convolution", kernel=1).in_words
    assert "backward gradient of x gathered: " in words


def test_a_rank_holds_its_share_of_what_is_cut():
    held = held_elements(SETTING, "outputs")
    assert held == {"input": 256 * 4096, "parameters": 1024 * 4097 / 8, "output": 256 * 1024 / 8}


def test_where_parts_are_uneven_the_largest_counts_and_who_has_none_is_not_drawn():
    held = held_elements(SETTING._replace(batch=4, world_size=64), "examples")
    assert held == {"input": 4096, "parameters": 1024 * 4097, "output": 1024}
    setting = SplitSetting("convolution", 2, 8, 8, 7, 3, 64, "regions")
    assert held_elements(setting, "regions")["input"] == 2 * 8 * 7  # one row of seven, of each picture
    assert held_elements(setting._replace(world_size=3), "regions")["input"] == 3 * 2 * 8 * 7
    assert [parts_of(setting, split) for split in setting.splits] == [2, 7, 8, 8]
    shapes = [shape for shape in cut_panel(setting, "regions", "", 1e9).shapes if isinstance(shape, Boxes)]
    bands = [
        box for shape in shapes if shape.color in RANK_COLORS for box in shape.where if box[3] == pytest.approx(48 / 7)
    ]
    assert len(bands) == 7 * 3 * 2  # of three pictures of input and output each


def test_cuts_that_send_alike_are_both_least():
    assert describe_split(SETTING._replace(split="inputs")).endswith("no cut sends less.")


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


def turning(side, step=0, **more):
    return SETTING._replace(split=BLOCKS, world_size=side * side, step=step, **more)


@pytest.mark.parametrize("side", [1, 2, 3, 5])
def test_blocks_lie_where_cannons_algorithm_brings_them(side, monkeypatch):
    """Each block is its own number, and all that ranks receive is written down."""
    held = {rank: [] for rank in range(side * side)}
    turn = cannon._turn

    def watched(grid, block, *more):
        held[grid.comm.rank].append(int(turned[0, 0])) if len(turned := turn(grid, block, *more)) else None
        return turned

    monkeypatch.setattr(cannon, "_turn", watched)
    numbers = torch.arange(float(side * side)).reshape(side, side)
    simulate(lambda comm: cannon_product(comm, *[Grid(comm, side, side).block(numbers)] * 2, side), side * side)
    for step in range(1, side + 1):
        turned = turn_of(turning(side, step))
        for rank, blocks in held.items():
            row, column = divmod(rank, side)
            shown = [side * i + j for i, j in (turned.a[row][column], turned.b[row][column])]
            assert shown == blocks[2 * (step - 1) : 2 * step]
        assert turned.meeting == side * side


def test_before_they_turn_blocks_lie_as_they_were_cut_and_only_a_diagonal_meets():
    turned = turn_of(turning(3))
    assert turned.a == turned.b == [[(row, column) for column in range(3)] for row in range(3)]
    assert turned.meeting == 3
    assert "on 3 of 9 ranks" in describe_turn(turned)
    assert turned.added == [[[]] * 3] * 3


@pytest.mark.parametrize("side", [1, 2, 3, 8])
def test_at_the_end_each_rank_has_added_every_product_and_sent_what_the_formula_says(side):
    setting = turning(side, side, batch=20, inputs=17, outputs=11)
    last = turn_of(setting)
    assert all(sorted(added) == list(range(side)) for rows in last.added for added in rows)
    assert [count for row in last.sent for count in row] == cannon_elements_sent(20, 17, 11, side * side)
    sent = [max(map(max, turn_of(setting._replace(step=step)).sent)) for step in range(side + 1)]
    assert sent == sorted(sent)
    assert sent[0] == 0


def test_a_rank_holds_one_block_of_each():
    assert held_elements(turning(4), BLOCKS) == {"input": 64 * 1024, "parameters": 1025 * 256, "output": 64 * 256}


def test_play_turns_blocks_from_the_first_picture_on_and_moves_no_other_control():
    explorer = SplitExplorer(batch=1024)
    first = explorer.values
    assert not any(part.disabled for part in explorer.player)
    assert "Press play" in explorer.caption
    explorer.player[1].value = 1  # what the button does
    assert explorer.values == first | {"split": BLOCKS, "step": 1}
    assert explorer.caption.startswith("Step 1 of 4: ")
    explorer.set(step=0)
    assert explorer.values["split"] == BLOCKS
    explorer.player[1].value = 2
    explorer.set(split="outputs")
    assert explorer.values == first
    assert not explorer.player[1].playing
    explorer.reset.click()
    assert explorer.values == first


def test_blocks_turn_on_the_largest_square_of_ranks_and_a_convolution_has_none():
    explorer = SplitExplorer(world_size=8)
    explorer.set(step=2)
    assert explorer.values["world_size"] == 8
    assert explorer.caption.startswith("4 of 8 ranks stand in a square. Step 2 of 2: ")
    assert facts_of(explorer)["grid"] == "2 × 2 ranks"
    explorer.set(world_size=64, step=8)
    assert explorer.caption.endswith("C is whole.")
    explorer.set(layer="convolution")
    assert all(part.disabled for part in explorer.player)
    assert (explorer.values["step"], explorer.values["world_size"]) == (0, 64)
    explorer.set(layer="fully connected")
    assert not explorer.player[1].disabled
    assert SplitExplorer(split=BLOCKS, world_size=4, step=2).values["step"] == 2
    assert SplitExplorer(step=2).values["step"] == 0
