"""The fastest plans, one's own plan, bytes sent, the band, and flags."""

import json
from dataclasses import replace

import pytest

from course_lib.mesh import (
    LLAMA3_2024,
    MIXTRAL_2024,
    MOSAIC_2023,
    NARAYANAN_2021,
    FsdpRow,
    Plan,
    all_plans,
    device_parameters,
)
from course_lib.planning import (
    CLUSTERS,
    MEMORY_PASSES,
    InvalidPlanError,
    answer_lines,
    band_of,
    best_candidates,
    candidate_of,
    deepspeed_lines,
    expected_step,
    logits_bytes,
    megatron_flags,
    misses,
    plan_of,
    plan_text,
    sent_bytes,
    shape_of,
    titan_memory,
    torchtitan_flags,
)
from course_lib.planning.expected import cluster_of_2023, published_s

SIZES = {"hidden_size": 4096, "intermediate_size": 14_336, "num_hidden_layers": 32, "num_attention_heads": 32}
LLAMA = {"model_type": "llama", "vocab_size": 128_256, "num_key_value_heads": 8, **SIZES}
EIGHT = shape_of(LLAMA, 8192)
MIXTRAL = shape_of(
    {**LLAMA, "model_type": "mixtral", "vocab_size": 32_000, "num_local_experts": 8, "num_experts_per_tok": 2}, 4096
)
H100 = CLUSTERS["h100"]


def test_the_five_fastest_fit_use_all_gpus_and_are_in_order() -> None:
    best, fitting = best_candidates(EIGHT, H100, 64, 1024)
    assert len(best) == 5 < fitting
    times = [each.time.seconds for each in best]
    assert times == sorted(times)
    assert all(each.plan.devices == 64 and each.room_bytes(H100) >= 0 for each in best)
    assert 0.4 < best[0].model_share(EIGHT, H100, 1024) < 0.63


def test_no_plan_of_the_search_is_faster_than_the_first() -> None:
    best, _ = best_candidates(EIGHT, H100, 16, 64)
    tried = [candidate_of(EIGHT, plan, H100, 64) for plan in all_plans(EIGHT, 16, 64, recompute=("none", "full"))]
    fitting = [each for each in tried if each.room_bytes(H100) >= 0]
    assert best[0].time.seconds <= min(each.time.seconds for each in fitting)


def test_a_model_that_is_too_large_for_one_gpu_is_cut_by_fsdp_among_others() -> None:
    fastest = best_candidates(EIGHT, H100, 8, 64, most=1000)[0]
    sharded = next(each for each in fastest if each.plan.zero == 3)
    assert sharded.time.seconds < 1.06 * fastest[0].time.seconds
    assert best_candidates(EIGHT, H100, 1, 64) == ([], 0)


def test_stages_that_do_not_divide_the_layers_take_as_long_as_the_largest() -> None:
    odd = replace(EIGHT, layers=31)
    plan = Plan(pipeline=4, data=2, recompute="none", zero=1)
    largest = replace(EIGHT, tied=True, vocabulary=1)  # there is no output to speak of
    few = replace(odd, tied=True, vocabulary=1)
    slower = expected_step(few, plan, H100, 16).seconds / expected_step(largest, plan, H100, 16).seconds
    assert slower == pytest.approx(1, rel=0.001)
    assert any(each.plan.pipeline > 1 for each in best_candidates(odd, H100, 8, 64, most=1000)[0])


def test_llama_3s_own_plan_of_128_chunks_for_126_layers_is_checked() -> None:
    row = LLAMA3_2024[1]
    fields = {**LLAMA, "hidden_size": 16_384, "intermediate_size": 53_248, "num_attention_heads": 128}
    shape = shape_of({**fields, "num_hidden_layers": 126}, 8192)
    plan = plan_of("tensor=8,pipeline=16,chunks=8,zero=1,sequence_parallel=true", shape, 16_384, row.batch)
    assert plan == row.plan
    found = candidate_of(shape, plan, H100, row.batch)
    rate = shape.flops(row.batch) / found.time.seconds / 16_384
    assert 1.1 < rate / row.flops_per_s < 1.2
    assert round(found.memory_bytes / 1e9) == 82  # they freed tensors early: docs/planning.md says so


def test_logits_are_counted_where_the_first_stage_is_the_last() -> None:
    plan = Plan(tensor=8, recompute="none", sequence_parallel=True)
    assert candidate_of(EIGHT, plan, H100, 8).memory["logits"] == logits_bytes(EIGHT, plan) == 10 * 8192 * 128_256 / 8
    assert "logits" not in candidate_of(EIGHT, Plan(pipeline=8), H100, 8).memory


