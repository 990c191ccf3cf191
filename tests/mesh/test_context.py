"""A cut sequence as a dimension of the mesh trains as one process does, and moves the bytes of its formula."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from course_lib import run, simulate
from course_lib.faults import Checkpoints
from course_lib.mesh import (
    CoordinatesOfFour,
    Mesh,
    MeshRank,
    MeshTraining,
    StepSizes,
    dimension_bytes,
    load_on_mesh,
    numbers_of,
    optimizer_of,
    part_of,
    save_on_mesh,
    step_bytes,
    train_on_mesh,
    train_on_one_process,
)
from course_lib.pipeline import interleaved
from course_lib.tasks import GPT, GPTConfig

CONFIG = GPTConfig(vocabulary=24, context=16, layers=4, width=16, heads=4)
ADAM = partial(torch.optim.Adam, lr=0.01)


def batches_of(length, sequences=8, count=2):
    generator = torch.Generator().manual_seed(3)
    return [tuple(torch.randint(24, (sequences, length), generator=generator) for _ in range(2)) for _ in range(count)]


def train(mesh, length=8, config=CONFIG, where=simulate, **settings):
    batches, training, one = batches_of(length), MeshTraining(**settings), GPT(config).double()
    losses, norms = train_on_one_process(one, batches, training)
    report = where(train_on_mesh, mesh.world_size, args=(mesh, GPT(config).double(), batches, training, one))
    ends = [r.losses for r in report.results if r.at.pipeline == mesh.pipeline - 1 and r.at.tensor == 0]
    assert max(result.difference for result in report.results) < 1e-12
    assert [sum(step) / len(ends) for step in zip(*ends, strict=True)] == pytest.approx(losses, abs=1e-12)
    assert all(result.norms == pytest.approx(norms, abs=1e-12) for result in report.results)
    return report


def test_eight_ranks_by_hand():
    mesh = Mesh(data=2, tensor=2, context=2)
    assert mesh.shape == (2, 1, 2, 2)
    assert mesh.groups("tensor") == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert mesh.groups("context") == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert mesh.groups("data") == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert mesh.coordinates(6) == CoordinatesOfFour(data=1, pipeline=0, context=1, tensor=0)
    assert [mesh.rank_at(mesh.coordinates(rank)) for rank in range(8)] == list(range(8))
    assert mesh.group_of(6, "data", "context") == (0, 2, 4, 6)
    assert Mesh(2, 2, 2).group_of(6, "context") == (6,)
    assert Mesh(2, 2, 2, order=("tensor", "data", "pipeline")).order == ("tensor", "data", "pipeline")


@pytest.mark.parametrize(
    ("shape", "context", "length", "settings"),
    [
        ((1, 1, 1), 2, 4, {}),
        ((1, 1, 1), 3, 12, {}),
        ((1, 1, 1), 4, 16, {}),
        ((2, 1, 2), 2, 8, {}),
        ((2, 2, 1), 2, 8, {}),
        ((1, 2, 2), 2, 12, {"recompute": True}),
        ((1, 2, 1), 2, 8, {"schedule": interleaved}),
    ],
)
def test_weights_are_those_of_one_process_and_bytes_those_of_the_formula(shape, context, length, settings):
    mesh = Mesh(*shape, context=context)
    report = train(mesh, length, **settings)
    chunks = 2 if "schedule" in settings else 1
    micro = 8 // mesh.data // 2
    sizes = StepSizes(CONFIG, 2, micro, length, recompute="recompute" in settings, chunks=chunks)
    assert {name: 2 * sent for name, sent in step_bytes(sizes, mesh).items()} == dimension_bytes(report.trace, mesh)


@pytest.mark.parametrize(
    "settings", [{"sequence_parallel": True}, {"zero": True, "clip": 0.1}, {"clip": 0.1, "make_optimizer": ADAM}]
)
@pytest.mark.parametrize("config", [CONFIG, replace(CONFIG, tied=False)], ids=["tied", "untied"])
def test_what_saves_memory_and_clipping_train_alike(settings, config):
    train(Mesh(2, 1, 2, context=2), 8, config, **settings)
    train(Mesh(1, 2, 1, context=2), 8, config, **settings)


def test_real_processes_do_the_same():
    report = train(Mesh(1, 1, 2, context=2), where=partial(run, device="cpu"))
    assert report.origin == "measured"


def test_a_checkpoint_of_cut_sequences_is_read_without_them(tmp_path):
    training = MeshTraining(make_optimizer=ADAM, zero=True)

    def life(comm, mesh, load):
        part = part_of(MeshRank(comm, mesh), GPT(CONFIG, 5 if load else 0).double(), training)
        optimizer, saved = optimizer_of(part, training), Checkpoints(str(tmp_path), comm)
        (load_on_mesh if load else save_on_mesh)(saved, 1, part, optimizer, GPT(CONFIG).double())
        return list(numbers_of(part, GPT(CONFIG)).values()), [each.detach().clone() for each in part.parameters()]

    simulate(life, 4, args=(Mesh(1, 1, 2, context=2), False))
    whole = torch.nn.utils.parameters_to_vector(GPT(CONFIG).double().parameters())
    for numbers, values in simulate(life, 2, args=(Mesh(2, 1, 1), True)).results:
        for place, value in zip(numbers, values, strict=True):
            assert torch.equal(whole[place.flatten()], value.flatten())


def test_what_is_refused():
    with pytest.raises(Exception, match="twice the 2 context ranks must divide the sequence, got 6 places"):
        train(Mesh(context=2), length=6)
    with pytest.raises(Exception, match="4 tensor ranks must divide the sequence, got 2 places"):
        train(Mesh(tensor=4, context=2), length=4, sequence_parallel=True)
    with pytest.raises(ValueError, match=r"got \(1, 1, 0, 1\)"):
        Mesh(context=0)
    with pytest.raises(ValueError, match=r"order must name each of .*'context'"):
        Mesh(context=2, order=("data", "pipeline", "tensor"))
