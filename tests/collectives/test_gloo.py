"""On real processes our collectives and PyTorch's own, on the same Gloo, leave the same numbers."""

import pytest
import torch
import torch.distributed as dist

from course_lib import run, simulate
from course_lib.collectives import (
    ALL_REDUCES,
    all_gather,
    all_to_all,
    barrier,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

LENGTHS = (0, 1, 3, 100)
DTYPES = (torch.float64, torch.float16, torch.uint8, torch.int32, torch.int64)
OPS = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX}


def numbers(rank: int, length: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return ((torch.arange(length) * 7 + rank * 5) % 23).to(dtype)


def all_reduces(comm) -> list:
    """The cases in which one of our all-reduces and torch's disagree."""
    wrong = []
    for dtype, length in [(torch.float32, length) for length in LENGTHS] + [(dtype, 10) for dtype in DTYPES]:
        for op, torch_op in OPS.items():
            theirs = numbers(comm.rank, length, dtype)
            dist.all_reduce(theirs, torch_op)
            for name, function in ALL_REDUCES.items():
                ours = numbers(comm.rank, length, dtype)
                function(comm, ours, op)
                if not torch.equal(ours, theirs):
                    wrong.append((name, dtype, length, op))
    return wrong


def compare(wrong: list, name: str, ours, theirs) -> None:
    """Note the name of a collective in which ours and torch's disagree."""
    if not all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True)):
        wrong.append(name)


def with_a_root(comm) -> list:
    """The collectives with a root in which ours and torch's disagree."""
    world_size, rank, wrong = comm.world_size, comm.rank, []
    for root in (0, world_size - 1):
        pair = numbers(rank, 10), numbers(rank, 10)
        broadcast(comm, pair[0], root)
        dist.broadcast(pair[1], root)
        compare(wrong, "broadcast", pair[:1], pair[1:])
        pair = numbers(rank, 10), numbers(rank, 10)
        reduce(comm, pair[0], root)
        dist.reduce(pair[1], root)
        if rank == root:
            compare(wrong, "reduce", pair[:1], pair[1:])
        chunks = list(numbers(rank, 4 * world_size).chunk(world_size)) if rank == root else None
        pair = torch.zeros(4), torch.zeros(4)
        scatter(comm, pair[0], chunks, root)
        dist.scatter(pair[1], chunks, root)
        compare(wrong, "scatter", pair[:1], pair[1:])
        lists = [[torch.zeros(6) for _ in range(world_size)] if rank == root else None for _ in range(2)]
        gather(comm, numbers(rank, 6), lists[0], root)
        dist.gather(numbers(rank, 6), lists[1], root)
        if rank == root:
            compare(wrong, "gather", *lists)
    return wrong


def without_a_root(comm) -> list:
    """The other collectives in which ours and torch's disagree."""
    world_size, rank, wrong = comm.world_size, comm.rank, []
    lists = [[torch.zeros(6) for _ in range(world_size)] for _ in range(2)]
    all_gather(comm, lists[0], numbers(rank, 6))
    dist.all_gather(lists[1], numbers(rank, 6))
    compare(wrong, "all_gather", *lists)
    inputs = list(numbers(rank, 4 * world_size).chunk(world_size))
    pair = torch.zeros(4), torch.zeros(4)
    reduce_scatter(comm, pair[0], inputs)
    dist.reduce_scatter(pair[1], inputs)
    compare(wrong, "reduce_scatter", pair[:1], pair[1:])
    outputs, theirs = [torch.zeros(4) for _ in range(world_size)], torch.zeros(4 * world_size)
    all_to_all(comm, outputs, inputs)
    dist.all_to_all_single(theirs, torch.cat(inputs))
    compare(wrong, "all_to_all", [torch.cat(outputs)], [theirs])
    barrier(comm)
    return wrong


def everything(comm) -> list:
    return all_reduces(comm) + with_a_root(comm) + without_a_root(comm)


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_ours_and_torchs_own_collectives_agree_on_gloo(world_size: int) -> None:
    assert run(everything, world_size).results == [[]] * world_size


def test_a_large_all_reduce_in_segments_agrees_on_gloo() -> None:
    def program(comm):
        wrong = []
        theirs = numbers(comm.rank, 1_000_003)
        dist.all_reduce(theirs)
        for name, function in ALL_REDUCES.items():
            ours = numbers(comm.rank, 1_000_003)
            function(comm, ours)
            if not torch.equal(ours, theirs):
                wrong.append(name)
        return wrong

    assert run(program, world_size=3).results == [[]] * 3


@pytest.mark.parametrize("name", ALL_REDUCES)
def test_real_processes_send_the_messages_of_the_simulator(name: str) -> None:
    args = (torch.ones(10),)
    real, virtual = (execute(ALL_REDUCES[name], 3, args).trace for execute in (run, simulate))
    assert real.link_bytes == virtual.link_bytes
    assert real.link_messages == virtual.link_messages
    assert real.steps == virtual.steps
