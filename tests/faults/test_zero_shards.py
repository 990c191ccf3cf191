"""A resumed ZeRO training is the one that never stopped: every optimizer, all names of a step, all that has a state."""

from functools import partial

import pytest
import torch
from torch import nn

from course_lib import RankError, simulate
from course_lib.data_parallel.zero import ZERO_STAGES
from course_lib.faults import Checkpoints, load_zero, save_shards, save_zero
from course_lib.precision import Adam8bit

WHOLE = {"Adafactor", "LBFGS", "Muon", "SparseAdam"}
BY_NUMBER = sorted(name for name in dir(torch.optim) if name[0].isupper() and name not in {*WHOLE, "Optimizer"})
SETTINGS = {"SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}, "RMSprop": {"momentum": 0.5, "centered": True}}


def made(name, seed):
    """A model with all that has a state, and how to make the optimizer."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2), nn.Linear(2, 1, bias=False))
    model[2].weight.requires_grad_(False)
    kind = Adam8bit if name == "Adam8bit" else getattr(torch.optim, name)
    return model, partial(kind, lr=0.1, **SETTINGS.get(name, {}))


def take(model, optimizer, steps, part=slice(None)):
    for step in steps:
        x = torch.randn(6, 4, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        model(x[part]).square().mean().backward()
        optimizer.step()


def trains(comm, folder, name, stage, begin, end, label):
    """Go on where `begin` steps were taken, to step `end`; the weights."""
    model, make_optimizer = made(name, seed=0 if begin is None else 1)
    zero = ZERO_STAGES[stage](comm, model, make_optimizer)
    schedule = torch.optim.lr_scheduler.LinearLR(zero.optimizer, total_iters=8)
    checkpoints = Checkpoints(folder, comm)
    if begin is not None:
        load_zero(checkpoints, comm, label, zero)
        schedule.last_epoch = schedule._step_count = begin
    for step in range(begin or 0, end):
        take(model, zero, [step])
        schedule.step()
    save_zero(checkpoints, comm, label, zero)
    with zero.whole():
        return {key: value.tolist() for key, value in model.state_dict().items()}


@pytest.mark.parametrize("name", [*BY_NUMBER, "Adam8bit"])
@pytest.mark.parametrize("stage", [1, 3])
def test_going_on_gives_the_weights_of_training_in_one_go_for_every_optimizer_of_torch(tmp_path, name, stage):
    whole = simulate(trains, 2, (tmp_path / "whole", name, stage, None, 5, 5)).results
    simulate(trains, 2, (tmp_path / "cut", name, stage, None, 2, 7))
    assert simulate(trains, 2, (tmp_path / "cut", name, stage, 2, 5, 7)).results == whole


@pytest.mark.parametrize("updates", [0, 1, 3])
@pytest.mark.parametrize("label", [0, 1, 40])
@pytest.mark.parametrize("name", ["NAdam", "ASGD"])
def test_the_checkpoints_label_is_a_name_and_no_count(tmp_path, name, updates, label):
    whole = simulate(trains, 3, (tmp_path / "whole", name, 2, None, 5, 5)).results
    simulate(trains, 3, (tmp_path / "cut", name, 2, None, updates, label))
    assert simulate(trains, 3, (tmp_path / "cut", name, 2, updates, 5, label)).results == whole


def went_on_alike(comm, folder, name, updates):
    """Whether one that loaded, after other steps of its own, goes on as the one that saved."""
    model, make_optimizer = made(name, 0)
    zero, checkpoints = ZERO_STAGES[1](comm, model, make_optimizer), Checkpoints(folder, comm)
    take(model, zero, range(updates))
    save_zero(checkpoints, comm, 1, zero)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    assert len(zero.optimizer.state) == (len(zero.units) if updates else 0)  # to save changes nothing
    other_model, make_optimizer = made(name, 1)
    other = ZERO_STAGES[3](comm, other_model, make_optimizer)
    take(other_model, other, range(7, 9))
    other_model(torch.ones(2, 4)).sum().backward()  # a step that was never taken
    load_zero(checkpoints, comm, 1, other)
    assert all(unit.shard.grad is None for unit in other.units)
    for each, steps in ((model, zero), (other_model, other)):
        take(each, steps, range(updates, 5))
    with other.whole():
        same = [torch.equal(value, other_model.state_dict()[key]) for key, value in model.state_dict().items()]
    return all(same), any(not torch.equal(before[key], value) for key, value in model.state_dict().items())


@pytest.mark.parametrize("updates", [0, 2])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_what_a_training_was_before_it_loaded_is_forgotten(tmp_path, ranks, updates):
    assert simulate(went_on_alike, ranks, (tmp_path, "NAdam", updates)).results == [(True, True)] * ranks


@pytest.mark.parametrize(("saved_by", "read_by"), [(2, 3), (3, 1), (1, 2)])
def test_other_numbers_of_ranks_go_on_close_to_training_in_one_go(tmp_path, saved_by, read_by):
    def close(comm, begin, end):
        torch.manual_seed(begin)
        model = nn.Linear(4, 3)
        zero = ZERO_STAGES[2](comm, model, partial(torch.optim.NAdam, lr=0.1))
        checkpoints = Checkpoints(tmp_path, comm)
        if begin:
            load_zero(checkpoints, comm, 9, zero)
        take(model, zero, range(begin, end))  # the whole batch on each rank
        save_zero(checkpoints, comm, 9, zero)
        return model.weight.detach()

    whole = simulate(close, 1, (0, 5)).results[0]
    simulate(close, saved_by, (0, 2))
    torch.testing.assert_close(simulate(close, read_by, (2, 5)).results[0], whole)


def test_states_of_another_shape_are_read_by_as_many_ranks_only(tmp_path):
    simulate(trains, 2, (tmp_path, "Adam8bit", 1, None, 2, 0))
    with pytest.raises(RankError, match=r"Adam8bit keeps m of shape .* load it on 2 ranks, as many as saved it"):
        simulate(trains, 3, (tmp_path, "Adam8bit", 1, 2, 5, 0))


def test_rows_that_save_zero_did_not_write_are_refused(tmp_path):
    def loads(comm):
        checkpoints, zero = Checkpoints(tmp_path, comm), ZERO_STAGES[1](comm, nn.Linear(1, 1), torch.optim.SGD)
        save_shards(checkpoints, comm, 1, {"root": torch.zeros(2).tensor_split(comm.world_size)[comm.rank]})
        load_zero(checkpoints, comm, 1, zero)

    with pytest.raises(RankError, match="step 1 has rows alone: save_zero must have written it"):
        simulate(loads, 2)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_an_optimizer_that_needs_whole_tensors_is_refused_with_what_to_do(name):
    def shards(comm):
        ZERO_STAGES[1](comm, nn.Linear(2, 2), getattr(torch.optim, name))

    with pytest.raises(RankError) as refused:
        simulate(shards, 2)
    assert "take one that treats every number by itself, as SGD, AdamW or RMSprop" in refused.value.full_text()


@pytest.mark.parametrize("name", BY_NUMBER)
def test_every_other_optimizer_of_torch_takes_the_steps_of_one_process(name):
    def shards(comm):
        model, make_optimizer = made(name, 0)
        take(model, ZERO_STAGES[2](comm, model, make_optimizer), range(4))
        return [parameter.tolist() for parameter in model.parameters()]

    alone, make_optimizer = made(name, 0)
    take(alone, make_optimizer([p for p in alone.parameters() if p.requires_grad]), range(4))
    for ours, theirs in zip(simulate(shards, 2).results[0], alone.parameters(), strict=True):
        torch.testing.assert_close(torch.tensor(ours), theirs.detach())
