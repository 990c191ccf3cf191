"""Sums that are compressed again: nothing is lost, and no rank sends more because there are more of them."""

import pytest
import torch

from course_lib import run, simulate
from course_lib.compression import CompressedAllReduce, CompressedSums, OneBit, TopK

COMPRESSORS = {"one bit": OneBit, "top-k": lambda: TopK(0.2)}


def steps_of(comm, name: str, length: int, steps: int = 6) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What arrived in all, what this rank gave in all, and what it has not sent yet, of its rows and of its sums."""
    all_reduce, generator = CompressedSums(COMPRESSORS[name]()), torch.Generator().manual_seed(comm.rank)
    row, arrived, given = torch.zeros(length), torch.zeros(length), torch.zeros(length)
    for _ in range(steps):
        row.copy_(torch.randint(-50, 50, (length,), generator=generator))
        given += row
        all_reduce(comm, row)
        arrived += row
    waiting = all_reduce.residuals[-1].clone()
    waiting.tensor_split(comm.world_size)[comm.rank].add_(all_reduce.sum_residuals[-1])
    return arrived, given, waiting


def test_two_ranks_by_hand() -> None:
    # Of part 0, one number is negative, so each is its own mean: [4, -3] and [2, -1] are [6, -4]. Part 1 has one sign:
    # [1, 3] and [5, 3] travel as [2, 2] and [4, 4], their sum as [6, 6]; rank 0 keeps [-1, 1], rank 1 [1, -1].
    def program(comm):
        all_reduce = CompressedSums(OneBit())
        row = torch.tensor([[4.0, -3.0, 1.0, 3.0], [2.0, -1.0, 5.0, 3.0]][comm.rank])
        all_reduce(comm, row)
        return row.tolist(), all_reduce.residuals[-1].tolist()

    assert simulate(program, 2).results == [([6, -4, 6, 6], [0, 0, -1, 1]), ([6, -4, 6, 6], [0, 0, 1, -1])]


@pytest.mark.parametrize("name", COMPRESSORS)
@pytest.mark.parametrize("length", [1, 7, 40])
@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_what_arrived_and_what_waits_are_the_sum_of_all_rows(world_size: int, length: int, name: str) -> None:
    results = simulate(steps_of, world_size, (name, length)).results
    arrived = [result[0] for result in results]
    assert all(torch.equal(each, arrived[0]) for each in arrived)
    given, waiting = (sum(result[place] for result in results) for place in (1, 2))
    assert torch.allclose(arrived[0] + waiting, given, atol=1e-3)


def sent(comm, length: int, kind: type) -> None:
    kind(OneBit())(comm, torch.randn(length))


@pytest.mark.parametrize("world_size", [1, 2, 4, 8, 16])
def test_a_rank_sends_two_bits_of_each_number_however_many_ranks_there_are(world_size: int) -> None:
    length = 128 * 16
    of_parts, gathered = (simulate(sent, world_size, (length, kind)) for kind in (CompressedSums, CompressedAllReduce))
    others = world_size - 1
    # Twice a message to each other rank: two means of 4 bytes, and an eighth of a byte for each number of a part.
    assert of_parts.trace.bytes_sent[0] == 2 * others * (8 + length // 8 // world_size)
    assert gathered.trace.bytes_sent[0] == others * (8 + length // 8)


def test_it_is_the_same_on_real_processes() -> None:
    ours, real = (launch(steps_of, 3, ("one bit", 10)).results for launch in (simulate, run))
    assert all(
        torch.equal(a, b) for one, other in zip(ours, real, strict=True) for a, b in zip(one, other, strict=True)
    )


def test_what_it_keeps_goes_on_in_another() -> None:
    def program(comm, interrupted: bool) -> list[float]:
        all_reduce, row = CompressedSums(OneBit()), torch.zeros(7)
        for step in range(4):
            if interrupted and step == 2:
                state, all_reduce = all_reduce.state_dict(), CompressedSums(OneBit())
                all_reduce.load_state_dict(state)
                row = row.clone()
            row.copy_(torch.arange(7.0) * (comm.rank + 1) - 3 * step)
            all_reduce(comm, row)
        return row.tolist()

    whole, parts = (simulate(program, 2, (interrupted,)).results for interrupted in (False, True))
    assert whole == parts