def test_sent_bytes_of_each_dimension_are_the_closed_forms() -> None:
    between, layers = 2 * 8192 * 4096, 32
    assert sent_bytes(EIGHT, Plan(recompute="none"), 4) == {}
    tensor = sent_bytes(EIGHT, Plan(tensor=4, recompute="none"), 3)
    assert tensor == {"tensor": 3 * layers * 4 * 2 * 3 / 4 * between}
    assert sent_bytes(EIGHT, Plan(pipeline=4, recompute="none"), 3) == {"pipeline": 3 * 2 * between}
    weights = 2 * device_parameters(EIGHT, Plan()).dense
    sent = {zero: sent_bytes(EIGHT, Plan(data=8, zero=zero), 24)["data"] / (7 / 8 * weights) for zero in range(4)}
    assert sent == {0: 2, 1: 2, 2: 4, 3: 9}  # three micro-batches
    hybrid = sent_bytes(EIGHT, Plan(data=8, zero=3, shards=4), 8)
    assert hybrid == {"data": 3 * 3 / 4 * weights, "copies": 2 * 1 / 2 * weights / 4}


def test_experts_send_their_tokens_and_back_in_both_passes() -> None:
    sent = sent_bytes(MIXTRAL, MIXTRAL_2024.plan, 256)
    assert sent["expert"] == 16 * 8 * 4 * 7 / 8 * 2 * 2 * 4096 * 4096


def test_a_plan_of_ones_own_is_what_was_written() -> None:
    text = "tensor=4,pipeline=2,micro_batch=2,recompute=full,zero=1,sequence_parallel=true"
    plan = plan_of(text, EIGHT, 64, 1024)
    assert plan == Plan(4, 2, 8, 2, 1, "full", 1, True)
    assert plan_of(plan_text(plan), EIGHT, 64, 1024) == plan
    for each in best_candidates(EIGHT, H100, 64, 1024, most=200)[0]:
        assert plan_of(plan_text(each.plan), EIGHT, 64, 1024) == each.plan


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tensors=8", "an entry of a plan is one of tensor, pipeline,"),
        ("", "a plan has an entry or more"),
        ("zero=1,tensor=8,zero=3", "zero stands in the plan twice"),
        ("tensor=eight", "tensor must be a whole number, got 'eight'"),
        ("tensor=-8", "tensor must be a whole number, got '-8'"),
        ("tensor=0", "must divide 64 GPUs, got 0"),
        ("tensor=3", "must divide 64 GPUs, got 3"),
        ("tensor=16", "tensor must divide 8 heads of keys and values, got 16"),
        ("tensor=8,data=4", "must be 64 GPUs, got 32"),
        ("pipeline=64", "pipeline ranks with their chunks need 64 × 1 layers, got 32"),
        ("pipeline=16,chunks=3", "need 16 × 3 layers, got 32"),
        ("micro_batch=3", "64 data ranks with micro-batches of 3 must divide 1024"),
        ("recompute=some", "recompute must be one of"),
        ("zero=4", "zero 0 to 3"),
        ("sequence_parallel=1", "sequence_parallel must be true or false, got '1'"),
        ("expert=2", "expert must divide 1 experts, got 2"),
        ("zero=3,shards=5", "shards must divide data × context = 64, got 5"),
    ],
)
def test_a_wrong_plan_says_which_entry_and_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(InvalidPlanError) as raised:
        plan_of(text, EIGHT, 64, 1024)
    assert said in str(raised.value)


@pytest.mark.parametrize("gpu", CLUSTERS)
def test_the_band_holds_every_published_row_and_none_that_was_fitted(gpu: str) -> None:
    found = misses(gpu)
    band = band_of(found)
    assert band.rows == len(found) == 19
    assert all(band.least <= miss.ratio <= band.most for miss in found)
    assert not any("Narayanan" in miss.source for miss in found)


