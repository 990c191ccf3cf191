"""The tensor explorer: what it shows is what the counts of chapter 05 say."""

from dataclasses import replace

import pytest

from course_lib.draw.colors import FILLS, RANK_COLORS
from course_lib.draw.panels.drawing import Boxes, Text
from course_lib.draw.units import format_bytes
from course_lib.tensor_parallel import CUTS, MEGATRON_WEAK_SCALING, CutStep, all_reduce_bytes, communication_share
from course_lib.widgets import TensorExplorer
from course_lib.widgets.tensor import TensorSetting, block_panel, describe_tensor

from .parts import facts_of, part

SETTING = TensorSetting("vocabulary", 8, 8, 1024, 72, 3072, 32, 51_200, 32e9, 39e12, 120e9, 100e9)


@pytest.mark.parametrize("model", MEGATRON_WEAK_SCALING)
def test_its_efficiency_is_that_of_the_all_reduces_alone(model):
    setting = replace(SETTING, layers=model.layers, hidden=model.hidden, heads=model.heads, gpus=model.gpus)
    assert setting.efficiency == pytest.approx(communication_share(model), abs=1e-12)


def test_what_is_not_cut_is_computed_by_every_gpu():
    assert replace(SETTING, cut="nothing").efficiency == pytest.approx(1 / 8)
    by_cut = [replace(SETTING, cut=cut, inside_bytes_per_s=1e18).efficiency for cut in CUTS]
    assert by_cut[:4] == sorted(by_cut[:4])
    assert by_cut[3:] == pytest.approx([1, 1, 1])


def test_gpus_that_leave_their_machine_pay_for_the_links_outside():
    two = replace(SETTING, gpus=16)
    assert two.efficiency == pytest.approx(0.717, abs=0.001)
    assert replace(two, outside_bytes_per_s=12.5e9).efficiency == pytest.approx(0.241, abs=0.001)
    assert replace(two, inside_bytes_per_s=500e9).efficiency == two.efficiency


def test_it_begins_with_the_case_of_the_page_and_draws_its_bars_and_colors():
    explorer = TensorExplorer()
    assert facts_of(explorer)["a GPU holds"] == "196 GB"
    assert "8.32 billion parameters on 8 GPUs in one machine, cut: nothing" in explorer.caption
    for cut in CUTS:
        explorer.set(cut=cut)
        memory = part(explorer, "What a GPU must hold")
        assert list(memory.bars.values())[-1] == CutStep(cut=cut).held_bytes
    assert [name.split(":")[0] for name in memory.bars] == list(CUTS)
    assert memory.limits == {"a GPU of 32 GB": 32e9}
    assert set(memory.bars["nothing: 196 GB"]) <= {*FILLS["memory"], *FILLS["a GPU's memory"]}


def test_the_answers_of_the_page():
    for settings, held in (({"sequences": 4}, "28.6 GB"), ({"gpus": 16}, "29.3 GB")):
        facts = facts_of(TensorExplorer(cut="vocabulary", **settings))
        assert facts["a GPU holds"] == held
        assert facts["efficiency"] == ("87%" if "sequences" in settings else "72%")


@pytest.mark.parametrize("gpus", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("cut", CUTS)
def test_each_matrix_of_a_block_is_as_wide_as_its_parameters_and_lies_in_equal_parts(gpus, cut):
    setting = replace(SETTING, gpus=gpus, cut=cut)
    boxes = [shape for shape in block_panel(setting).shapes if isinstance(shape, Boxes)]
    parts = [where for shape in boxes if shape.color in RANK_COLORS for where in shape.where if where[1] < 100]
    unit = 1 / 17
    areas = {name: [] for name in ("q, k, v", "output", "up", "down")}
    for x, _, wide, high in parts:
        areas[next(name for name, end in zip(areas, (4, 6, 11, 16), strict=True) if x < end * unit)].append(wide * high)
    sizes = {"q, k, v": (3, "heads"), "output": (1, "heads"), "up": (4, "MLPs"), "down": (4, "MLPs")}
    for name, found in areas.items():
        size, by = sizes[name]
        bands = min(gpus, 16) if setting.step().over(by) > 1 else 0  # what is whole has no color of a GPU
        assert found == pytest.approx([size * unit * 64 / max(bands, 1)] * bands)


def test_two_all_reduces_cross_forward_and_two_backward():
    panel = block_panel(SETTING)
    words = [shape.text for shape in panel.shapes if isinstance(shape, Text)]
    sent = format_bytes(all_reduce_bytes(MEGATRON_WEAK_SCALING[3]) / 4 / 72)
    assert sorted(words).count("f") == sorted(words).count("g") == 2
    assert words.count(sent) == 4
    assert f"sends {sent};" in panel.label
    assert [key.text for key in panel.keys][-1] == "all-reduce"


def test_with_a_cut_sequence_there_are_twice_as_many_collectives_of_half_the_bytes():
    panel = block_panel(replace(SETTING, cut="sequence"))
    words = [shape.text for shape in panel.shapes if isinstance(shape, Text)]
    assert words.count(f"a GPU sends {format_bytes(SETTING.message_bytes / 2)} at each end") == 4
    gates = [shape for shape in panel.shapes if isinstance(shape, Boxes) and shape.where[0][3] == 28]
    assert len(gates) == len({shape.where[0] for shape in gates}) == 8
    assert {"f", "g"} & set(words) == set()
    assert [key.text for key in panel.keys][-2:] == ["all-gather", "reduce-scatter"]


def test_by_the_first_cut_only_the_mlp_has_collectives():
    words = [shape.text for shape in block_panel(replace(SETTING, cut="MLPs")).shapes if isinstance(shape, Text)]
    assert sorted(words).count("f") == sorted(words).count("g") == 1
    alone = block_panel(replace(SETTING, cut="nothing"))
    assert {"f", "g", "columns"} & {shape.text for shape in alone.shapes if isinstance(shape, Text)} == set()
    assert "nothing crosses" in alone.label


def test_it_says_what_it_shows():
    assert "on 16 GPUs in machines of 8" in describe_tensor(replace(SETTING, gpus=16))
    assert "it does not fit" in describe_tensor(SETTING)
    assert "it fits" in describe_tensor(replace(SETTING, cut="gathered again"))


def test_no_head_is_cut():
    explorer = TensorExplorer()
    assert [value for _, value in explorer.controls["gpus"].options] == [1, 2, 4, 8, 16, 32]
    explorer.set(heads=12)
    assert (explorer.values["gpus"], [value for _, value in explorer.controls["gpus"].options]) == (4, [1, 2, 4])
    explorer.set(hidden=1024)
    assert explorer.values["heads"] == 16
    assert "GPUs: 8 is not possible here, 4 stands in its place." in TensorExplorer(heads=12).caption


def test_a_small_model_is_counted_in_millions():
    caption = TensorExplorer(layers=1, hidden=768, vocabulary=256).caption
    assert caption.startswith("8.0")
    assert " million parameters on 8 GPUs" in caption
