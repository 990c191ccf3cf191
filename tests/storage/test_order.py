"""What comes when, and where: the shuffle buffer and its laws, epochs across ranks."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.storage import (
    EpochCount,
    KeepFirst,
    LeastRecentlyUsed,
    ShardPart,
    buffer_displacement,
    buffered_shuffle,
    count_epoch,
    epoch_order,
    mean_displacement,
    rank_steps,
    same_shard_share,
    split_samples,
    split_shards,
    step_batches,
)
from course_lib.storage.experiments import train_in_order
from course_lib.tasks import load_digits


def test_a_buffer_of_two_by_hand() -> None:
    class AlwaysTheSecond(random.Random):
        def randrange(self, *_: int) -> int:  # type: ignore[override]
            return 1

        def shuffle(self, x) -> None:  # type: ignore[no-untyped-def,override]
            pass

    # 0 and 1 wait; 1 leaves and 2 comes; 2 leaves and 3 comes; 3 is left, behind 0.
    assert list(buffered_shuffle(range(4), 2, AlwaysTheSecond())) == [1, 2, 0, 3]


@pytest.mark.parametrize("buffer", [1, 2, 7, 20, 21, 100])
@pytest.mark.parametrize("length", [0, 1, 20])
def test_a_buffer_gives_every_sample_once(length: int, buffer: int) -> None:
    order = list(buffered_shuffle(range(length), buffer, random.Random(0)))
    assert sorted(order) == list(range(length))
    assert all(sample < place + buffer for place, sample in enumerate(order))
    assert buffer > 1 or order == list(range(length))


@pytest.mark.parametrize("buffer", [2, 10, 50, 200])
def test_a_buffer_moves_samples_as_the_law_says(buffer: int) -> None:
    moved = mean_displacement(list(buffered_shuffle(range(40_000), buffer, random.Random(1))))
    assert moved == pytest.approx(buffer_displacement(buffer), rel=0.03)


def test_a_perfect_shuffle_moves_a_third_and_mixes_all_shards() -> None:
    order = epoch_order(6000, 60, shuffle_shards=False, buffer=6000, seed=3)
    assert mean_displacement(order) == pytest.approx((6000**2 - 1) / (3 * 6000), rel=0.03)
    assert same_shard_share(order, 60, 30) == pytest.approx(59 / 5999, rel=0.05)


def test_shards_in_random_order_move_far_and_mix_nothing() -> None:
    order = epoch_order(6000, 60, shuffle_shards=True, buffer=1, seed=3)
    assert mean_displacement(order) > 1600
    assert same_shard_share(order, 60, 30) == 1.0


def test_shares_of_shards_by_hand() -> None:
    # Shards {0, 1}, {2, 3}. Batches [0, 1] and [2, 3]: both pairs; [0, 2] and [1, 3]: none; all four: 2 of 6 pairs.
    assert same_shard_share([0, 1, 2, 3], 2, 2) == 1
    assert same_shard_share([0, 2, 1, 3], 2, 2) == 0
    assert same_shard_share([0, 2, 1, 3], 2, 4) == 1 / 3


def test_orders_are_the_same_for_the_same_seed_only() -> None:
    orders = [epoch_order(50, 5, shuffle_shards=True, buffer=9, seed=seed) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


LENGTHS = [[], [1], [5, 5, 5], [3, 0, 8, 1, 2], [1] * 11, [100, 1]]


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
@pytest.mark.parametrize("split", [split_shards, split_samples])
def test_every_sample_is_on_one_rank(split, lengths: list[int], world_size: int) -> None:  # type: ignore[no-untyped-def]
    for epoch in range(3):
        ranks = split(lengths, world_size, epoch)
        given = [(p.shard, s) for parts in ranks for p in parts for s in range(p.first, p.stop)]
        assert sorted(given) == [(shard, s) for shard, length in enumerate(lengths) for s in range(length)]


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
def test_samples_are_shared_out_evenly(lengths: list[int], world_size: int) -> None:
    counts = [sum(p.stop - p.first for p in parts) for parts in split_samples(lengths, world_size)]
    assert max(counts) - min(counts) <= 1
    assert sum(len(parts) for parts in split_samples(lengths, world_size)) <= len(lengths) + world_size - 1


def test_whole_shards_can_leave_a_rank_without_a_step() -> None:
    assert sorted(rank_steps(split_shards([10, 10, 10], 2), batch=4)) == [3, 5]
    assert rank_steps(split_samples([10, 10, 10], 2), batch=4) == [4, 4]
    assert rank_steps([[ShardPart(0, 0, 9)], []], batch=4) == [3, 0]


@given(
    lengths=st.lists(st.integers(0, 300), max_size=8),
    world_size=st.integers(1, 9),
    batch=st.integers(1, 64),
    split=st.sampled_from([split_samples, split_shards]),
)
def test_every_rank_takes_all_its_samples_in_as_many_steps_as_the_others(lengths, world_size, batch, split) -> None:  # type: ignore[no-untyped-def]
    ranks = split(lengths, world_size)
    taken = step_batches(ranks, batch)
    assert [sum(each) for each in taken] == [sum(part.stop - part.first for part in parts) for parts in ranks]
    assert {len(each) for each in taken} == {max(rank_steps(ranks, batch))}
    assert all(0 <= size <= batch for each in taken for size in each)
    assert all(max(each, default=0) - min(each, default=0) <= 1 for each in taken)


def test_one_sample_can_be_a_step_and_then_all_ranks_take_it() -> None:
    ranks = split_samples([100] * 8 + [97], 4)
    assert rank_steps(ranks, 32) == [7, 7, 7, 8]
    assert step_batches(ranks, 32) == [[28] * 8] * 3 + [[29] + [28] * 7]


def test_epochs_differ_and_ranks_agree() -> None:
    assert split_shards([1] * 20, 2, epoch=0) == split_shards([1] * 20, 2, epoch=0) != split_shards([1] * 20, 2, 1)


def test_what_is_missing_doubled_or_unknown_is_named() -> None:
    assert count_epoch("abcd", "abbx") == EpochCount(missing=["c", "d"], doubled=["b"], unknown=["x"])
    assert count_epoch("ab", "ba").exactly_once
    assert not count_epoch("ab", "b").exactly_once


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="buffer must be at least 1, got 0"):
        list(buffered_shuffle([1], 0, random.Random(0)))
    with pytest.raises(ValueError, match="world_size must be at least 1, got 0"):
        split_samples([1], 0)
    with pytest.raises(ValueError, match="world_size must be at least 1, got 0"):
        split_shards([1], 0)
    with pytest.raises(ValueError, match="batch must be at least 1, got 0"):
        rank_steps([[]], 0)
    for split in (split_samples, split_shards):
        with pytest.raises(ValueError, match="length 1 must be at least 0, got -1"):
            split([2, -1], 2)
    for cache in (LeastRecentlyUsed, KeepFirst):
        with pytest.raises(ValueError, match="places must be at least 0, got -1"):
            cache(-1)


def test_sorted_digits_train_well_only_if_they_are_shuffled_far_and_in_batches() -> None:
    digits = load_digits()
    lying, moved, mixed = (
        train_in_order(digits, shuffle_shards=shards, buffer=buffer, epochs=4)
        for shards, buffer in [(False, 1), (True, 1), (True, 1437)]
    )
    shuffled_first = train_in_order(digits, shuffle_shards=True, buffer=1, by_class=False, epochs=4)
    assert lying < 0.4 < moved < mixed - 0.03
    assert abs(shuffled_first - mixed) < 0.03
