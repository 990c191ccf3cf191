"""Training on a mesh is training on one process: weights, losses and norms, and the bytes of each dimension."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from course_lib import run, simulate
from course_lib.compression import CompressedAllReduce, TopK
from course_lib.data_parallel.zero import ShardedOptimizer
from course_lib.mesh import (
    Mesh,
    MeshRank,
    MeshStage,
    MeshTraining,
    StepSizes,
    backward_on_mesh,
    clip_gradients,
    counted_gradients,
    counts_here,
    dimension_bytes,
    gradient_norm,
    step_bytes,
    train_on_mesh,
    train_on_one_process,
)
from course_lib.pipeline import gpipe, interleaved, zero_bubble_h1
from course_lib.precision import all_reduce_at_owners, all_reduce_in
from course_lib.tasks import GPT, GPTConfig

CONFIG = GPTConfig(vocabulary=24, context=8, layers=4, width=12, heads=4)
UNTIED = GPTConfig(vocabulary=24, context=8, layers=4, width=12, heads=4, tied=False)
STEPS = 2


def batches(sequences=8):
    generator = torch.Generator().manual_seed(3)
    return [tuple(torch.randint(24, (sequences, 4), generator=generator) for _ in range(2)) for _ in range(STEPS)]


def train(mesh, config=CONFIG, where=simulate, sequences=8, **settings):
    """The report of a training on a mesh, compared with one process, whose losses and norms come along."""
    training, reference = MeshTraining(**settings), GPT(config).double()
    alone = train_on_one_process(reference, batches(sequences), training)
    arguments = (mesh, GPT(config).double(), batches(sequences), training, reference)
    return where(train_on_mesh, world_size=mesh.world_size, args=arguments), alone


def check(report, alone, mesh, tolerance=1e-12):
    losses, norms = alone
    assert max(result.difference for result in report.results) < tolerance
    ends = [r.losses for r in report.results if r.at.pipeline == mesh.pipeline - 1 and r.at.tensor == 0]
    assert [sum(step) / mesh.data for step in zip(*ends, strict=True)] == pytest.approx(losses, abs=1e-12)
    for result in report.results:
        assert result.norms == pytest.approx(norms, rel=1e-12)


@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 1, 1), (1, 3, 1), (1, 1, 2), (2, 2, 1), (1, 4, 2), (2, 2, 2)])
def test_every_shape_trains_as_one_process(shape):
    mesh = Mesh(*shape)
    check(*train(mesh), mesh)


def check_any_batch(shape, micro_batches, sequences, **settings):
    mesh = Mesh(*shape)
    settings |= {"micro_batches": micro_batches, "clip": 0.1}
    check(*train(mesh, sequences=sequences, **settings), mesh, tolerance=1e-9)


@pytest.mark.parametrize(
    ("shape", "micro_batches", "sequences", "settings"),
    [
        ((1, 1, 1), 2, 5, {}),
        ((2, 1, 1), 2, 6, {"zero": True}),
        ((4, 1, 1), 1, 6, {}),
        ((1, 2, 2), 2, 5, {"sequence_parallel": True}),
        ((2, 2, 1), 5, 8, {"recompute": True}),  # more micro-batches than a data rank has sequences
        ((3, 2, 1), 2, 2, {"zero": True}),  # a data rank without any
    ],
)
def test_every_sequence_counts_alike_whatever_divides_the_batch(shape, micro_batches, sequences, settings):
    check_any_batch(shape, micro_batches, sequences, **settings)


@pytest.mark.timeout(900)
@pytest.mark.exhaustive
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2)),
    st.integers(1, 4),
    st.integers(1, 11),
    st.fixed_dictionaries({name: st.booleans() for name in ("zero", "sequence_parallel", "recompute")}),
)
@trials(max_examples=150, deadline=None)
def test_any_batch_on_any_mesh_trains_as_one_process(shape, micro_batches, sequences, settings):
    check_any_batch(shape, micro_batches, sequences, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"sequence_parallel": True},
        {"recompute": True},
        {"zero": True},
        {"clip": 0.1},
        {"clip": 0.1, "sequence_parallel": True},
        {"make_optimizer": partial(torch.optim.Adam, lr=1e-3), "zero": True},
        {"clip": 0.1, "zero": True},
        {"make_optimizer": partial(torch.optim.Adam, lr=1e-3), "clip": 0.1, "zero": True, "sequence_parallel": True},
    ],
    ids=lambda settings: "+".join(settings),
)
@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 1, 2)])
def test_nothing_that_saves_memory_or_clips_changes_the_training(shape, settings):
    mesh = Mesh(*shape)
    check(*train(mesh, **settings), mesh, tolerance=1e-9)


@pytest.mark.parametrize("schedule", [gpipe, zero_bubble_h1])
def test_any_schedule_with_a_stage_a_rank_trains_as_one_process(schedule):
    check(*train(Mesh(2, 2, 2), schedule=schedule), Mesh(2, 2, 2))


@pytest.mark.parametrize(
    ("shape", "config", "settings"),
    [
        ((2, 2, 2), CONFIG, {"clip": 0.1, "zero": True, "sequence_parallel": True}),
        ((2, 2, 1), UNTIED, {"clip": 0.1, "recompute": True}),
        ((1, 1, 2), CONFIG, {"clip": 0.1}),  # first and last stage on one rank: a tied embedding and its copy
    ],
)
def test_two_stages_a_rank_train_as_one_process(shape, config, settings):
    check(*train(Mesh(*shape), config, schedule=interleaved, **settings), Mesh(*shape), tolerance=1e-9)


@pytest.mark.parametrize(
    ("shape", "chunks", "config"),
    [((2, 2, 2), 2, CONFIG), ((2, 2, 1), 2, UNTIED), ((2, 1, 2), 4, CONFIG), ((2, 2, 1), 3, replace(CONFIG, layers=7))],
)
@pytest.mark.parametrize("recompute", [False, True])
def test_several_stages_a_rank_move_the_bytes_of_their_formula(shape, chunks, config, recompute):
    mesh = Mesh(*shape)
    report, _ = train(mesh, config, schedule=partial(interleaved, chunks=chunks), recompute=recompute)
    sizes = StepSizes(config, 2, 2, 4, recompute=recompute, chunks=chunks)
    expected = {name: STEPS * sent for name, sent in step_bytes(sizes, mesh).items()}
    assert dimension_bytes(report.trace, mesh) == expected


def one_stage_of_two(comm):
    stage = MeshStage(MeshRank(comm, Mesh(1, 2, 1)), GPT(CONFIG))
    backward_on_mesh(stage, batches()[0], MeshTraining(schedule=interleaved))


def test_an_output_of_its_own_trains_as_one_process():
    check(*train(Mesh(2, 2, 2), UNTIED, clip=0.1), Mesh(2, 2, 2))


def test_eight_real_processes_train_as_one():
    check(*train(Mesh(2, 2, 2), where=partial(run, device="cpu")), Mesh(2, 2, 2))


@pytest.mark.parametrize("config", [CONFIG, UNTIED], ids=["tied", "untied"])
@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 1, 1), (1, 4, 1), (1, 1, 4), (2, 3, 1)])
def test_each_dimension_moves_the_bytes_of_its_formula(shape, recompute, config):
    mesh = Mesh(*shape)
    if 8 % (2 * mesh.data):
        mesh = Mesh(2, mesh.pipeline, mesh.tensor)
    report, _ = train(mesh, config, recompute=recompute)
    sizes = StepSizes(config, 2, 8 // mesh.data // 2, 4, recompute=recompute)
    expected = {name: STEPS * sent for name, sent in step_bytes(sizes, mesh).items()}
    assert dimension_bytes(report.trace, mesh) == expected


def test_a_norm_costs_one_number_an_all_reduce():
    plain, _ = train(Mesh(2, 2, 2))
    clipped, _ = train(Mesh(2, 2, 2), clip=0.1)
    before, after = (dimension_bytes(report.trace, Mesh(2, 2, 2)) for report in (plain, clipped))
    assert {name: after[name] - before[name] for name in before} == {"data": 0, "pipeline": 128, "tensor": 128}


@pytest.mark.parametrize("all_reduce", [all_reduce_in, all_reduce_at_owners])
def test_gradients_in_16_bits_are_half_the_bytes_of_the_data_dimension_and_all_of_their_error(all_reduce):
    mesh, training = Mesh(2, 2, 2), MeshTraining()
    reference, sent = GPT(CONFIG), {}
    train_on_one_process(reference, batches()[:1], training)
    largest = max(float(parameter.grad.abs().max()) for parameter in reference.parameters())
    for name, change in {"fp32": {}, "bf16": {"all_reduce": all_reduce(torch.bfloat16)}}.items():
        arguments = (mesh, GPT(CONFIG), batches()[:1], replace(training, **change), reference)
        report = simulate(train_on_mesh, world_size=8, args=arguments)
        sent[name] = dimension_bytes(report.trace, mesh), max(result.difference for result in report.results)
    (before, exact), (after, rounded) = sent.values()
    assert after == before | {"data": before["data"] / 2}
    assert exact < 1e-6 < rounded < 0.5 * 2**-6 * largest  # a learning rate of 0.5, 8 bits of precision


def test_over_shards_the_norm_costs_a_third_all_reduce():
    sharded, _ = train(Mesh(2, 2, 2), zero=True)
    clipped, _ = train(Mesh(2, 2, 2), zero=True, clip=0.1)
    before, after = (dimension_bytes(report.trace, Mesh(2, 2, 2)) for report in (sharded, clipped))
    assert {after[name] - before[name] for name in before} == {128}


def test_a_norm_of_shards_wants_gradients_that_were_reduced():
    def too_early(comm):
        stage = MeshStage(MeshRank(comm, Mesh(2, 1, 1)), GPT(CONFIG))
        gradient_norm(stage, ShardedOptimizer(stage.here.data, stage, torch.optim.SGD, [stage]))

    with pytest.raises(Exception, match="call reduce_gradients"):
        simulate(too_early, world_size=2)


def test_what_is_refused():
    with pytest.raises(ValueError, match="cannot use all_reduce_rounded"):
        MeshTraining(zero=True, all_reduce=all_reduce_in(torch.bfloat16))
    with pytest.raises(ValueError, match="cannot use CompressedAllReduce"):
        MeshTraining(zero=True, all_reduce=CompressedAllReduce(TopK(0.1)))
    with pytest.raises(Exception, match="got 5 stages for 4 blocks"):
        train(Mesh(1, 5, 1))
    with pytest.raises(Exception, match="got 8 stages for 4 blocks"):
        train(Mesh(1, 4, 1), schedule=interleaved, micro_batches=4)
    with pytest.raises(Exception, match="a rank has 1 stages here, got 4 on 2 ranks"):
        simulate(one_stage_of_two, world_size=2)
    with pytest.raises(ValueError, match="micro_batches must be at least 1, got 0"):
        MeshTraining(micro_batches=0)
    with pytest.raises(Exception, match="a batch must have a sequence, got none"):
        train(Mesh(2, 1, 1), sequences=0)
    with pytest.raises(Exception, match="3 tensor ranks must divide the sequence, got 4 places"):
        train(Mesh(1, 1, 3), replace(CONFIG, heads=3), sequence_parallel=True)


def test_gradients_are_counted_in_the_order_of_the_parameters():
    def counted(comm):
        stage = MeshStage(MeshRank(comm, Mesh(1, 1, 1)), GPT(CONFIG))
        backward_on_mesh(stage, batches()[0], MeshTraining())
        own = [parameter.grad for name, parameter in stage.named_parameters() if counts_here(stage, name)]
        return [a is b for a, b in zip(counted_gradients(stage), own, strict=True)]

    assert all(simulate(counted, world_size=1).results[0])


@pytest.mark.parametrize("zero", [False, True])
def test_a_norm_that_is_no_number_clips_as_torch_does(zero):
    def program(comm):
        stage = MeshStage(MeshRank(comm, Mesh(1, 1, 1)), GPT(CONFIG))
        sharded = ShardedOptimizer(comm, stage, MeshTraining().make_optimizer, [stage]) if zero else None
        backward_on_mesh(stage, batches()[0], MeshTraining())
        if sharded is not None:
            sharded.reduce_gradients()
        gradients = [unit.shard.grad for unit in sharded.units] if zero else [p.grad for p in stage.parameters()]
        gradients[0].view(-1)[0] = float("nan")
        clip_gradients(stage, 1.0, sharded)
        return all(bool(gradient.isnan().all()) for gradient in gradients)

    assert simulate(program, 1).results == [True]
