"""Broadcast, reduce, scatter, gather, all-gather, reduce-scatter, all-to-all, barrier, and groups of ranks."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Network, RankError, simulate
from course_lib.collectives import (
    all_gather,
    all_to_all,
    barrier,
    binomial_children,
    binomial_parent,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    ring_all_reduce,
    scatter,
)

WORLD_SIZES = range(1, 10)
LENGTHS = (0, 1, 3, 24)


def numbers(rank: int, *shape: int) -> torch.Tensor:
    """Whole numbers that no other rank has."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.int64).reshape(shape) * 10 + rank


def on_every_rank(program, world_size: int, *args) -> list:
    return simulate(program, world_size, args, ranks="greenlets").results


def test_a_binomial_tree_of_six_is_as_drawn() -> None:
    #          0
    #        / | \
    #       1  2  4
    #          |  |
    #          3  5
    assert [binomial_children(place, 6) for place in range(6)] == [[1, 2, 4], [], [3], [], [5], []]
    assert [binomial_parent(place) for place in range(1, 6)] == [0, 0, 2, 0, 4]


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_every_rank_receives_the_broadcast_of_any_rank(world_size: int) -> None:
    def program(comm, length, src):
        tensor = numbers(comm.rank, 2, length)
        assert broadcast(comm, tensor, src) is None
        return tensor

    for length in LENGTHS:
        for src in range(world_size):
            for tensor in on_every_rank(program, world_size, length, src):
                assert torch.equal(tensor, numbers(src, 2, length))


@pytest.mark.parametrize("op", ["sum", "mean", "max"])
@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_only_the_destination_of_a_reduce_changes(world_size: int, op: str) -> None:
    def program(comm, length, dst):
        tensor = numbers(comm.rank, length).double()
        assert reduce(comm, tensor, dst, op) is None
        return tensor

    for length in LENGTHS:
        everything = torch.stack([numbers(rank, length).double() for rank in range(world_size)])
        wanted = {"sum": everything.sum(0), "mean": everything.mean(0), "max": everything.amax(0)}[op]
        for dst in range(world_size):
            for rank, tensor in enumerate(on_every_rank(program, world_size, length, dst)):
                assert torch.equal(tensor, wanted if rank == dst else everything[rank])


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_scatter_gives_each_rank_its_chunk_and_gather_brings_it_back(world_size: int) -> None:
    def program(comm, length, root):
        chunks = [numbers(rank, length) for rank in range(world_size)]
        mine, back = torch.zeros(length, dtype=torch.int64), [torch.zeros_like(chunk) for chunk in chunks]
        scatter(comm, mine, chunks if comm.rank == root else None, root)
        gather(comm, mine, back if comm.rank == root else None, root)
        return mine, torch.stack(back), torch.stack(chunks)

    for length in LENGTHS:
        for root in range(world_size):
            results = on_every_rank(program, world_size, length, root)
            for rank, (mine, back, chunks) in enumerate(results):
                assert torch.equal(mine, numbers(rank, length))
                assert torch.equal(back, chunks if rank == root else torch.zeros_like(chunks))


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_all_gather_gives_everyone_the_tensors_of_all(world_size: int) -> None:
    def program(comm, length):
        tensor = numbers(comm.rank, length, 2)
        chunks = [torch.zeros_like(tensor) for _ in range(world_size)]
        assert all_gather(comm, chunks, tensor) is None
        return torch.stack(chunks), tensor

    for length in LENGTHS:
        wanted = torch.stack([numbers(rank, length, 2) for rank in range(world_size)])
        for rank, (chunks, tensor) in enumerate(on_every_rank(program, world_size, length)):
            assert torch.equal(chunks, wanted)
            assert torch.equal(tensor, wanted[rank])


@pytest.mark.parametrize("op", ["sum", "mean", "max"])
@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_reduce_scatter_gives_rank_r_the_sum_of_all_chunks_r(world_size: int, op: str) -> None:
    def program(comm, length):
        chunks = list(inputs(comm.rank, length))
        output = torch.zeros(length, dtype=torch.float64)
        assert reduce_scatter(comm, output, chunks, op) is None
        return output, torch.stack(chunks)

    def inputs(rank, length):
        return (numbers(rank, world_size, length) % 97).double()

    for length in LENGTHS:
        everything = torch.stack([inputs(rank, length) for rank in range(world_size)])
        wanted = {"sum": everything.sum(0), "mean": everything.mean(0), "max": everything.amax(0)}[op]
        for rank, (output, chunks) in enumerate(on_every_rank(program, world_size, length)):
            assert torch.equal(output, wanted[rank])
            assert torch.equal(chunks, everything[rank])  # what went in is as it was


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_all_to_all_is_a_transposition(world_size: int) -> None:
    def program(comm, length):
        inputs = list(numbers(comm.rank, world_size, length))
        outputs = [torch.zeros_like(chunk) for chunk in inputs]
        assert all_to_all(comm, outputs, inputs) is None
        return torch.stack(outputs)

    for length in LENGTHS:
        sent = torch.stack([numbers(rank, world_size, length) for rank in range(world_size)])
        received = torch.stack(on_every_rank(program, world_size, length))
        assert torch.equal(received, sent.transpose(0, 1))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8))
