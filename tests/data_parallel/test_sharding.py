"""The parts of all ranks are the epoch: every example once, in whatever shares."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data.distributed import DistributedSampler

from course_lib.data_parallel import epoch_order, epoch_shards, global_batches, part_lengths, split_batch

SHARES = st.lists(st.one_of(st.integers(0, 9), st.floats(0, 9)), min_size=1, max_size=6).filter(sum)


def epoch_of(rank: int, world_size: int, length: int = 10, batch_size: int = 4, **options) -> list[list[int]]:
    """A rank's examples, batch by batch."""
    shards = epoch_shards(length, batch_size, rank=rank, world_size=world_size, **{"epoch": 0, **options})
    return [shard.examples.tolist() for shard in shards]


def test_an_epoch_of_ten_is_dealt_as_drawn() -> None:
    order = torch.tensor([7, 2, 5, 0, 9, 1, 4, 8, 3, 6])
    rows = zip(*[split_batch(batch, 3, shares=[2, 1, 1]) for batch in global_batches(order, 4)], strict=True)
    assert [[part.tolist() for part in row] for row in rows] == [
        [[7, 2], [9, 1], [3]],
        [[5], [4], [6]],
        [[0], [8], []],
    ]


@given(st.integers(0, 60), st.integers(1, 20), SHARES, st.integers(0, 99), st.integers(0, 9))
def test_the_parts_of_all_ranks_hold_every_example_once(length, batch_size, shares, seed, epoch) -> None:
    options = {"world_size": len(shares), "shares": shares, "seed": seed, "epoch": epoch}
    dealt = [list(epoch_shards(length, batch_size, rank=rank, **options)) for rank in range(len(shares))]
    steps = list(zip(*dealt, strict=True))  # every rank makes equally many steps
    assert len(steps) == math.ceil(length / batch_size)
    assert Counter(i for step in steps for shard in step for i in shard.examples.tolist()) == Counter(range(length))
    for step in steps:
        assert math.isclose(sum(shard.share for shard in step), 1.0)
        size = sum(len(shard.examples) for shard in step)
        assert [shard.share for shard in step] == [len(shard.examples) / size for shard in step]


@given(st.integers(0, 50), SHARES)
def test_lengths_are_the_quotas_rounded_up_or_down(length: int, shares: list) -> None:
    lengths = part_lengths(length, shares)
    assert sum(lengths) == length
    for got, share in zip(lengths, shares, strict=True):
        assert abs(got - length * share / sum(shares)) < 1 + 1e-9
        assert share or not got


@given(st.integers(0, 50), st.integers(1, 9))
def test_equal_shares_are_the_pieces_that_torch_cuts(length: int, world_size: int) -> None:
    batch = torch.arange(length)
    pairs = zip(split_batch(batch, world_size), batch.tensor_split(world_size), strict=True)
    assert all(torch.equal(ours, theirs) for ours, theirs in pairs)


def test_every_epoch_and_every_seed_has_its_own_order() -> None:
    orders = [epoch_order(50, epoch=epoch, seed=seed).tolist() for seed in (0, 10) for epoch in range(5)]
    assert len({tuple(order) for order in orders}) == 10
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert orders[0] == epoch_order(50, epoch=0).tolist()


def test_the_order_owes_nothing_to_the_random_numbers_of_the_program() -> None:
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first = epoch_order(20, epoch=3)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(epoch_order(20, epoch=3), first)


def test_the_last_smaller_batch_is_kept_or_dropped_as_said() -> None:
    assert [len(part) for part in epoch_of(0, 2)] == [2, 2, 1]
    assert [len(part) for part in epoch_of(0, 2, drop_last=True)] == [2, 2]
    assert epoch_of(0, 1, length=3, drop_last=True) == []
    assert epoch_of(0, 1, length=0) == []


def test_fewer_examples_than_ranks_leave_ranks_without() -> None:
    assert [[len(part) for part in epoch_of(rank, 4, length=2)] for rank in range(4)] == [[1], [1], [0], [0]]


@pytest.mark.parametrize("length", [12, 24])
def test_where_the_ranks_divide_all_torchs_sampler_makes_the_same_batches(length: int) -> None:
    world_size, each, epoch = 3, 2, 5
    samplers = [DistributedSampler(range(length), world_size, rank, seed=7) for rank in range(world_size)]
    for sampler in samplers:
        sampler.set_epoch(epoch)
    theirs = [list(sampler) for sampler in samplers]
    ours = [epoch_of(rank, world_size, length, world_size * each, epoch=epoch, seed=7) for rank in range(world_size)]
    for step in range(length // (world_size * each)):
        batch = sorted(i for row in theirs for i in row[step * each : (step + 1) * each])
        assert sorted(i for row in ours for i in row[step]) == batch


def test_where_they_do_not_torchs_sampler_counts_examples_twice() -> None:
    theirs = [i for rank in range(4) for i in DistributedSampler(range(10), 4, rank)]
    ours = [i for rank in range(4) for part in epoch_of(rank, 4) for i in part]
    assert sorted(ours) == list(range(10))
    assert len(theirs) == 12
    assert sorted(Counter(theirs).values()) == [1] * 8 + [2] * 2


def test_impossible_shares_and_batches_are_refused() -> None:
    with pytest.raises(ValueError, match="one share for each of the 3 ranks, got 2"):
        split_batch(torch.arange(4), 3, shares=[1, 1])
    for rank in (-1, 2):
        with pytest.raises(ValueError, match=f"rank must be from 0 to 1, got {rank}"):
            epoch_of(rank, 2)
    for shares in ([0, 0], [1, -1], [], [float("nan"), 1], [float("inf"), 1]):
        with pytest.raises(ValueError, match="shares must be 0 or more"):
            part_lengths(4, shares)
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        global_batches(torch.arange(4), 0)
