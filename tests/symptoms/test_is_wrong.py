"""What is wrong without an error: each fault in small, and the check that shows it."""

import os
import signal

import pytest
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import get_total_norm
from torch.optim import SGD
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from course_lib import MismatchError, RankError, run
from course_lib.collectives import ring_all_reduce
from course_lib.data_parallel import DataParallel, check_agreement


def other_starts(comm, same: bool) -> None:
    torch.manual_seed(0 if same else comm.rank)
    check_agreement(comm, nn.Linear(2, 1))


def test_other_start_weights_are_seen_by_a_hash() -> None:
    with pytest.raises(RankError, match="weight"):
        run(other_starts, 2, args=(False,))
    run(other_starts, 2, args=(True,))


def gradient(comm, way: str) -> list[float]:
    """Of one weight by inputs of 1 and 2: 1.5 if it is averaged."""
    model = nn.Linear(1, 1, bias=False)
    if way == "ours, thrown away":
        DataParallel(comm, model)
        called = model
    else:
        wrapper = DistributedDataParallel(model)
        called = {"wrapper": wrapper, "model": model, "wrapper.module": wrapper.module}[way]
    called(torch.tensor([[1.0 + comm.rank]])).sum().backward()
    return model.weight.grad.flatten().tolist()


def test_ddp_averages_only_what_is_called_through_it() -> None:
    assert run(gradient, 2, args=("wrapper",)).results == [[1.5], [1.5]]
    assert run(gradient, 2, args=("model",)).results == [[1], [2]]
    assert run(gradient, 2, args=("wrapper.module",)).results == [[1], [2]]
    assert run(gradient, 2, args=("ours, thrown away",)).results == [[1.5], [1.5]]


def in_two_orders(comm, length: int, names: tuple[str, str] = ("", "")) -> tuple[float, float]:
    first, second = torch.full((1,), 1.0 + comm.rank), torch.full((length,), 10.0 + comm.rank)
    tensors = list(zip(names, (first, second), strict=True))
    for name, tensor in tensors if comm.rank == 0 else reversed(tensors):
        ring_all_reduce(comm, tensor, name=name)
    return first[0].item(), second[0].item()


ANOTHER_ORDER = "Two ranks call the same collectives in another order, and shapes agree."


def test_another_order_adds_apples_to_oranges_until_lengths_differ_or_names_do(causes) -> None:
    (first, second), (first_1, second_1) = run(in_two_orders, 2, args=(1,)).results
    assert (first, second) == (1 + 11, 10 + 2)
    assert (first_1, second_1) == (10 + 2, 1 + 11)
    with pytest.raises(MismatchError, match="same shape"):
        run(in_two_orders, 2, args=(4,))
    for length in (1, 4):
        with pytest.raises(MismatchError) as refused:
            run(in_two_orders, 2, args=(length, ("apples", "oranges")))
        sides = {refused.value.sent, refused.value.expected}
        assert sides == {f'ring_all_reduce of "{name}"' for name in ("apples", "oranges")}
        assert causes(str(refused.value)) == [ANOTHER_ORDER]


def test_without_set_epoch_every_epoch_has_the_same_order() -> None:
    sampler = DistributedSampler(range(100), num_replicas=2, rank=0)
    first, second = list(sampler), list(sampler)
    assert first == second
    sampler.set_epoch(1)
    assert list(sampler) != first


@pytest.mark.parametrize("other", range(6))
def test_samplers_with_seeds_of_their_own_see_some_twice_in_an_epoch_and_others_never(other: int) -> None:
    first, second = (list(DistributedSampler(range(100), 2, rank, seed=rank * other)) for rank in range(2))
    assert len(first) == len(second) == 50
    assert ({*first, *second} == {*range(100)}) == (other == 0)


def draws(comm, by_rank: bool) -> list[float]:
    torch.manual_seed(7 + by_rank * comm.rank)
    return torch.rand(3).tolist()


def test_one_seed_for_all_gives_all_the_same_masks() -> None:
    one, other = run(draws, 2, args=(False,)).results
    assert one == other
    one, other = run(draws, 2, args=(True,)).results
    assert one != other


class Turned(Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, number: int) -> int:
        return torch.randint(360, ()).item()


def angles(comm, by_rank: bool) -> list[list[int]]:
    torch.manual_seed(7 + by_rank * comm.rank)
    loader = DataLoader(Turned(), batch_size=None, num_workers=2)
    return [list(loader) for _epoch in range(2)]


def test_a_loaders_workers_have_the_seed_of_their_rank() -> None:
    first, second = run(angles, 2, args=(False,)).results
    assert first == second
    assert first[0] != first[1]
    first, second = run(angles, 2, args=(True,)).results
    assert first != second


