"""What one mesh saved, another goes on from: to the bit on the same mesh, to rounding on any other."""

import shutil
from dataclasses import replace
from functools import cache, partial

import pytest
import torch

from course_lib import RankError, run, simulate
from course_lib.faults import Checkpoints
from course_lib.mesh import (
    Mesh,
    MeshRank,
    MeshTraining,
    backward_on_mesh,
    load_on_mesh,
    numbers_of,
    optimizer_of,
    part_of,
    save_on_mesh,
    update_on_mesh,
)
from course_lib.mesh.experiments import PyTorchStep
from course_lib.pipeline import interleaved
from course_lib.tasks import GPT, GPTConfig

TIED = GPTConfig(vocabulary=24, context=8, layers=4, width=12, heads=4)
UNTIED = replace(TIED, tied=False)
ADAM = MeshTraining(micro_batches=2, make_optimizer=partial(torch.optim.Adam, lr=0.01))
ZERO, CHUNKS = replace(ADAM, zero=True), replace(ADAM, schedule=interleaved)
SGD = MeshTraining()
ALL = 4  # steps


def whole(config=TIED):
    return GPT(config, seed=1).double()


def batches(sequences=8):
    generator = torch.Generator().manual_seed(3)
    return [tuple(torch.randint(24, (sequences, 4), generator=generator) for _ in range(2)) for _ in range(ALL)]


def live(comm, mesh, training, folder, until, config=TIED):
    """Go on from the newest checkpoint, save, and give this rank's numbers of the model and what they are."""
    part = part_of(MeshRank(comm, mesh), whole(config), training)
    optimizer = optimizer_of(part, training)
    checkpoints = Checkpoints(folder, comm)
    began = checkpoints.newest() or 0
    if began:
        load_on_mesh(checkpoints, began, part, optimizer, whole(config))
    for batch in batches()[began:until]:
        optimizer.zero_grad()
        backward_on_mesh(part, batch, training)
        update_on_mesh(part, optimizer, training)
    if until > began:
        save_on_mesh(checkpoints, until, part, optimizer, whole(config))
    return [(numbers, parameter.detach()) for parameter, numbers in numbers_of(part, whole(config)).items()]


def weights(report, config=TIED):
    """All ranks' parts as one row; where several hold a number, they agree."""
    row = torch.full((config.parameters,), torch.nan, dtype=torch.float64)
    for numbers, values in (pair for result in report.results for pair in result):
        assert torch.equal(row[numbers].nan_to_num(0), values * ~row[numbers].isnan())
        row[numbers] = values
    return row


def train(shape, training, folder, until, config=TIED, where=simulate):
    mesh = Mesh(*shape)
    return weights(where(live, mesh.world_size, args=(mesh, training, str(folder), until, config)), config)


@pytest.fixture(scope="module")
def trained_in_one_life(tmp_path_factory):
    """Of a training on 2 x 2 x 2: its weights at the end, those after half of it, and where these are saved."""

    @cache
    def weights_of(training, config):
        folder = tmp_path_factory.mktemp("trainings")
        never = train((2, 2, 2), training, folder / "never", ALL, config)
        return never, train((2, 2, 2), training, folder / "stopped", 2, config), folder / "stopped"

    return weights_of


@pytest.fixture
def stopped(trained_in_one_life, tmp_path):
    """The same, with the saved half in a folder of its own."""

    def of(training, config):
        never, saved, folder = trained_in_one_life(training, config)
        return never, saved, shutil.copytree(folder, tmp_path / "stopped")

    return of


def files(folder):
    return [Checkpoints(folder).load_part(2, rank) for rank in range(len(list(folder.iterdir())))]


def test_the_numbers_of_a_rank_by_hand():
    """Two tensor ranks share the rows of the embedding, the model's first parameter: 24 x 12 numbers."""

    def program(comm):
        return [
            each.flatten()[[0, -1]].tolist()
            for each in numbers_of(part_of(here(comm), whole(), ADAM), whole()).values()
        ]

    def here(comm):
        return MeshRank(comm, Mesh(1, 1, 2))

    results = simulate(program, 2).results
    assert [0, 143] in results[0]
    assert [144, 287] in results[1]


@pytest.mark.parametrize("training", [SGD, ADAM, ZERO, CHUNKS], ids=["SGD", "Adam", "ZeRO-1", "two stages a rank"])
@pytest.mark.parametrize("config", [TIED, UNTIED], ids=["tied", "untied"])
def test_the_same_mesh_goes_on_to_the_bit(stopped, training, config):
    never, _, folder = stopped(training, config)
    assert torch.equal(train((2, 2, 2), training, folder, ALL, config), never)


