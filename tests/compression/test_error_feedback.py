"""Error feedback loses nothing: what was sent and what is left are the sum of all gradients."""

import pytest
import torch

from course_lib import simulate
from course_lib.collectives import ring_all_reduce_cost
from course_lib.compression import (
    CompressedAllReduce,
    OneBit,
    TopK,
)

REMEDIES = {
    "top-k": lambda: CompressedAllReduce(TopK(0.2)),
    "one bit": lambda: CompressedAllReduce(OneBit()),
}


def steps_of(comm, make, length: int, steps: int = 6) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sum of what arrived, sum of this rank's gradients, and its residual: whole numbers in the same memory."""
    all_reduce, generator = make(), torch.Generator().manual_seed(comm.rank)
    row, arrived, given = torch.zeros(length), torch.zeros(length), torch.zeros(length)
    for _ in range(steps):
        row.copy_(torch.randint(-50, 50, (length,), generator=generator))
        given += row
        all_reduce(comm, row)
        arrived += row
    return arrived, given, all_reduce.residuals[-1]


@pytest.mark.parametrize("name", REMEDIES)
@pytest.mark.parametrize("length", [1, 7, 40])
@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_sent_and_residual_are_the_sum_of_all_gradients(world_size: int, length: int, name: str) -> None:
    results = simulate(steps_of, world_size, (REMEDIES[name], length)).results
    arrived = [result[0] for result in results]
    assert all(torch.equal(each, arrived[0]) for each in arrived)
    given, left = (sum(result[i] for result in results) for i in (1, 2))
    if name == "one bit":  # its means are no whole numbers
        assert torch.allclose(arrived[0] + left, given, atol=1e-3)
    else:
        assert torch.equal(arrived[0] + left, given)


def test_top_k_by_hand_on_two_ranks() -> None:
    def program(comm):
        all_reduce = CompressedAllReduce(TopK(0.34))  # 2 of 4
        row = torch.tensor([[5.0, 1.0, 2.0, -3.0], [0.0, -2.0, 7.0, 6.0]][comm.rank])
        all_reduce(comm, row)
        first = row.clone()
        row.zero_()
        all_reduce(comm, row)  # nothing new: the residuals travel
        return first.tolist(), row.tolist()

    for first, second in simulate(program, 2).results:
        assert first == [5.0, 0.0, 7.0, 3.0]
        assert second == [0.0, -1.0, 2.0, 0.0]


def test_without_feedback_what_is_left_out_is_lost() -> None:
    def program(comm):
        all_reduce = CompressedAllReduce(TopK(0.34), error_feedback=False)
        row = torch.tensor([5.0, 1.0, 2.0, -3.0])
        all_reduce(comm, row)
        return all_reduce.residuals

    assert simulate(program, 1).results == [{}]


@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("make", "message_bytes"),
    [
        (lambda: TopK(0.01), 10 * 8),
        (OneBit, 125 + 8),
    ],
)
def test_messages_travel_to_every_other_rank(world_size: int, make, message_bytes: int) -> None:
    trace = simulate(lambda comm: CompressedAllReduce(make())(comm, torch.zeros(1000)), world_size).trace
    assert trace.bytes_sent == [(world_size - 1) * message_bytes] * world_size


def test_sparse_messages_overtake_a_dense_ring_where_there_are_many_ranks() -> None:
    # 1 % of the numbers, 8 bytes each, to p - 1 ranks, against 2(p - 1)/p of all of them, 4 bytes each: p = 100.
    for world_size, fewer in ((50, True), (99, True), (101, False)):
        sparse = (world_size - 1) * 8 * TopK(0.01).kept(10_000)
        dense = max(ring_all_reduce_cost(40_000, world_size=world_size).bytes_sent)
        assert (sparse < dense) is fewer
