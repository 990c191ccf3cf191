"""Plans that need no search, and Revolve: what they cost and what they hold, counted and by formula."""

from functools import cache
from itertools import accumulate, combinations, pairwise
from math import ceil, log2

import pytest
from sample_chains import unit_chain

from course_lib.checkpointing import (
    best_segments,
    check_plan,
    halving,
    keep_nothing,
    moved_segments,
    plan_cost,
    plan_moved,
    plan_peak,
    play_plan,
    revolve,
    revolve_closed_form,
    segment_plan,
    store_segment,
    torch_segments,
)

LENGTHS = [1, 2, 3, 7, 16, 100]


@cache
def fewest_recomputed(length, slots):
    """Revolve's recurrence: keep a value j layers on, go back behind it with one slot less, then before it."""
    if slots == 1:
        return length * (length - 1) // 2
    ways = (j + fewest_recomputed(length - j, slots - 1) + fewest_recomputed(j, slots) for j in range(1, length))
    return min(ways, default=0)


def test_two_segments_of_four_layers_read_as_drawn_by_hand():
    written = ", ".join(map(str, segment_plan([0, 2, 4])))
    assert written == (
        "run 1, run 2, free 1, store 3, free 2, store 4, free 3, free 4, back 4, back 3, "
        "store 1, free 0, store 2, free 1, free 2, back 2, back 1"
    )


@pytest.mark.parametrize("n", LENGTHS)
def test_keeping_everything_takes_n_runs_and_all_values(n):
    plan, chain = store_segment(0, n), unit_chain(n)
    check_plan(plan, chain, n + 1)
    assert (plan_cost(plan, chain), plan_peak(plan, chain)) == (n, n + 1)


@pytest.mark.parametrize("n", LENGTHS)
def test_keeping_nothing_takes_a_constant_and_n_squared_runs(n):
    plan, chain = keep_nothing(0, n), unit_chain(n)
    check_plan(plan, chain, 3)
    assert plan_cost(plan, chain) == n * (n + 1) / 2


@pytest.mark.parametrize("n", LENGTHS)
def test_segments_hold_the_longest_and_their_number(n):
    chain = unit_chain(n)
    for k in range(1, n + 1):
        bounds = [n * number // k for number in range(k + 1)]
        plan = segment_plan(bounds)
        last = n - bounds[-2]
        assert plan_cost(plan, chain) == 2 * n - last
        assert plan_peak(plan, chain) <= ceil(n / k) + k


@pytest.mark.parametrize("n", LENGTHS)
def test_with_inputs_on_the_host_a_segment_lives_and_nothing_more_is_run(n):
    for k in range(1, n + 1):
        bounds, chain = [n * number // k for number in range(k + 1)], unit_chain(n)
        plan = moved_segments(bounds)
        check_plan(plan, chain)
        assert plan_cost(plan, chain) == plan_cost(segment_plan(bounds), chain)
        assert plan_moved(plan, chain) == 2 * (k - 1)
        if k == 1 or n // k > 1:
            assert plan_peak(plan, chain) == ceil(n / k) + 1


def test_a_hundred_layers_in_ten_segments_hold_twenty():
    assert min(ceil(100 / k) + k for k in range(1, 101)) == 20
    assert plan_peak(segment_plan(best_segments(100)), unit_chain(100)) == 20


def test_the_best_segments_hold_least_and_then_recompute_least_of_all_equal_ones():
    for n in range(1, 401):
        bounds = best_segments(n)
        k, lengths = len(bounds) - 1, [b - a for a, b in pairwise(bounds)]
        assert (k + n // k, 2 * n - n // k) == min((k + n // k, 2 * n - n // k) for k in range(1, n + 1)), n
        assert lengths == sorted(lengths, reverse=True)
        assert max(lengths) - min(lengths) <= 1
        if n <= 40 or n in (100, 399, 400):
            plan, chain = segment_plan(bounds), unit_chain(n)
            assert (plan_peak(plan, chain), plan_cost(plan, chain)) == (k + n // k, 2 * n - n // k)


@pytest.mark.parametrize("n", range(1, 15))
def test_no_other_order_of_equal_segments_holds_less(n):
    chain = unit_chain(n)
    tried = []
    for k in range(1, n + 1):
        for longer in combinations(range(k), n % k):
            lengths = [n // k + (number in longer) for number in range(k)]
            plan = segment_plan([0, *accumulate(lengths)])
            tried.append((plan_peak(plan, chain), plan_cost(plan, chain)))
    best = segment_plan(best_segments(n))
    assert (plan_peak(best, chain), plan_cost(best, chain)) == min(tried)


@pytest.mark.parametrize("n", LENGTHS)
def test_halving_takes_a_logarithm_of_memory_and_n_log_n_runs(n):
    plan, chain = halving(0, n), unit_chain(n)
    check_plan(plan, chain, ceil(log2(n)) + 2)
    assert plan_cost(plan, chain) <= n * (ceil(log2(n)) / 2 + 1) + n


@pytest.mark.parametrize("slots", range(1, 11))
def test_revolves_recurrence_has_the_closed_form(slots):
    for length in range(1, 201):
        assert fewest_recomputed(length, slots) == revolve_closed_form(length, slots), length


def test_revolves_published_numbers():
    assert (revolve_closed_form(10, 3), revolve_closed_form(100, 5)) == (15, 316)


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("length", [1, 2, 3, 10, 50, 200])
def test_revolves_plan_takes_as_many_runs_and_slots_as_promised(length, slots):
    plan, chain = revolve(length, slots), unit_chain(length)
    moments = list(play_plan(plan, chain))
    assert plan_cost(plan, chain) == length + revolve_closed_form(length, slots)
    assert max(moment.now_bytes for moment in moments) <= slots + 2
    assert all(len(moment.stored) <= 1 for moment in moments)


def test_torchs_segments_leave_the_rest_to_the_last():
    assert torch_segments(11, 3) == [0, 3, 6, 11]
    assert torch_segments(4, 4) == [0, 1, 2, 3, 4]
    assert torch_segments(10, 1) == [0, 10]
    with pytest.raises(ValueError, match="there must be 1 to 10 segments, got 11"):
        torch_segments(10, 11)
    with pytest.raises(ValueError, match="there must be a layer, got 0"):
        best_segments(0)
    assert halving(3, 3) == store_segment(3, 3)
    with pytest.raises(ValueError, match="there must be a layer and a slot, got 0 and 3"):
        revolve(0, 3)