@pytest.mark.parametrize("shape", [(1, 2, 2), (3, 2, 1), (1, 1, 1), (1, 1, 4)])
@pytest.mark.parametrize("saved_by", [ADAM, ZERO], ids=["saved whole", "saved by ZeRO"])
@pytest.mark.parametrize("read_by", [ADAM, ZERO], ids=["read whole", "read by ZeRO"])
def test_any_mesh_goes_on_up_to_rounding(stopped, shape, saved_by, read_by):
    never, saved, folder = stopped(saved_by, TIED)
    torch.testing.assert_close(train(shape, read_by, folder, 2), saved, rtol=0, atol=0)
    torch.testing.assert_close(train(shape, read_by, folder, ALL), never, rtol=0, atol=1e-12)


@pytest.mark.parametrize("training", [SGD, ADAM, ZERO, CHUNKS])
@pytest.mark.parametrize(("shape", "config"), [((2, 2, 2), TIED), ((3, 2, 1), UNTIED)])
def test_each_number_of_the_model_is_saved_once(tmp_path, training, shape, config):
    train(shape, training, tmp_path, 2, config)
    saved = torch.cat([each["numbers"] for each in files(tmp_path)])
    assert saved.sort().values.tolist() == list(range(config.parameters))
    assert all(len(v) == len(each["numbers"]) for each in files(tmp_path) for v in each["values"].values())
    share = len(files(tmp_path)[-1]["numbers"])
    assert (share > 0) == (training.zero or shape[0] == 1)  # the last rank: one of data's last


def test_another_model_is_refused(tmp_path):
    train((1, 2, 1), ADAM, tmp_path, 2, TIED)
    with pytest.raises(RankError, match=r"step 2 lacks 288 numbers of this rank"):
        simulate(live, 1, args=(Mesh(), ADAM, str(tmp_path), ALL, UNTIED))


def test_an_optimizer_that_keeps_other_things_of_some_tensors_is_refused(tmp_path):
    adafactor = MeshTraining(make_optimizer=torch.optim.Adafactor)
    with pytest.raises(RankError, match="the same of each tensor, got step, row_var, col_var and step, variance"):
        train((1, 1, 1), adafactor, tmp_path, 1)


def test_real_processes_save_what_simulated_ones_read(tmp_path):
    never = train((1, 2, 2), ZERO, tmp_path / "never", ALL)
    train((1, 2, 2), ZERO, tmp_path / "stopped", 2, where=run)
    assert torch.equal(train((1, 2, 2), ZERO, tmp_path / "stopped", ALL), never)


def by_pytorch(comm, mesh, read, write, steps):
    step = PyTorchStep(mesh, comm.rank, whole(UNTIED), 2, ADAM.make_optimizer)
    if read:
        step.load(read)
    losses = [step(batch) for batch in steps]
    if write:
        step.save(write)
    return step.at, losses, [each.to_local() if hasattr(each, "to_local") else each for each in step.stage.parameters()]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2, 2, 1), (1, 2, 2)])
def test_pytorchs_checkpoint_goes_on_on_another_mesh(tmp_path, shape):
    def losses(results, mesh):
        ends = [losses for at, losses, _ in results if at.pipeline == mesh.pipeline - 1 and at.tensor == 0]
        return [sum(step) / mesh.data for step in zip(*ends, strict=True)]

    saver, reader, folder = Mesh(2, 2, 1), Mesh(*shape), str(tmp_path)
    never = run(by_pytorch, 4, args=(saver, "", "", batches()), echo=False).results
    run(by_pytorch, 4, args=(saver, "", folder, batches()[:2]), echo=False)
    after = run(by_pytorch, reader.world_size, args=(reader, folder, "", batches()[2:]), echo=False).results
    assert losses(after, reader) == pytest.approx(losses(never, saver)[2:], abs=1e-12)
    if reader == saver:
        pairs = ((a, b) for x, y in zip(after, never, strict=True) for a, b in zip(x[2], y[2], strict=True))
        assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("updates", [0, 2])
def test_what_is_no_row_and_a_rate_that_was_changed_are_kept_and_the_loaders_own_past_is_not(tmp_path, updates):
    nadam = MeshTraining(make_optimizer=partial(torch.optim.NAdam, lr=0.01))

    def steps(part, optimizer, numbers):
        for number in numbers:
            optimizer.zero_grad()
            backward_on_mesh(part, batches()[number], nadam)
            update_on_mesh(part, optimizer, nadam)

    def both(comm):
        here, checkpoints = MeshRank(comm, Mesh(1, 1, 1)), Checkpoints(tmp_path, comm)
        first, second = (part_of(here, whole(), nadam) for _ in range(2))
        one, two = (optimizer_of(part, nadam) for part in (first, second))
        steps(first, one, range(updates))
        one.param_groups[0]["lr"] = 0.05
        save_on_mesh(checkpoints, 7, first, one, whole())
        steps(second, two, [3])  # a past of its own, which must not count
        load_on_mesh(checkpoints, 7, second, two, whole())
        steps(first, one, [2]), steps(second, two, [2])
        return all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))

    assert simulate(both, 1).results == [True]
