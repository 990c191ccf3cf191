"""Memory and time by formula, what was published, and the plans that brute force finds."""

from dataclasses import replace

import pytest

from course_lib.mesh import (
    A100_CLUSTER,
    H100_CLUSTER,
    KORTHIKANTI_2022,
    LLAMA3_2024,
    MIXTRAL_2024,
    NARAYANAN_2021,
    RECOMPUTE,
    TORCHTITAN_2024,
    Plan,
    TransformerShape,
    achieved_flops_per_s,
    all_plans,
    best_plans,
    device_memory,
    device_parameters,
    exchange_s,
    fit_matrix_efficiency,
    layer_activation_bytes,
    micro_batches_held,
    ring_s,
    step_time,
)
from course_lib.tensor_parallel import gpt_parameters

GPT3 = TransformerShape(layers=96, hidden=12_288, heads=96)
OLD_WAYS = {"recompute": ("full",), "sequence_parallel": (False,), "zero": (0,)}


def test_flops_are_the_closed_form():
    b, s, layers, h, v = 7, 2048, 96, 12_288, 51_200
    closed = 96 * b * s * layers * h**2 * (1 + s / (6 * h) + v / (16 * layers * h))
    assert GPT3.flops(b, "full") == pytest.approx(closed, rel=1e-12)
    model = 72 * b * s * layers * h**2 * (1 + s / (6 * h) + v / (12 * layers * h))
    assert GPT3.flops(b) == pytest.approx(model, rel=1e-12)


def test_parameters_are_the_closed_form():
    assert GPT3.parameters == pytest.approx(gpt_parameters(96, 12_288, sequence=2048), rel=1e-12)


@pytest.mark.parametrize("tensor", [1, 8])
def test_activations_are_those_of_the_table(tensor):
    unit, scores = 2048 * 12_288, 5 * 96 * 2048 / 12_288  # one sequence; s b h
    cut = Plan(tensor, recompute="none", sequence_parallel=True)
    assert layer_activation_bytes(GPT3, cut) == pytest.approx(unit * (34 + scores) / tensor)
    whole = replace(cut, sequence_parallel=False)
    assert layer_activation_bytes(GPT3, whole) == pytest.approx(unit * (10 + 24 / tensor + scores / tensor))
    assert layer_activation_bytes(GPT3, replace(cut, recompute="selective")) == pytest.approx(unit * 34 / tensor)
    assert layer_activation_bytes(GPT3, replace(whole, recompute="full")) == unit * 2


def test_memory_without_parallelism_is_sixteen_bytes_a_parameter_and_all_activations():
    shape = TransformerShape(layers=2, hidden=64, heads=4, vocabulary=100, sequence=16)
    parts = device_memory(shape, Plan(recompute="none"), batch=1)
    parameters = 2 * (12 * 64**2 + 13 * 64) + 100 * 64
    assert sum(parts.values()) - parts["activations"] == 16 * parameters
    assert parts["activations"] == 2 * 16 * 64 * (34 + 5 * 4 * 16 / 64)


@pytest.mark.parametrize(("chunks", "held"), [(1, {1: 1, 3: 3, 4: 4, 9: 4}), (2, {4: 4, 8: 5.5})])
def test_four_stages_hold_a_micro_batch_each_more_in_chunks_and_never_more_than_there_are(chunks, held):
    assert {count: micro_batches_held(Plan(pipeline=4, chunks=chunks), count) for count in held} == held


def test_a_step_on_one_device_is_its_work():
    time = step_time(GPT3, Plan(recompute="none"), A100_CLUSTER, batch=4)
    assert time.matrices_s == pytest.approx(GPT3.flops(4) / 312e12 / A100_CLUSTER.matrix_efficiency)
    assert time.tensor_s == time.context_s == time.borders_s == time.bubble_s == time.data_s == 0


def test_the_bubble_is_the_textbook_one_and_chunks_divide_it():
    time = step_time(GPT3, Plan(1, 8), A100_CLUSTER, batch=16)
    busy = time.seconds - time.bubble_s - time.data_s
    assert time.bubble_s == pytest.approx(7 / 16 * busy)
    half = step_time(GPT3, Plan(1, 8, chunks=2), A100_CLUSTER, batch=16)
    assert half.bubble_s == pytest.approx(time.bubble_s / 2, rel=1e-3)


def test_a_ring_that_leaves_its_node_shares_the_ports_of_its_members_there():
    size = 1e9
    inside, alone, shared = (ring_s(size, n, stride, A100_CLUSTER) for n, stride in ((8, 1), (8, 8), (8, 4)))
    assert inside < shared < alone
    assert alone / shared == pytest.approx(2, rel=1e-2)
    assert ring_s(size, 1, 8, A100_CLUSTER) == 0


