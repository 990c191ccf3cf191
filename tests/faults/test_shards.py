"""What N ranks saved, M ranks read, bit by bit; and so does torch.distributed.checkpoint."""

from functools import partial
from itertools import chain, islice

import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.nn import functional

from course_lib import run, simulate
from course_lib.data_parallel import split_batch
from course_lib.data_parallel.zero import ShardedOptimizer
from course_lib.faults import Checkpoints, load_shards, load_zero, pieces_to_read, save_shards, save_zero
from course_lib.tasks import digit_batches, digits_model, load_digits

LENGTHS = {"weights": 23, "momentum": 23, "few": 2}


def row(name: str) -> torch.Tensor:
    return torch.arange(LENGTHS[name], dtype=torch.float64) + 1000 * len(name)


@pytest.mark.parametrize("length", [0, 1, 7, 24])
@pytest.mark.parametrize("world_size", [1, 3, 8])
@pytest.mark.parametrize("saved_by", [1, 4, 5])
def test_pieces_put_together_are_the_row(length, saved_by, world_size):
    whole = torch.arange(length)
    shards = whole.tensor_split(saved_by)
    for rank in range(world_size):
        pieces = pieces_to_read(length, saved_by, rank, world_size)
        read = [shards[piece.saved_rank][piece.start : piece.stop].tolist() for piece in pieces]
        mine = whole.tensor_split(world_size)[rank].tolist()
        assert list(chain(*read)) == mine
        assert [mine[piece.at] for piece in pieces] == [part[0] for part in read]


def save(comm, folder):
    shards = {name: row(name).tensor_split(comm.world_size)[comm.rank] for name in LENGTHS}
    save_shards(Checkpoints(folder, comm), comm, 5, shards)


def load(comm, folder):
    shards = load_shards(Checkpoints(folder, comm), comm, 5, LENGTHS)
    return {name: shard.tolist() for name, shard in shards.items()}


@pytest.mark.parametrize(("saved_by", "read_by"), [(4, 3), (2, 5), (3, 1), (1, 2)])
def test_any_number_of_ranks_reads_what_any_other_has_saved(tmp_path, saved_by, read_by):
    simulate(save, saved_by, args=(str(tmp_path),))
    found = simulate(load, read_by, args=(str(tmp_path),)).results
    for name in LENGTHS:
        assert list(chain(*(shards[name] for shards in found))) == row(name).tolist()


class CountingCheckpoints(Checkpoints):
    """Checkpoints that note whose parts are read."""

    def load_part(self, step, rank):
        self.read = [*getattr(self, "read", []), rank]
        return super().load_part(step, rank)


def parts_read(comm, folder, lengths):
    checkpoints = CountingCheckpoints(folder, comm)
    load_shards(checkpoints, comm, 5, lengths)
    return checkpoints.read


@pytest.mark.parametrize(("saved_by", "read_by"), [(6, 3), (3, 6), (5, 2), (1, 4), (4, 4)])
def test_a_rank_reads_the_shards_in_which_it_has_elements_each_once(tmp_path, saved_by, read_by):
    simulate(save, saved_by, args=(str(tmp_path),))
    lengths = {name: LENGTHS[name] for name in ("weights", "momentum")}
    for rank, read in enumerate(simulate(parts_read, read_by, args=(str(tmp_path), lengths)).results):
        assert read == [piece.saved_rank for piece in pieces_to_read(23, saved_by, rank, read_by)]
    few = simulate(parts_read, read_by, args=(str(tmp_path), {"few": 2})).results
    assert all(len(read) == 1 for read in few[2:])  # they have nothing of it


def test_a_shard_takes_the_room_of_its_elements_and_not_of_the_row_it_was_cut_from(tmp_path):
    def saves(comm):
        save_shards(Checkpoints(tmp_path, comm), comm, 1, {"row": torch.zeros(400_000).tensor_split(4)[comm.rank]})

    simulate(saves, 4)
    assert all(400_000 < path.stat().st_size < 410_000 for path in tmp_path.iterdir())


def few_of_another_length(comm, folder, length):
    shards = {"few": torch.arange(2).tensor_split(4)[comm.rank]} if comm.world_size == 4 else {}
    checkpoints = Checkpoints(folder, comm)
    if shards:
        save_shards(checkpoints, comm, 6, shards)
    else:
        load_shards(checkpoints, comm, 6, {"few": length})


