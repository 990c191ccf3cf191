"""ZeRO's stages 2 and 3 and HSDP in the formulas of memory and time, and what was published of FSDP."""

from dataclasses import replace

import pytest

from course_lib.data_parallel.zero import zero_parts
from course_lib.mesh import (
    A100_CLUSTER,
    H100_CLUSTER,
    MIXTRAL_2024,
    MOSAIC_2023,
    Plan,
    TransformerShape,
    all_plans,
    device_memory,
    device_parameters,
    gathered_bytes,
    ring_s,
    step_time,
)

GPT = TransformerShape(layers=24, hidden=4096, heads=32)
FULL = Plan(data=16, zero=3, recompute="none")


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
@pytest.mark.parametrize("shards", [0, 4])
def test_states_are_those_of_the_stage_over_the_shards(zero: int, shards: int) -> None:
    plan = replace(FULL, zero=zero, shards=shards)
    parts = device_memory(GPT, plan, 16)
    expected = zero_parts(device_parameters(GPT, plan).dense, shards or 16, zero)
    assert {name: parts[name] for name in expected} == expected


def test_two_layers_and_a_layers_gradients_are_whole_for_a_moment() -> None:
    small = replace(GPT, vocabulary=100)
    layer = 2 * small.dense_parameters + 2 * small.expert_parameters
    assert gathered_bytes(small, FULL) == 3 * layer
    assert gathered_bytes(small, replace(FULL, zero=2)) == layer
    assert gathered_bytes(small, replace(FULL, zero=1)) == gathered_bytes(small, Plan(zero=3)) == 0
    assert gathered_bytes(GPT, FULL) == 2 * (2 * GPT.embedding_parameters) + layer  # a large vocabulary is the unit


def exposed_s(plan: Plan, batch: int, shape: TransformerShape = GPT, cluster=A100_CLUSTER) -> float:
    return step_time(shape, plan, cluster, batch).data_s


def test_with_much_work_only_the_first_gather_and_the_last_scatter_of_a_pass_are_waited_for() -> None:
    plan = Plan(data=8, zero=3, recompute="none", micro_batch=8)
    layer = 2 * device_parameters(GPT, plan).dense / GPT.layers
    assert exposed_s(plan, 64) == pytest.approx(2 * ring_s(layer, 8, 1, A100_CLUSTER) / 2)
    assert exposed_s(plan, 640) == pytest.approx(10 * exposed_s(plan, 64))


def test_with_no_work_three_passes_of_the_parameters_are_waited_for() -> None:
    plan = Plan(data=8, zero=3, recompute="none")
    idle = A100_CLUSTER.but(flops_per_s=1e30, memory_bytes_per_s=1e30)
    layer = 2 * device_parameters(GPT, plan).dense / GPT.layers
    one_way = ring_s(layer, 8, 1, A100_CLUSTER) / 2
    assert exposed_s(plan, 8, cluster=idle) == pytest.approx((3 * GPT.layers + 2) * one_way)
    whole = ring_s(2 * device_parameters(GPT, plan).dense, 8, 1, A100_CLUSTER)
    assert exposed_s(replace(plan, zero=1), 8, cluster=idle) == whole


def test_shards_in_a_node_wait_less_where_links_between_nodes_are_slow() -> None:
    slow = A100_CLUSTER.but(outside=replace(A100_CLUSTER.outside, bytes_per_s=1e9))
    plan = Plan(data=32, zero=3, recompute="none")
    whole, near = (exposed_s(replace(plan, shards=shards), 32 * 8, cluster=slow) for shards in (0, 8))
    assert near < whole / 3
    assert exposed_s(replace(plan, shards=32), 256, cluster=slow) == whole


def test_experts_are_cut_over_the_shards_that_are_left() -> None:
    plan = replace(MIXTRAL_2024.plan, zero=3, shards=8)
    dense, experts = device_parameters(MIXTRAL_2024.shape, plan)
    assert device_memory(MIXTRAL_2024.shape, plan, 256)["parameters"] == 2 * (dense / 8 + experts)


def test_shards_that_do_not_divide_the_copies_and_unknown_stages_are_refused() -> None:
    with pytest.raises(ValueError, match="shards must divide data × context = 16, got 3"):
        replace(FULL, shards=3)
    with pytest.raises(ValueError, match="shards must divide"):
        replace(FULL, shards=-1)
    with pytest.raises(ValueError, match="zero 0 to 3"):
        replace(FULL, zero=4)


def test_the_planner_tries_fsdp_and_hsdp_only_where_it_may() -> None:
    plans = list(all_plans(GPT, 16, 16, zero=(1, 3), shards=(0, 8)))
    assert {(plan.zero, plan.shards) for plan in plans if plan.data == 16} == {(1, 0), (3, 0), (3, 8)}
    assert {plan.shards for plan in plans if plan.data <= 8} == {0}
    assert {plan.zero for plan in all_plans(GPT, 16, 16)} == {0, 1}


@pytest.mark.parametrize("row", MOSAIC_2023, ids=lambda row: f"{row.billions}B on {row.plan.devices} {row.gpu}")
def test_a_row_of_fsdp_is_consistent_and_the_model_is_near_on_a100_and_too_kind_on_h100(row) -> None:
    words = row.shape.parameters - row.shape.sequence * row.shape.hidden
    assert words / 1e9 == pytest.approx(row.billions, rel=0.01)
    cluster = {"a100": A100_CLUSTER, "h100": H100_CLUSTER}[row.gpu]
    time = step_time(row.shape, row.plan, cluster, row.batch)
    published_s = row.batch * row.shape.sequence / row.plan.devices / row.tokens_per_s
    least, most = {"a100": (0.83, 1.27), "h100": (1.02, 1.62)}[row.gpu]
    assert least < published_s / time.seconds < most
    assert sum(device_memory(row.shape, row.plan, row.batch).values()) < 80e9