def accuracy(comm, right: list[int], seen: list[int]) -> tuple[float, float, float]:
    """By a rank's own count over everybody's total, by the mean of means, by the sums of both."""
    mine = torch.tensor([right[comm.rank], seen[comm.rank], right[comm.rank] / max(1, seen[comm.rank])])
    total = mine.clone()
    ring_all_reduce(comm, total)
    return tuple((x / y).item() for x, y in ((mine[0], total[1]), (total[2], comm.world_size), (total[0], total[1])))


@pytest.mark.parametrize(("right", "seen"), [([9, 1], [10, 2]), ([9, 0], [10, 0])])
def test_a_metric_is_a_sum_over_a_sum(right, seen) -> None:
    rows = run(accuracy, 2, args=(right, seen)).results
    for _, of_means, of_sums in rows:
        assert of_sums == pytest.approx(sum(right) / sum(seen)) != of_means
    assert sum(own for own, *_ in rows) == pytest.approx(rows[0][2])  # each rank's own is a part of it


def test_a_mean_of_means_over_unequal_micro_batches_is_another_loss() -> None:
    losses = torch.tensor([1.0, 1.0, 1.0, 9.0])
    parts = losses.split([3, 1])
    assert sum(part.mean() for part in parts) / 2 == 5 != losses.mean()
    assert sum(part.sum() for part in parts) / 4 == losses.mean() == 3
    equal = losses.split([2, 2])
    assert sum(part.mean() for part in equal) / 2 == losses.mean()


def test_an_update_below_half_a_step_of_bf16_moves_nothing() -> None:
    weight, master = torch.ones(1, dtype=torch.bfloat16), torch.ones(1)
    for _ in range(100):
        weight, master = weight + 2**-10, master + 2**-10
    assert weight == 1
    assert master.bfloat16() > 1


def moves(comm, optimizer_first: bool) -> bool:
    model = nn.Linear(2, 1)
    early = SGD(model.parameters(), lr=0.1)
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    optimizer = early if optimizer_first else SGD(model.parameters(), lr=0.1)
    start = model.weight.full_tensor().clone()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return not torch.equal(start, model.weight.full_tensor())


def test_an_optimizer_that_was_made_before_the_wrapper_moves_no_weight() -> None:
    assert run(moves, 2, args=(True,)).results == [False, False]
    assert run(moves, 2, args=(False,)).results == [True, True]


def norms(comm) -> tuple[float, float, float]:
    """Of one process's weights, of this rank's shard, and of the whole as FSDP gives it."""
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    alone = get_total_norm(model.parameters()).item()
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    shard = get_total_norm([each.to_local() for each in model.parameters()]).item()
    return alone, shard, get_total_norm(model.parameters()).full_tensor().item()


def test_the_norm_of_a_shard_is_not_the_norm() -> None:
    rows = run(norms, 2).results
    assert sum(shard**2 for _, shard, _ in rows) == pytest.approx(rows[0][0] ** 2)
    for alone, shard, whole in rows:
        assert whole == pytest.approx(alone)
        assert shard < alone


def losses(comm) -> int:
    """How many losses this stage of a pipeline gets of two micro-batches."""
    stage = PipelineStage(nn.Linear(2, 2), comm.rank, 2, torch.device("cpu"))
    schedule, got = ScheduleGPipe(stage, 2, loss_fn=nn.functional.mse_loss), []
    schedule.step(*([torch.ones(4, 2)] if comm.rank == 0 else []), target=torch.ones(4, 2), losses=got)
    return len(got)


def test_of_a_pipeline_only_the_last_stage_has_a_loss() -> None:
    assert run(losses, 2).results == [0, 2]


def steps_until_zero(moves_a_step: int) -> int:
    """Of a rate that falls to zero within twelve moves."""
    optimizer = SGD([nn.Parameter(torch.ones(1))], lr=1)
    schedule = LambdaLR(optimizer, lambda moves: max(0, 1 - moves / 12))
    for step in range(1, 13):
        optimizer.step()
        for _ in range(moves_a_step):
            schedule.step()
        if schedule.get_last_lr() == [0]:
            return step
    return 0


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_a_schedule_that_each_rank_moves_ends_as_many_times_earlier(ranks) -> None:
    assert steps_until_zero(ranks) == -(-12 // ranks)


def test_a_loader_worker_that_is_killed_is_missed_by_the_loader(causes) -> None:
    with pytest.raises(RuntimeError) as caught:
        list(DataLoader(Deadly(), batch_size=None, num_workers=1))
    assert any(cause.startswith("Workers, or NCCL, use shared memory") for cause in causes(str(caught.value)))


class Deadly(Dataset):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> int:
        os.kill(os.getpid(), signal.SIGBUS)
        return number
