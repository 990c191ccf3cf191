"""The mesh explorer: published models lie as published, and what it offers is possible."""

import itertools
from dataclasses import replace

import pytest

from course_lib.draw.panels.drawing import QUIET, Boxes, Text
from course_lib.mesh import KORTHIKANTI_2022, NARAYANAN_2021, SPARE, Mesh, all_plans, best_plans
from course_lib.widgets import MeshExplorer
from course_lib.widgets.mesh import PRESETS, MeshSetting, MeshStep, choices, published_setting, settle
from course_lib.widgets.mesh_grid import grid_panel

from .parts import facts_of, part


def test_a_pipeline_of_4_stages_and_2_tensor_ranks_has_these_groups() -> None:
    explorer = MeshExplorer(model="GPT 76.1 B, Narayanan", gpus=128, tensor=2, pipeline=4, rank=13)
    facts = facts_of(explorer)
    assert facts["data × pipeline × tensor"] == "16 × 4 × 2"
    assert facts["rank 13"] == "data 1, pipeline 2, tensor 1"
    assert facts["its tensor group"] == "12, 13"
    assert facts["its pipeline group"] == "9, 11, 13, 15"
    assert facts["its data group"] == "5, 13, … 125: 16 ranks"
    grid = part(explorer, "16 copies of the model")
    numbers = {int(words.text): (words.y, words.x) for words in grid.shapes if is_number(words)}
    assert sorted(numbers, key=numbers.__getitem__) == [8, 10, 12, 14, 9, 11, 13, 15]


def is_number(shape) -> bool:
    return isinstance(shape, Text) and shape.text.isdigit()