def test_half_of_the_published_rows_are_met_within_a_twentieth() -> None:
    errors = sorted(abs(1 / miss.ratio - 1) for gpu in CLUSTERS for miss in misses(gpu))
    assert errors[len(errors) // 2] < 0.05
    assert sum(error < 0.2 for error in errors) >= len(errors) - 2


@pytest.mark.parametrize("change", ["reach", "attention", "hiding", "output", "memory"])
def test_each_cause_makes_the_rows_it_is_about_better(change: str) -> None:
    """What a cause explains is missed by more without it."""
    row = {
        "reach": next(row for row in MOSAIC_2023 if row.gpu == "h100" and row.plan.micro_batch == 14),
        "attention": next(row for row in MOSAIC_2023 if row.gpu == "h100" and row.shape.sequence == 8192),
        "hiding": next(row for row in MOSAIC_2023 if row.gpu == "h100" and row.plan.micro_batch == 2),
        "output": NARAYANAN_2021[7],
        "memory": next(row for row in MOSAIC_2023 if row.gpu == "h100" and row.billions == 6.66),
    }[change]
    cluster = cluster_of_2023("h100") if isinstance(row, FsdpRow) else CLUSTERS["a100"]
    whole = expected_step(row.shape, row.plan, cluster, row.batch)
    shape, passes, plan = row.shape, MEMORY_PASSES, row.plan
    if change == "reach":
        cluster = cluster.but(matrix_efficiency=1.0, attention_slower=cluster.attention_slower / 0.803)
    elif change == "attention":
        cluster = cluster.but(attention_slower=1.0)
    elif change == "hiding":
        plan = replace(plan, zero=0)
    elif change == "output":
        shape = replace(shape, vocabulary=1)
    else:
        passes = 1.0
    without = expected_step(shape, plan, cluster, row.batch, passes)
    if isinstance(row, FsdpRow):
        published = row.batch * row.shape.sequence / row.plan.devices / row.tokens_per_s
    else:
        published = published_s(row)
    assert without.seconds < whole.seconds
    assert abs(published / whole.seconds - 1) < abs(published / without.seconds - 1)


def test_formulas_of_memory_stay_below_torchtitans_row() -> None:
    needed, published = titan_memory()
    assert 0.75 < needed / published < 0.9


def test_flags_say_the_plan() -> None:
    plan = Plan(4, 2, 8, 2, 4, "full", 1, True)
    megatron = " ".join(megatron_flags(EIGHT, plan, 1024))
    for flag in ("--tensor-model-parallel-size 4", "--num-virtual-stages-per-pipeline-rank 4", "--sequence-parallel"):
        assert flag in megatron
    titan = torchtitan_flags(EIGHT, plan, 1024)
    assert "--training.local_batch_size 128" in titan
    assert "--parallelism.pipeline_parallel_layers_per_stage 4" in titan
    assert any("ZeRO-1 has no flag" in flag for flag in titan)


def test_hsdp_is_copies_of_shards_in_both() -> None:
    plan = Plan(data=64, recompute="none", zero=3, shards=8)
    titan, megatron = torchtitan_flags(EIGHT, plan, 1024), megatron_flags(EIGHT, plan, 1024)
    assert titan[:2] == [
        "--parallelism.data_parallel_replicate_degree 8",
        "--parallelism.data_parallel_shard_degree 8",
    ]
    assert "--num-distributed-optimizer-instances 8 --outer-dp-sharding-strategy no_shard" in megatron
    assert not any("instances" in flag for flag in megatron_flags(EIGHT, replace(plan, shards=0), 1024))


def test_deepspeeds_configuration_says_the_plan_or_why_there_is_none() -> None:
    config = json.loads(deepspeed_lines(EIGHT, Plan(2, 1, 32, 2, zero=3, shards=8, recompute="none"), 1024)[0])
    assert config["zero_optimization"] == {"stage": 3, "mics_shard_size": 8}
    assert config["tensor_parallel"] == {"autotp_size": 2}
    numbers = [config[name] for name in ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps")]
    assert config["train_batch_size"] == 32 * numbers[0] * numbers[1] == 1024
    staged = deepspeed_lines(EIGHT, Plan(1, 4, 8, zero=1), 64)
    assert "num_stages=4" in staged[1]
    assert deepspeed_lines(EIGHT, Plan(1, 4, 8, zero=2), 64) == ["# none: DeepSpeed's pipeline goes with zero=0 or 1"]
    assert deepspeed_lines(EIGHT, Plan(1, 4, 8, chunks=2), 64)[0].startswith("# none")


def test_torchtitan_has_no_flags_for_experts_without_shards() -> None:
    assert torchtitan_flags(MIXTRAL, MIXTRAL_2024.plan, 256)[0].startswith("# none")
    assert "--parallelism.expert_parallel_degree 8" in torchtitan_flags(MIXTRAL, Plan(data=64, zero=3, expert=8), 256)


def test_each_time_has_what_to_expect_beside_it() -> None:
    text = "\n".join(answer_lines(EIGHT, 64, "h100", 1024, None))
    rows = [line for line in text.splitlines() if line[:4].strip().isdigit()]
    assert len(rows) == 5
    assert all(" to " in row for row in rows)
    assert "19 published steps on H100 that no number was fitted to" in text


def test_what_does_not_fit_is_said_with_how_much_is_missing() -> None:
    lines = answer_lines(EIGHT, 64, "h100", 1024, "data=64")
    assert any(line.startswith("  DOES NOT FIT: ") for line in lines)
    assert any("No plan fits" in line for line in answer_lines(EIGHT, 1, "a100", 8, None))


def test_the_command_says_the_same_and_refuses_in_one_line(tmp_path) -> None:
    from click.testing import CliRunner

    from course_lib.cli import main

    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    call = CliRunner().invoke
    asked = ["plan", str(path), "--gpus", "64", "--sequence", "8192", "--plan", "tensor=2,zero=3"]
    assert call(main, asked).output.splitlines() == answer_lines(EIGHT, 64, "h100", 1024, "tensor=2,zero=3")
    assert call(main, ["plan", str(path)]).output == "Parameters: 8,030,261,248 (8.03 B)\n"
    refused = call(main, ["plan", "hidden_size=4096"])
    assert refused.exit_code == 1
    assert refused.output.startswith("Error: num_attention_heads must be a whole number")
    assert "--plan needs --gpus" in call(main, ["plan", str(path), "--plan", "zero=3"]).output
    assert "course plan config.json --gpus 64" in call(main, ["plan", "--help"]).output