def test_shards_of_another_length_or_name_are_refused(tmp_path):
    simulate(few_of_another_length, 4, (str(tmp_path), 2))
    simulate(save, 2, args=(str(tmp_path),))
    for wrong in (22, 24):
        with pytest.raises(Exception, match=f"few has {wrong} elements, and the 4 shards of step 6 have 2"):
            simulate(few_of_another_length, 3, (str(tmp_path), wrong))
    with pytest.raises(Exception, match="weights has 24 elements, and the 2 shards of step 5 have 23"):
        simulate(lambda comm: load_shards(Checkpoints(str(tmp_path), comm), comm, 5, LENGTHS | {"weights": 24}), 2)
    with pytest.raises(Exception, match=r"step 5 has no row 'wieghts', only .*weights"):
        simulate(lambda comm: load_shards(Checkpoints(str(tmp_path), comm), comm, 5, {"wieghts": 23}), 2)


def zero_training(comm, digits, folder, begin, end):
    """Train from step to step, on shards that are read and written; the rows in the end, put together."""
    model, checkpoints = digits_model(), Checkpoints(folder, comm)
    zero = ShardedOptimizer(comm, model, partial(torch.optim.Adam, lr=0.01))
    if begin:
        load_zero(checkpoints, comm, begin, zero)
    for inputs, labels in islice(digit_batches(32, digits=digits), begin, end):  # where the data were
        part = split_batch(torch.arange(32), comm.world_size)[comm.rank]
        zero.share = len(part) / 32
        zero.zero_grad()
        functional.cross_entropy(model(inputs[part]), labels[part]).backward()
        zero.step()
    if end > begin:
        save_zero(checkpoints, comm, end, zero)
    states = [zero.optimizer.state[unit.shard] for unit in zero.units]
    return [p.tolist() for p in model.parameters()], [state["exp_avg_sq"].tolist() for state in states]


def test_a_zero_training_is_read_by_fewer_ranks_bit_by_bit_and_goes_on(tmp_path):
    digits = load_digits()
    saved = simulate(zero_training, 4, (digits, str(tmp_path), 0, 6)).results
    read = simulate(zero_training, 3, (digits, str(tmp_path), 6, 6)).results
    assert all(parameters == saved[0][0] for parameters, _ in read)
    for unit in range(2):  # the two layers
        assert list(chain(*(moments[unit] for _, moments in read))) == list(chain(*(m[unit] for _, m in saved)))
    went_on = simulate(zero_training, 3, (digits, str(tmp_path), 6, 12)).results[0][0]
    never_stopped = simulate(zero_training, 1, (digits, str(tmp_path / "alone"), 0, 12)).results[0][0]
    same_ranks = simulate(zero_training, 4, (digits, str(tmp_path), 6, 12)).results[0][0]
    assert same_ranks == simulate(zero_training, 4, (digits, str(tmp_path / "four"), 0, 12)).results[0][0]
    for ours, theirs in zip(went_on, never_stopped, strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_zero_training_without_adam_goes_on_too(tmp_path, momentum):
    def trains(comm, begin, end):
        torch.manual_seed(0)
        model, checkpoints = torch.nn.Linear(5, 1), Checkpoints(tmp_path, comm)
        zero = ShardedOptimizer(comm, model, partial(torch.optim.SGD, lr=0.1, momentum=momentum))
        if begin:
            load_zero(checkpoints, comm, begin, zero)
        for step in range(begin, end):
            zero.zero_grad()
            model(torch.full((1, 5), 1.0 + step)).square().sum().backward()
            zero.step()
        save_zero(checkpoints, comm, end, zero)
        return [parameter.tolist() for parameter in model.parameters()]

    never_stopped = simulate(trains, 2, (0, 4)).results
    simulate(trains, 2, (0, 2))
    assert simulate(trains, 2, (2, 4)).results == never_stopped


def save_with_torch(comm, folder):
    mesh = init_device_mesh("cpu", (comm.world_size,))
    dcp.save({name: distribute_tensor(row(name), mesh, [Shard(0)]) for name in LENGTHS}, checkpoint_id=folder)


def load_with_torch(comm, folder):
    mesh = init_device_mesh("cpu", (comm.world_size,))
    state = {name: distribute_tensor(torch.zeros_like(row(name)), mesh, [Shard(0)]) for name in LENGTHS}
    dcp.load(state, checkpoint_id=folder)
    return {name: tensor.full_tensor().tolist() for name, tensor in state.items()}


def test_torch_distributed_checkpoint_reads_the_same_on_fewer_ranks(tmp_path):
    run(save_with_torch, 3, args=(str(tmp_path / "torch"),))
    run(save, 3, args=(str(tmp_path / "ours"),))
    theirs = run(load_with_torch, 2, args=(str(tmp_path / "torch"),)).results
    ours = run(load, 2, args=(str(tmp_path / "ours"),)).results
    for name in LENGTHS:
        assert theirs[0][name] == row(name).tolist() == ours[0][name] + ours[1][name]