@settings(max_examples=30)
def test_chunks_may_have_different_lengths(lengths: list[int]) -> None:
    def program(comm):
        chunks = [torch.full((length,), 10.0**place) for place, length in enumerate(lengths)]
        output, back = torch.zeros(lengths[comm.rank]), [torch.zeros(length) for length in lengths]
        reduce_scatter(comm, output, chunks)
        all_gather(comm, back, output)
        return torch.cat(back), torch.cat(chunks) * comm.world_size

    for back, wanted in on_every_rank(program, len(lengths)):
        assert torch.equal(back, wanted)


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_nobody_leaves_a_barrier_before_the_last_has_come(world_size: int) -> None:
    def program(comm):
        comm.compute(comm.rank * 1.0)
        barrier(comm)
        return comm.now()

    assert simulate(program, world_size, network=Network()).results == [world_size - 1.0] * world_size


def test_a_group_adds_up_among_its_own_ranks() -> None:
    def program(comm):
        tensor = torch.tensor([comm.rank])
        if comm.rank in (4, 1, 3):
            ring_all_reduce(comm.group([4, 1, 3]), tensor)
        return tensor.item()

    assert on_every_rank(program, 5) == [0, 8, 2, 8, 8]


REFUSED = {
    "no such rank": (lambda comm: broadcast(comm, torch.ones(1), 2), "src must be a rank from 0 to 1, got 2"),
    "no such destination": (lambda comm: reduce(comm, torch.ones(1), -1), "dst must be a rank from 0 to 1, got -1"),
    "a chunk too few": (
        lambda comm: all_gather(comm, [torch.ones(1)], torch.ones(1)),
        "one chunk for each of the 2 ranks, got 1",
    ),
    "no chunks": (lambda comm: scatter(comm, torch.ones(1), None, 0), "one chunk for each of the 2 ranks, got None"),
    "own chunk too long": (
        lambda comm: all_to_all(comm, [torch.ones(2)] * 2, [torch.ones(3)] * 2),
        "own chunk of 3 elements of torch.float32 does not fit into 2 elements",
    ),
    "own chunk of another type": (
        lambda comm: all_gather(comm, [torch.ones(2)] * 2, torch.ones(2).long()),
        "own chunk of 2 elements of torch.int64 does not fit into 2 elements of torch.float32",
    ),
    "gaps in a chunk": (
        lambda comm: reduce_scatter(comm, torch.ones(2), [torch.ones(2, 2)[:, 0]] * 2),
        "contiguous in memory",
    ),
    "mean of integers": (
        lambda comm: reduce_scatter(comm, torch.ones(2).int(), [torch.ones(2).int()] * 2, "mean"),
        'op "mean" cannot be had in torch.int32',
    ),
}


@pytest.mark.parametrize(("program", "message"), REFUSED.values(), ids=REFUSED)
def test_what_makes_no_sense_is_refused(program, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        simulate(program, world_size=2)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.complex64, torch.bfloat16])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_what_is_only_carried_may_be_of_any_dtype(ranks: int, dtype: torch.dtype) -> None:
    def program(comm):
        mine = torch.tensor([comm.rank == 0, comm.rank == 1, True]).to(dtype)
        everyone = [torch.zeros_like(mine) for _ in range(comm.world_size)]
        all_gather(comm, everyone, mine)
        told = mine.clone()
        broadcast(comm, told, 0)
        at_root = [torch.zeros_like(mine) for _ in everyone] if comm.rank == 0 else None
        gather(comm, mine, at_root, 0)
        part = torch.zeros_like(mine)
        scatter(comm, part, at_root, 0)
        swapped = [torch.zeros_like(mine) for _ in everyone]
        all_to_all(comm, swapped, [mine] * comm.world_size)
        right = [torch.tensor([rank == 0, rank == 1, True]).to(dtype) for rank in range(comm.world_size)]
        pairs = [*zip(everyone, right, strict=True), *zip(swapped, right, strict=True), (told, right[0]), (part, mine)]
        return all(torch.equal(*pair) for pair in pairs)

    assert simulate(program, ranks).results == [True] * ranks


@pytest.mark.parametrize("op", ["sum", "mean", "max"])
def test_what_is_added_may_not_be_truth_values(op: str) -> None:
    with pytest.raises(RankError, match=f'op "{op}" cannot be had in torch.bool'):
        simulate(lambda comm: ring_all_reduce(comm, torch.tensor([True]), op=op), 2)
