"""PipeDream's profile and its partitioner: by hand, against all partitions, and the published configuration."""

import random

import pytest
import torch
from torch import nn

from course_lib.collectives import ring_all_reduce_cost
from course_lib.model_parallel import ALEXNET, VGG16
from course_lib.pipeline.pipedream import (
    CLUSTERS,
    PAPER_PASSES,
    RING_PASSES,
    RULES,
    TABLE_1,
    LayerProfile,
    StagePlan,
    best_partition,
    data_parallel,
    every_partition,
    measure_layers,
    partition_seconds,
    profile_shapes,
    sent_bytes,
    stage_seconds,
    throughput,
)


def random_profile(layers, seed):
    draw = random.Random(seed)
    return [LayerProfile(str(n), draw.randint(1, 20), draw.randint(1, 40), draw.randint(0, 90)) for n in range(layers)]


def test_a_partition_by_hand():
    # Two layers, 10 bytes a second. Cut: max(6 s / 2 machines or 2 * 10 / (2 * 10) / 2, 2 * 5 / 10, 3 s) = 3.
    profile = [LayerProfile("convolution", 6.0, 5, 10), LayerProfile("linear", 3.0, 1, 300)]
    assert stage_seconds(profile[:1], 2, 10.0) == 3.0
    assert stage_seconds(profile[:1], 2, 10.0, "sum") == 3.5
    assert stage_seconds(profile[:1], 2, 10.0, "sum", PAPER_PASSES) == 4.0
    assert stage_seconds(profile, 3, 10.0) == pytest.approx(2 * 2 * 310 / 30 / 3)
    found = best_partition(profile, 3, 10.0)
    assert found == ((StagePlan(0, 0, 2), StagePlan(1, 1, 1)), 3.0)
    assert (found.configuration, found.active_batches) == ("2-1", 2)
    assert best_partition(profile, 3, 10.0, "sum").seconds == 3.5


def test_a_slow_crossing_sets_the_pace():
    profile = [LayerProfile("first", 1.0, 50, 0), LayerProfile("second", 1.0, 2, 0), LayerProfile("third", 1.0, 0, 99)]
    assert partition_seconds(profile, [StagePlan(0, 0, 1), StagePlan(1, 2, 1)], 10.0) == 10.0
    assert best_partition(profile, 2, 10.0) == ((StagePlan(0, 1, 1), StagePlan(2, 2, 1)), 2.0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("layers", "machines"), [(1, 1), (1, 4), (4, 1), (3, 3), (5, 4), (6, 5), (4, 7)])
def test_the_dynamic_program_finds_the_best_of_all_partitions(layers, machines, rule):
    for seed in range(8):
        profile, bytes_per_s = random_profile(layers, seed), 10.0 * (1 + seed)
        paces = [partition_seconds(profile, each, bytes_per_s, rule) for each in every_partition(layers, machines)]
        found = best_partition(profile, machines, bytes_per_s, rule)
        assert found.seconds == min(paces)
        assert partition_seconds(profile, found.stages, bytes_per_s, rule) == found.seconds
        assert sum(stage.machines for stage in found.stages) == machines


def test_every_partition_is_there_once():
    found = list(every_partition(3, 3))
    assert len(found) == len(set(found)) == 1 + 2 * 2 + 1  # one stage; two: where and how many; three


