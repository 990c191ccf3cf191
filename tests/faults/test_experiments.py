"""What chapter 12 measures beside its lesson: slow links, flipped bits and who sees them."""

import math

import pytest
import torch

from course_lib import Network, run, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.faults.experiments import (
    CHECKS,
    PLACES,
    bit_effects,
    corrupted_step,
    flip_bit,
    link_seconds,
    outvoted,
    ring_avoiding,
)
from course_lib.faults.experiments.bit_flips import row_hash
from course_lib.tasks import load_digits

DIGITS = load_digits()
HASHES, CHECKSUMS, COPIES = CHECKS


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_each_link_takes_its_own_time(world_size: int) -> None:
    slow = {(0, 1): 10.0, (world_size - 1, 0): 3.0} if world_size > 1 else {}
    network = Network(latency_s=1e-3, bytes_per_s=1e8, slow_links=slow)
    expected = torch.tensor(
        [[0.0 if s == d else network.seconds(s, d, 100_000) for d in range(world_size)] for s in range(world_size)]
    )
    for table in simulate(link_seconds, world_size, network=network).results:
        torch.testing.assert_close(table, expected, rtol=1e-6, atol=0)


def test_a_ring_around_a_slow_link_is_as_fast_as_one_without() -> None:
    def seconds(network: Network, order: list[int]) -> float:
        row = torch.arange(24.0)
        return simulate(lambda comm: ring_all_reduce(comm.group(order), row), 4, network=network).seconds

    slow = Network(latency_s=1e-3, bytes_per_s=1e5, slow_links={(0, 1): 10.0})
    well = Network(latency_s=1e-3, bytes_per_s=1e5)
    assert seconds(slow, [0, 1, 2, 3]) == pytest.approx(10 * seconds(well, [0, 1, 2, 3]), rel=0.2)
    assert seconds(slow, ring_avoiding(4, {(0, 1)})) == seconds(well, [0, 1, 2, 3])


def test_two_slow_links_are_avoided_where_that_is_possible() -> None:
    slow = {(0, 1), (2, 3)}
    order = ring_avoiding(5, slow)
    assert not slow & set(zip(order, [*order[1:], order[0]], strict=True))
    assert ring_avoiding(3, {(0, 1), (1, 0)}) is None


@pytest.mark.parametrize(
    ("bit", "before", "after"), [(31, 3.0, -3.0), (23, 1.0, 0.5), (0, 1.0, 1 + 2**-23), (30, 0.5, 2.0**127)]
)
def test_a_flipped_bit_is_that_bit(bit: int, before: float, after: float) -> None:
    row = torch.tensor([7.0, before])
    flip_bit(row, 1, bit)
    assert row.tolist() == [7.0, after]
    flip_bit(row, 1, bit)
    assert row.tolist() == [7.0, before]


def test_bits_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="got bit 32"):
        flip_bit(torch.ones(1), 0, 32)
    with pytest.raises(ValueError, match="float64"):
        flip_bit(torch.ones(1, dtype=torch.float64), 0, 1)


@pytest.mark.parametrize("where", ["gradient", "weight"])
def test_only_the_highest_bit_of_the_exponent_breaks_a_training(where: str) -> None:
    effects = bit_effects(DIGITS, where, steps=40, at_step=20, seed=3)
    changes = [after / effects.clean_after - 1 for after in effects.after]
    assert changes[30] > 1e9
    assert max(map(abs, changes[:30])) < 0.05
    assert max(map(abs, changes[:10])) < 1e-5


def test_clipping_takes_a_single_flip_its_force_and_not_a_constant_one() -> None:
    once = bit_effects(DIGITS, clip_norm=1.0, steps=60, at_step=20, seed=3)
    always = bit_effects(DIGITS, clip_norm=1.0, always=True, steps=60, at_step=20, seed=3)
    assert once.clean_end == always.clean_end
    assert once.end[30] < 1.2 * once.clean_end
    assert always.end[30] > 1.5 * always.clean_end


def test_unknown_places_of_a_flip_are_refused() -> None:
    with pytest.raises(ValueError, match="where must be one of gradient, weight, got 'loss'"):
        bit_effects(DIGITS, "loss")


@pytest.mark.parametrize(
    ("votes", "guilty"), [("a", []), ("aab", [2]), ("ab", None), ("aabb", None), ("bacaa", [0, 2])]
)
def test_a_majority_is_more_than_half(votes: str, guilty: list | None) -> None:
    assert outvoted(votes) == guilty


def test_one_bit_makes_another_hash_even_where_numbers_are_equal() -> None:
    assert row_hash(torch.tensor([0.0])) != row_hash(torch.tensor([-0.0]))


# What each check says in each place: (is something wrong, whose fault).
SEEN = {
    "": {HASHES: (False, None), CHECKSUMS: (False, None), COPIES: (False, None)},
    "as it is computed": {HASHES: (False, None), CHECKSUMS: (False, None), COPIES: (True, None)},
    "in the buffer": {HASHES: (False, None), CHECKSUMS: (True, 1), COPIES: (True, None)},
    "in the sum": {HASHES: (False, None), CHECKSUMS: (True, None), COPIES: (False, None)},
    "in the weights": {HASHES: (True, 1), CHECKSUMS: (False, None), COPIES: (False, None)},
}


@pytest.mark.parametrize("world_size", [2, 3, 5])
@pytest.mark.parametrize("place", SEEN)
def test_each_check_sees_what_happens_after_it_has_looked(place: str, world_size: int) -> None:
    expected = dict(SEEN[place])
    if place == "in the weights" and world_size == 2:
        expected[HASHES] = (True, None)  # no majority
    for verdicts in simulate(corrupted_step, world_size, (DIGITS, place)).results:
        assert verdicts == expected


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_with_three_copies_the_rank_that_computed_wrongly_has_a_name(rank: int) -> None:
    given = {"rank": rank, "copies": 3}
    assert simulate(corrupted_step, 4, (DIGITS, PLACES[0]), given).results[0][COPIES] == (True, rank)


@pytest.mark.parametrize("bit", range(32))
def test_checksums_see_every_bit_that_is_larger_than_rounding(bit: int) -> None:
    seen = [
        simulate(corrupted_step, 3, (DIGITS, place), {"bit": bit}).results[0][CHECKSUMS].wrong
        for place in ("in the buffer", "in the sum")
    ]
    assert seen == [bit >= 12, bit >= 12] or 5 <= bit < 12  # depends on the numbers in between


def test_checks_say_the_same_on_real_processes() -> None:
    reports = [launch(corrupted_step, 3, args=(DIGITS, PLACES[3])) for launch in (simulate, run)]
    assert reports[0].results == reports[1].results


def test_an_infinite_loss_is_a_loss() -> None:
    effects = bit_effects(DIGITS, "weight", steps=2, at_step=0)
    assert not any(math.isnan(loss) for loss in effects.after + effects.end)
