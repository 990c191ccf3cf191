"""Sums in 16 bits in three orders: the same bits as the collectives leave, within the bound, and when they stall."""

import pytest
import torch

from course_lib import simulate
from course_lib.collectives import ring_all_reduce, tree_all_reduce
from course_lib.precision import (
    all_reduce_at_owners,
    all_reduce_in,
    roundings_met,
    sum_at_owner,
    sum_error,
    sum_round_ring,
    sum_up_tree,
    unit_roundoff,
)

HALVES = [torch.float16, torch.bfloat16]
SUMS = {"ring": sum_round_ring, "tree": sum_up_tree, "owner": sum_at_owner}
ALL_REDUCES = {
    "ring": lambda dtype: all_reduce_in(dtype, ring_all_reduce),
    "tree": lambda dtype: all_reduce_in(dtype, tree_all_reduce),
    "owner": all_reduce_at_owners,
}


def addends(ranks: int, elements: int, dtype: torch.dtype, positive: bool = False) -> torch.Tensor:
    numbers = torch.randn(ranks, elements, generator=torch.Generator().manual_seed(ranks))
    return (numbers.abs() if positive else numbers).to(dtype)


def test_a_sum_of_three_by_hand():
    # 2048 + 1 is halfway between 2048 and 2050, and goes to the even one.
    column = torch.tensor([[1.0], [2048.0], [1.0]], dtype=torch.float16)
    assert sum_round_ring(column).item() == 2048  # (2048 + 1) + 1: the chunk's sum begins at rank 1
    assert sum_up_tree(column).item() == 2048  # (1 + 2048) + 1
    assert sum_at_owner(column).item() == 2050
    assert sum_error(sum_round_ring(column), column).item() == 2 / (2**-11 * 2050)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("elements", [0, 1, 7, 24])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("order", SUMS)
def test_the_sums_are_those_of_the_collectives_to_the_last_bit(order, ranks, elements, dtype):
    parts = addends(ranks, elements, dtype)

    def program(comm, all_reduce):
        tensor = parts[comm.rank].float()
        all_reduce(comm, tensor)
        return tensor

    for total in simulate(program, ranks, (ALL_REDUCES[order](dtype),)).results:
        assert torch.equal(total, SUMS[order](parts).float())


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 31, 200, 1000])
@pytest.mark.parametrize("order", SUMS)
def test_no_sum_misses_by_more_than_the_bound(order, ranks, dtype, positive):
    parts = addends(ranks, 300, dtype, positive)
    error = sum_error(SUMS[order](parts), parts).max()
    assert error <= roundings_met(order, ranks) + ranks * 2**-23 / unit_roundoff(dtype) * (order == "owner")
    assert (error > 0) == (ranks > 1)


def test_the_bound_of_two_is_reached():
    halfway = torch.tensor([[1.0], [2.0**-11]], dtype=torch.float16)
    assert sum_error(sum_round_ring(halfway), halfway).item() == 1 / (1 + 2**-11)


@pytest.mark.parametrize(("dtype", "stalled_at"), [(torch.float16, 2048), (torch.bfloat16, 256)])
def test_a_ring_of_ones_stops_growing_where_the_spacing_is_two(dtype, stalled_at):
    ones = torch.ones(2 * stalled_at, 1, dtype=dtype)
    assert sum_round_ring(ones).item() == stalled_at
    assert sum_round_ring(ones[:stalled_at]).item() == stalled_at
    assert sum_up_tree(ones).item() == sum_at_owner(ones).item() == 2 * stalled_at


def test_an_order_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="got 'star'"):
        roundings_met("star", 3)


def test_the_error_of_zeros_is_zero():
    assert sum_error(torch.zeros(2, dtype=torch.float16), torch.zeros(3, 2, dtype=torch.float16)).tolist() == [0, 0]