def test_what_the_program_looks_at_grows_with_the_squares(monkeypatch):
    looks = 0

    def counted(compute_s, sync_s):
        nonlocal looks
        looks += 1
        return max(compute_s, sync_s)

    monkeypatch.setitem(RULES, "max", counted)
    best_partition(random_profile(40, 0), 16, 10.0)  # 0.1 s
    assert looks == 40 * 16 + (40 * 39 // 2) * (16 * 15 // 2)


@pytest.mark.parametrize("machines", [1, 2, 3, 8])
def test_averages_take_the_time_of_the_bytes_that_a_ring_sends(machines):
    profile = [LayerProfile("weights", 0.0, 0, 3360)]
    cost = ring_all_reduce_cost(3360, world_size=machines)
    assert stage_seconds(profile, machines, 10.0) * machines == pytest.approx(max(cost.bytes_sent) / 10.0)
    assert sent_bytes(profile, data_parallel(1, machines)) == sum(cost.bytes_sent) / machines  # one batch each


@pytest.mark.parametrize("rule", RULES)
def test_vgg16_gets_the_published_configuration(rule):
    published = next(row for row in TABLE_1 if (row.network, row.machines, row.cluster) == ("VGG16", 8, "B"))
    profile = profile_shapes(VGG16, batch_size=64)
    found = best_partition(profile, published.machines, CLUSTERS["B"][1], rule)
    assert found.configuration == published.configuration == "7-1"
    assert found.active_batches == 2
    speed_up = throughput(profile, found.stages, CLUSTERS["B"][1], rule).speed_up
    assert speed_up == pytest.approx({"max": 7.76, "sum": 7.25}[rule], abs=0.005)
    assert speed_up == pytest.approx(published.pipedream, rel=0.12)
    as_in_paper = best_partition(profile, published.machines, CLUSTERS["B"][1], rule, PAPER_PASSES)
    assert as_in_paper.stages == found.stages


@pytest.mark.parametrize("tera", range(5, 15))
def test_with_the_published_batch_the_papers_rule_gives_its_configuration_at_any_speed(tera):
    profile = profile_shapes(VGG16, batch_size=32, flops_per_s=tera * 1e12)
    for passes in (RING_PASSES, PAPER_PASSES):
        assert best_partition(profile, 8, CLUSTERS["B"][1], passes=passes).configuration == "7-1"


def test_the_pipeline_synchronizes_less_than_data_parallelism():
    profile, bytes_per_s = profile_shapes(VGG16, batch_size=64), CLUSTERS["B"][1]
    copies = throughput(profile, data_parallel(len(profile), 8), bytes_per_s, "sum")
    pipeline = throughput(profile, best_partition(profile, 8, bytes_per_s, "sum").stages, bytes_per_s, "sum")
    assert copies.synchronization_share == pytest.approx(0.54, abs=0.005)
    assert pipeline.synchronization_share == pytest.approx(0.09, abs=0.005)
    assert 1 - pipeline.sent_bytes / copies.sent_bytes == pytest.approx(0.89, abs=0.005)
    assert copies.sent_bytes == pytest.approx(2 * 7 / 8 * 138_357_544 * 4)


def test_bytes_of_a_pipeline_without_copies_are_its_crossings():
    profile = profile_shapes(ALEXNET, batch_size=2)
    stages = (StagePlan(0, 4, 1), StagePlan(5, 7, 1))
    assert sent_bytes(profile, stages) == 2 * (256 * 6 * 6) * 2 * 4


def test_published_rows_agree_with_themselves():
    for row in TABLE_1:
        assert sum(map(int, row.configuration.split("-"))) == row.machines
        assert row.pipedream / row.data_parallel == pytest.approx(row.over_data_parallel, rel=0.01)
    assert max(row.synchronization_share for row in TABLE_1) == pytest.approx(0.83, abs=0.005)


def test_a_measured_profile_has_the_shapes_of_the_layers():
    model = nn.Sequential(nn.Linear(8, 3), nn.ReLU(), nn.Linear(3, 2))
    profile = measure_layers(model, torch.ones(5, 8), repeats=2)
    assert [layer.name for layer in profile] == ["0 Linear", "1 ReLU", "2 Linear"]
    assert [layer.activation_bytes for layer in profile] == [5 * 3 * 4, 5 * 3 * 4, 5 * 2 * 4]
    assert [layer.weight_bytes for layer in profile] == [27 * 4, 0, 8 * 4]
    assert all(layer.seconds > 0 for layer in profile)
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(("layers", "machines", "rule"), [(0, 2, "max"), (2, 0, "max"), (2, 2, "mean")])
def test_a_partition_of_nothing_is_refused(layers, machines, rule):
    if rule == "max":
        with pytest.raises(ValueError, match=f"there must be a layer and a machine, got {layers} and {machines}"):
            data_parallel(layers, machines)
    with pytest.raises(ValueError, match=f"got {layers} layers, {machines} machines, rule '{rule}'"):
        best_partition(random_profile(layers, 0), machines, 1.0, rule)