def boxes_of(panel) -> dict[str, list]:
    colors = {key.color: key.text for key in panel.keys}
    return {colors[s.color]: list(s.where) for s in panel.shapes if isinstance(s, Boxes) and s.color in colors}


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 8, 8), (3, 5, 1), (16, 4, 2), (24, 8, 8), (6, 128, 8), (2048, 1, 2)])
def test_each_group_is_where_its_ranks_are(shape) -> None:
    mesh = Mesh(*shape)
    for rank in {0, mesh.world_size // 2, mesh.world_size - 1}:
        panel = grid_panel(mesh, rank, "")
        ((own,),) = [where for name, where in boxes_of(panel).items() if name == "this rank"]
        groups = {name: set(where) for name, where in boxes_of(panel).items()}
        assert all(own in where for where in groups.values())
        assert len(groups["its tensor group"]) == mesh.tensor
        assert len(groups["its pipeline group"]) == mesh.pipeline
        assert len(groups["its data group"]) == mesh.data or panel.title.startswith("Copies ")
        assert {box[0] for box in groups["its tensor group"]} == {own[0]}
        assert {box[1] for box in groups["its pipeline group"]} == {own[1]}
        for box in itertools.chain.from_iterable(groups.values()):
            assert 0 <= box[0] < box[0] + box[2] <= 1
            assert 0 < box[1] < box[1] + box[3] < panel.height_px <= 300


def test_no_two_ranks_lie_in_one_place_and_of_many_copies_those_around_the_rank_are_drawn() -> None:
    mesh = Mesh(128, 16, 8)
    for rank, first in ((0, 0), (64 * 128, 58), (mesh.world_size - 1, 116)):
        panel = grid_panel(mesh, rank, "")
        assert panel.title.startswith(f"Copies {first} to {first + 11} of the model's 128")
        stages = next(s.where for s in panel.shapes if isinstance(s, Boxes) and s.color == QUIET)
        assert len(set(stages)) == 12 * 16
        for one, other in itertools.pairwise(sorted(stages, key=lambda box: (box[1], box[0]))):
            assert one[1] < other[1] or one[0] + one[2] <= other[0] + 1e-9


@pytest.mark.parametrize("model", list(PRESETS))
def test_a_model_lies_as_published_at_first_and_whenever_it_is_chosen(model: str) -> None:
    explorer = MeshExplorer()
    explorer.set(model=model)
    assert explorer.problem is None
    assert MeshSetting(**explorer.values) == published_setting(model)
    preset = PRESETS[model]
    here = MeshStep(preset, preset.plan)
    assert here.share() == pytest.approx(preset.share, rel=0.2)
    assert f"{here.share():.0%}" == facts_of(explorer)["MFU"]


def test_the_published_share_leaves_recomputed_work_out() -> None:
    model, row = "GPT 145.6 B, Narayanan", NARAYANAN_2021[6]
    flops = [row.shape.flops(row.batch, recompute) for recompute in ("none", "full")]
    assert PRESETS[model].share == pytest.approx(row.flops_per_s / 312e12 * flops[0] / flops[1])
    assert PRESETS["GPT 175 B, Korthikanti"].share == KORTHIKANTI_2022[1].model_share


@pytest.mark.parametrize("model", list(PRESETS))
def test_everything_offered_can_be_computed(model: str) -> None:
    first = published_setting(model)
    for gpus in choices(first)["gpus"]:
        for tensor in choices(replace(first, gpus=gpus))["tensor"]:
            for pipeline in choices(replace(first, gpus=gpus, tensor=tensor))["pipeline"]:
                setting = settle(replace(first, gpus=gpus, tensor=tensor, pipeline=pipeline))
                assert (setting.gpus, setting.tensor, setting.pipeline) == (gpus, tensor, pipeline)
                assert setting.plan.devices == gpus
                assert MeshStep(setting.preset, setting.plan).time.seconds > 0


def test_reset_brings_back_the_first_plan_and_not_the_published_one() -> None:
    explorer = MeshExplorer(tensor=4, rank=7)
    first = explorer.values
    explorer.set(model="GPT 22 B, Korthikanti")
    explorer.set(recompute="none")
    explorer.reset.click()
    assert explorer.values == first


def test_controls_rest_where_a_dimension_has_one_rank() -> None:
    explorer = MeshExplorer(model="GPT 1.7 B, Narayanan")
    resting = {name for name, control in explorer.controls.items() if control.disabled}
    assert resting == {"sequence_parallel", "chunks", "expert"}
    explorer.set(model="GPT 22 B, Korthikanti")
    assert {name for name, control in explorer.controls.items() if control.disabled} == {"chunks", "zero", "expert"}
    explorer.set(model="Mixtral 8x7B, 64 GPUs")
    assert {name for name, control in explorer.controls.items() if control.disabled} == {"sequence_parallel"}


def test_a_sequence_cut_in_four_lies_in_four_blocks_and_two_ranks_share_experts() -> None:
    explorer = MeshExplorer(model="Mixtral 8x7B, 64 GPUs", gpus=16, pipeline=2, context=4, expert=2, rank=6)
    assert explorer.problem is None
    facts = facts_of(explorer)
    assert facts["data × pipeline × tensor"] == "2 × 2 × 1 × 4 context"
    assert facts["rank 6"] == "data 1, pipeline 0, context 2, tensor 0"
    assert facts["its context group"] == "4, 5, 6, 7"
    assert facts["its data group"] == "2, 6"
    assert facts["its experts lie on"] == "6, 7"
    grid = part(explorer, "8 copies of the model")
    boxes = boxes_of(grid)
    assert len(set(boxes["its context group"])) == 4
    assert len(boxes["its data group"]) == 2
    names = [words.text for words in grid.shapes if isinstance(words, Text) and "context" in words.text]
    assert names[6] == "data 1, context 2"


def test_more_context_ranks_hold_fewer_activations_and_send_keys_and_values() -> None:
    one, many = (MeshExplorer(model="GPT 145.6 B, Narayanan", context=context) for context in (1, 2))
    held = [MeshStep(e.preset, e.plan).memory["activations"] for e in (MeshSetting(**x.values) for x in (one, many))]
    assert held[1] == pytest.approx(held[0] / 2)
    assert "context messages" in part(many, "What a step is made of").label.split(";")[0]


def test_the_trillion_comes_first_with_its_days_and_fits_only_where_the_planner_would_take_it() -> None:
    explorer = MeshExplorer()
    assert "for a step and 84.3 days for 450 billion tokens" in explorer.caption
    explorer.set(sequence_parallel=True)
    explorer.set(recompute="selective")
    assert "62.2 days" in explorer.caption
    assert "needs 76.6 GB, and may need 72 GB of its 80 GB: it does not fit" in explorer.caption
    explorer.set(zero=1)
    assert "needs 55.3 GB" in explorer.caption
    assert "it fits" in explorer.caption
    assert list(part(explorer, "Memory of the fullest GPU").limits.values()) == [(1 - SPARE) * 80e9]


@pytest.mark.parametrize("spare", [0.0, 0.1, 0.3])
def test_a_plan_fits_if_the_planner_takes_it(spare: float) -> None:
    preset = PRESETS["GPT 1008 B, Narayanan"]
    every = [MeshStep(preset, plan) for plan in all_plans(preset.shape, 3072, preset.batch)]
    taken = best_plans(preset.shape, preset.cluster, 3072, preset.batch, spare=spare)
    agree = {step.plan for step in every if step.fits} == {ranked.plan for ranked in taken}
    assert agree == (spare == SPARE)


def test_too_much_for_a_gpu_is_said() -> None:
    explorer = MeshExplorer(tensor=1, pipeline=2)
    assert "it does not fit" in explorer.caption
    assert part(explorer, "MFU by stages").lines["does not fit"].x


def test_the_longest_bar_of_memory_ends_on_the_axis_unless_it_is_four_times_what_a_gpu_has() -> None:
    ends = set()
    for tensor, stages in ((8, 8), (1, 16), (2, 16), (1, 2)):
        explorer = MeshExplorer(model="GPT 145.6 B, Narayanan", tensor=tensor, pipeline=stages)
        panel = part(explorer, "Memory of the fullest GPU")
        (room,), most = panel.limits.values(), max(sum(bar.values()) for bar in panel.bars.values())
        assert max(room, min(most, 4 * room)) <= panel.axis.high <= 4 * room
        ends.add(panel.axis.high / room)
    assert (len(ends), min(ends), max(ends)) == (4, 1, 4)