@pytest.mark.parametrize("row", NARAYANAN_2021, ids=lambda row: f"{row.billions}B")
def test_a_published_row_is_consistent_and_the_model_lands_on_it(row):
    assert row.shape.parameters / 1e9 == pytest.approx(row.billions, rel=0.03)
    assert row.flops_per_s / 312e12 == pytest.approx(row.share, abs=0.006)
    assert achieved_flops_per_s(row, A100_CLUSTER) == pytest.approx(row.flops_per_s, rel=0.07)


def test_the_one_fitted_number_is_the_fit():
    assert fit_matrix_efficiency(NARAYANAN_2021, A100_CLUSTER) == A100_CLUSTER.matrix_efficiency


@pytest.mark.parametrize("row", KORTHIKANTI_2022, ids=lambda row: f"{row.billions}B")
def test_steps_of_a_second_paper_are_met_without_another_fit(row):
    cut = replace(row.plan, recompute="selective", sequence_parallel=True)
    assert step_time(row.shape, row.plan, A100_CLUSTER, row.batch).seconds == pytest.approx(row.full_s, rel=0.15)
    assert step_time(row.shape, cut, A100_CLUSTER, row.batch).seconds == pytest.approx(row.selective_s, rel=0.11)
    utilization = row.shape.flops(row.batch) / row.selective_s / row.plan.devices / 312e12
    assert utilization == pytest.approx(row.model_share, abs=0.004)
    thrice = 3 * row.shape.layers * row.shape.attention_flops(row.batch)  # as if its backward pass were done again, too
    assert utilization * (1 + thrice / row.shape.flops(row.batch)) == pytest.approx(row.hardware_share, abs=0.003)


@pytest.mark.parametrize("row", LLAMA3_2024, ids=["8k GPUs", "16k GPUs", "long"])
def test_the_model_is_too_kind_to_llama(row):
    assert row.shape.parameters / 1e9 == pytest.approx(405, rel=0.01)
    assert 1.05 < achieved_flops_per_s(row, H100_CLUSTER) / row.flops_per_s < 1.20


@pytest.mark.parametrize("row", NARAYANAN_2021[5:], ids=lambda row: f"{row.billions}B")
def test_the_planner_finds_what_large_models_were_trained_with(row):
    ranked = best_plans(row.shape, A100_CLUSTER, row.plan.devices, row.batch, **OLD_WAYS)
    theirs = next(each for each in ranked if (each.plan.tensor, each.plan.pipeline) == (8, row.plan.pipeline))
    assert theirs.time.seconds <= 1.01 * ranked[0].time.seconds


def test_plans_use_every_device_and_fit():
    row = NARAYANAN_2021[5]
    ranked = best_plans(row.shape, A100_CLUSTER, 1024, row.batch)
    assert ranked
    assert all(each.plan.devices == 1024 and each.memory_bytes <= 0.9 * 80e9 for each in ranked)
    assert [each.time.seconds for each in ranked] == sorted(each.time.seconds for each in ranked)
    assert len(ranked) < len(list(all_plans(row.shape, 1024, row.batch)))


def test_half_the_memory_costs_time_and_none_is_no_plan():
    row = NARAYANAN_2021[5]
    best, tight = (
        best_plans(row.shape, A100_CLUSTER.but(memory_bytes=size), 1024, row.batch)[0] for size in (80e9, 24e9)
    )
    assert tight.memory_bytes <= 0.9 * 24e9
    assert tight.time.seconds > best.time.seconds
    assert best_plans(row.shape, A100_CLUSTER.but(memory_bytes=1e9), 1024, row.batch) == []


def test_what_is_refused():
    with pytest.raises(ValueError, match="must divide 10"):
        Plan(data=4).micro_batches(10)
    with pytest.raises(ValueError, match="got 'some', 0"):
        Plan(recompute="some")
    with pytest.raises(ValueError, match="1 or more"):
        Plan(tensor=0)
    with pytest.raises(ValueError, match="1 or more"):
        Plan(micro_batch=1.5)
    with pytest.raises(ValueError, match="recompute must be one of"):
        GPT3.flops(1, "some")
    with pytest.raises(ValueError, match="3 context ranks must divide"):
        layer_activation_bytes(GPT3, Plan(context=3))


@pytest.mark.parametrize("name", TORCHTITAN_2024)
def test_twice_the_context_ranks_for_twice_the_tokens_keep_a_ranks_memory_and_the_model_is_too_kind(name):
    rows = TORCHTITAN_2024[name]
    held = [device_memory(row.shape, row.plan, row.batch)["activations"] for row in rows]
    assert held == pytest.approx([held[0]] * 4)
    times = [step_time(row.shape, row.plan, H100_CLUSTER, row.batch) for row in rows]
    rates = [row.batch * row.shape.sequence / time.seconds for row, time in zip(rows, times, strict=True)]
    assert all(time.context_s < 0.02 * time.seconds for time in times)
    said = [rate / rates[0] * rows[0].tokens_per_s / row.tokens_per_s for rate, row in zip(rates, rows, strict=True)]
    assert said == sorted(said)
    assert 1.1 < said[1] < 1.5
    assert 2 < said[3] < 2.6


