"""The tensor explorer: what it shows is what the counts of chapter 05 say."""

import pytest
import torch

from course_lib import simulate
from course_lib.draw.colors import RANK_COLORS
from course_lib.draw.panels.drawing import Boxes, Words
from course_lib.draw.units import format_bytes
from course_lib.tensor_parallel import (
    MEGATRON_WEAK_SCALING,
    all_reduce_bytes,
    communication_share,
    places_in_order,
    places_in_zigzag,
    ring_attention,
    split_sequence,
)
from course_lib.widgets import TensorExplorer
from course_lib.widgets.tensor.block import block_panel
from course_lib.widgets.tensor.model import BLOCK, IN_ORDER, ZIGZAG, TensorSetting, efficiency_curve
from course_lib.widgets.tensor.panels import describe_tensor
from course_lib.widgets.tensor.ring import describe_ring, ring_step

from .parts import facts_of, part

SETTING = TensorSetting(72, 3072, 32, 51_200, 8, 1, 8, 39e12, 120e9, 12.5e9)


@pytest.mark.parametrize("model", MEGATRON_WEAK_SCALING)
def test_its_efficiency_is_that_of_the_all_reduces_alone(model):
    setting = SETTING._replace(layers=model.layers, hidden=model.hidden, heads=model.heads, tensor=model.gpus)
    assert setting.efficiency == pytest.approx(communication_share(model), abs=1e-12)


def test_a_copy_that_leaves_its_node_pays_for_the_link_outside():
    inside, outside = efficiency_curve(SETTING, (8, 16))
    assert outside < 0.6 * inside


def test_states_shrink_with_the_ranks_of_a_copy_and_not_with_the_copies():
    assert SETTING._replace(data=64).state_bytes == SETTING.state_bytes == 16 * SETTING.parameters / 8
    assert SETTING._replace(tensor=4).state_bytes == 2 * SETTING.state_bytes


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 64])
def test_each_matrix_of_a_block_is_as_wide_as_its_parameters_and_lies_in_equal_parts(ranks):
    boxes = [shape for shape in block_panel(SETTING._replace(tensor=ranks)).shapes if isinstance(shape, Boxes)]
    bands = min(ranks, 16)
    parts = [where for shape in boxes if shape.color in RANK_COLORS for where in shape.where if where[1] < 100]
    unit = 1 / 17
    areas = {name: [] for name in ("q, k, v", "output", "up", "down")}
    for x, _, wide, high in parts:
        areas[next(name for name, end in zip(areas, (4, 6, 11, 16), strict=True) if x < end * unit)].append(wide * high)
    whole = dict(zip(areas, (3, 1, 4, 4), strict=True))
    for name, found in areas.items():
        assert found == pytest.approx([whole[name] * unit * 64 / bands] * bands)


def test_two_all_reduces_cross_forward_and_two_backward():
    panel = block_panel(SETTING)
    words = [shape.text for shape in panel.shapes if isinstance(shape, Words)]
    sent = format_bytes(all_reduce_bytes(MEGATRON_WEAK_SCALING[3]) / 4 / 72)
    assert sorted(words).count("f") == sorted(words).count("g") == 2
    assert words.count(sent) == 4
    assert f"sends {sent}." in panel.label
    alone = block_panel(SETTING._replace(tensor=1))
    assert {"f", "g", "columns"} & {shape.text for shape in alone.shapes if isinstance(shape, Words)} == set()
    assert "nothing crosses" in alone.label


def test_the_states_of_a_rank_are_its_share_of_the_whole():
    whole, own = part(TensorExplorer(), "Memory").bars.values()
    assert whole == SETTING.whole_bytes
    assert own == {name: size / 8 for name, size in whole.items()}
    assert sum(whole.values()) == pytest.approx(16 * SETTING.parameters)


def test_copies_send_each_other_their_gradients():
    assert SETTING.data_bytes == 0
    assert SETTING._replace(data=2).data_bytes == pytest.approx(2 * SETTING.parameters / 8)


def test_it_says_what_it_shows():
    assert facts_of(TensorExplorer())["parameters"] == "8.32 billion"
    assert "a copy across nodes of 8" in describe_tensor(SETTING._replace(tensor=16))


def test_no_head_is_cut():
    explorer = TensorExplorer()
    assert [value for _, value in explorer.controls["tensor"].options] == [1, 2, 4, 8, 16, 32]
    explorer.set(heads=12)
    assert (explorer.values["tensor"], [value for _, value in explorer.controls["tensor"].options]) == (4, [1, 2, 4])
    assert len(part(explorer, "Efficiency").lines["this model (computed)"].x) == 3
    explorer.set(hidden=1024)
    assert explorer.values["heads"] == 16
    assert "tensor ranks: 8 is not possible here, 4 stands in its place." in TensorExplorer(heads=12).caption