def test_mixtrals_published_layout_fits_and_its_rate_is_met_without_another_fit():
    row = MIXTRAL_2024
    assert row.shape.parameters / 1e9 == pytest.approx(row.billions, rel=1e-3)
    assert row.shape.active_parameters / 1e9 == pytest.approx(12.9, abs=0.05)
    assert row.plan.devices == 64
    assert sum(device_memory(row.shape, row.plan, row.batch).values()) < 80e9
    assert achieved_flops_per_s(row, H100_CLUSTER) == pytest.approx(row.flops_per_s, rel=0.12)


def test_experts_are_dealt_out_and_their_copies_share_states():
    row = MIXTRAL_2024
    dealt, whole = (device_parameters(row.shape, replace(row.plan, expert=e)) for e in (8, 1))
    assert dealt.experts * 8 == whole.experts == 8 * 8 * row.shape.expert_parameters
    assert dealt.dense == whole.dense
    parts = device_memory(row.shape, row.plan, row.batch)
    assert parts["parameters"] == 2 * sum(dealt)
    assert parts["optimizer states"] == 12 * (dealt.dense / 16 + dealt.experts / 2)


def test_tokens_go_to_their_experts_and_back_in_each_pass():
    row, near = MIXTRAL_2024, A100_CLUSTER.but(devices_per_node=64)
    sent = 2 * 2 * row.shape.sequence * row.shape.hidden  # two experts a token, 16-bit numbers
    each = near.inside.seconds(sent / 8)
    time = step_time(row.shape, row.plan, near, row.batch)
    assert time.expert_s == pytest.approx(16 * 4 * 8 * 7 * each)
    again = step_time(row.shape, replace(row.plan, recompute="full"), near, row.batch)
    assert again.expert_s == pytest.approx(1.5 * time.expert_s)
    assert exchange_s(8e6, 1, 1, near) == 0
    assert exchange_s(8e6, 8, 1, A100_CLUSTER) < exchange_s(8e6, 8, 2, A100_CLUSTER)


def test_a_plan_with_experts_has_its_copies_side_by_side():
    plan = Plan(tensor=2, pipeline=2, data=4, context=2, expert=4)
    assert plan.expert_group(0) == (0, 2, 4, 6)
    groups = {plan.expert_group(rank) for rank in range(plan.devices)}
    assert sorted(rank for group in groups for rank in group) == list(range(32))
    assert {max(group) - min(group) for group in groups} == {6}


def test_the_planner_cuts_sequences_and_deals_out_experts_where_it_may():
    shape = replace(LLAMA3_2024[2].shape, layers=128)
    plans = list(all_plans(shape, 1024, 128, context=(1, 3, 16), recompute=("none",), micro_batch=(1,)))
    assert {plan.context for plan in plans} == {1, 16}
    assert all(plan.devices == 1024 and plan.micro_batches(128) for plan in plans)
    dealt = {plan.expert for plan in all_plans(MIXTRAL_2024.shape, 64, 256, expert=(1, 3, 8))}
    assert dealt == {1, 8}
    assert {plan.expert for plan in all_plans(GPT3, 64, 64, expert=(1, 2))} == {1}


def test_plans_of_any_number_of_layers_are_found_at_once():
    plans = [*all_plans(replace(GPT3, layers=10**9), 64, 64)]
    assert {plan.chunks for plan in plans if plan.pipeline > 1} == {1, 2, 4}


def test_experts_that_cannot_be_dealt_are_refused():
    with pytest.raises(ValueError, match="expert must divide data × context = 4, got 3"):
        Plan(data=4, expert=3)
    with pytest.raises(ValueError, match="2 expert ranks must divide the experts, got 1"):
        device_memory(GPT3, Plan(data=4, expert=2), 64)


@pytest.mark.parametrize("recompute", RECOMPUTE)
def test_slower_attention_takes_its_share_of_the_work_so_much_longer(recompute):
    plan = Plan(recompute=recompute)
    one, two = (step_time(GPT3, plan, A100_CLUSTER.but(attention_slower=slower), 4).matrices_s for slower in (1, 2))
    attention = GPT3.flops(4, "selective") - GPT3.flops(4)
    passes = {"none": 3, "selective": 4, "full": 4}[recompute]
    assert two / one == pytest.approx(1 + passes * GPT3.layers * GPT3.attention_flops(4) / GPT3.flops(4, recompute))
    assert attention == pytest.approx(GPT3.layers * GPT3.attention_flops(4))


def test_a_model_without_experts_reduces_its_gradients_in_one_ring():
    plan = Plan(tensor=2, pipeline=2, data=4)
    time = step_time(GPT3, plan, A100_CLUSTER, batch=8)
    dense, experts = device_parameters(GPT3, plan)
    assert experts == 0
    assert time.data_s == ring_s(2 * dense, 4, 4, A100_CLUSTER)