def test_a_larger_vocabulary_is_computed_too():
    small, large = (SETTING._replace(vocabulary=words).parts_s["computing"] for words in (1_000, 256_000))
    extra = 6 * 8 * 1024 * 255_000 * 3072  # operations on the logits, forward and backward
    assert large - small == pytest.approx(extra / 8 / 39e12, rel=1e-6)


def test_a_small_model_is_counted_in_millions():
    assert "2.02 billion" not in (caption := TensorExplorer(layers=1, hidden=768, vocabulary=256).caption)
    assert caption.startswith("8.0")
    assert " million parameters on 8 × 1 ranks" in caption


def ring(show, ranks, step):
    return ring_step(SETTING._replace(show=show, tensor=ranks, step=step))


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize(("show", "cut"), [(IN_ORDER, places_in_order), (ZIGZAG, places_in_zigzag)])
def test_keys_are_where_ring_attention_brings_them(show, cut, ranks, monkeypatch):
    """Every key is the number of its rank, and what the library's ring multiplies is written down."""
    held, places = {rank: [] for rank in range(ranks)}, cut(2 * ranks, ranks)
    scores = split_sequence._scores

    def watched(q, k, mine, theirs):
        held[int(q[0, 0, 0, 0])].append(int(k[0, 0, 0, 0]))
        return scores(q, k, mine, theirs)

    monkeypatch.setattr(split_sequence, "_scores", watched)
    simulate(lambda comm: ring_attention(comm, *[torch.full((1, 1, 2, 1), float(comm.rank))] * 3, places), ranks)
    for step in range(1, ranks + 1):
        assert ring(show, ranks, step).owners == [held[rank][step - 1] for rank in range(ranks)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("show", [IN_ORDER, ZIGZAG])
def test_each_score_is_computed_once_in_one_step_and_none_that_is_masked(show, ranks):
    steps = [ring(show, ranks, step) for step in range(ranks + 1)]
    size = len(steps[0].pieces)
    for query in range(size):
        for key in range(size):
            seen = [each.scores[query][key] for each in steps]
            assert seen.count("now") == (0 if key > query else 1)
            assert seen[-1] in ({"masked"} if key > query else {"now", "done"})
    for each in steps[1:]:  # a rank that works has a score, and one that waits has none
        busy = {each.pieces[query] for query in range(size) if "now" in each.scores[query]}
        assert busy == {rank for rank, pairs in enumerate(each.now) if pairs}
    assert (steps[0].done, steps[-1].done) == (0, 1)


def test_in_order_ranks_wait_and_in_zigzag_nobody_does():
    for step in range(1, 9):
        assert f"{step - 1} of 8 ranks" in describe_ring(ring(IN_ORDER, 8, step)) or step < 3
        assert "nobody only waits" in describe_ring(ring(ZIGZAG, 8, step))
    assert "no score is computed yet" in describe_ring(ring(ZIGZAG, 8, 0))
    assert facts_of(TensorExplorer(show=IN_ORDER))["all steps take"] == "1.87 times an even share"


def test_play_opens_the_ring_from_the_first_picture_on_and_moves_no_other_control():
    explorer = TensorExplorer(data=64, batch=1)
    first = explorer.values
    assert "Press play" in explorer.caption
    explorer.player[1].value = 1  # what the button does
    assert explorer.values == first | {"show": IN_ORDER, "step": 1}
    assert explorer.controls["layers"].disabled
    explorer.set(show=ZIGZAG, step=3)
    assert explorer.caption.startswith("Step 3 of 8")
    explorer.set(show=BLOCK)
    assert explorer.values == first
    assert not explorer.controls["layers"].disabled
    assert TensorExplorer(show=ZIGZAG).values["step"] == 2


def test_a_ring_has_as_many_steps_as_ranks_and_room_for_sixteen():
    explorer = TensorExplorer(show=ZIGZAG, tensor=16)
    explorer.set(step=16)
    assert explorer.caption.startswith("Step 16 of 16")
    explorer.set(tensor=32)
    assert explorer.caption.startswith("32 ranks have no room here, this is a ring of 16. Step 0 of 16: ")
    assert (explorer.values["tensor"], explorer.player[1].disabled) == (32, True)
    explorer.set(show=BLOCK)
    assert explorer.values["tensor"] == 32
    assert "Press play" not in explorer.caption
