"""Rule: a message has a tensor's numbers, also where they are stored negated or conjugated, at whichever end."""

import pytest
import torch
from torch import nn

from course_lib import Network, run, simulate
from course_lib.collectives import all_gather, all_to_all, broadcast, gather, reduce_scatter, ring_all_reduce, scatter
from course_lib.data_parallel import broadcast_state, state_hash

VIEWS = {  # the same numbers, stored otherwise
    "plain": lambda numbers: numbers,
    "conjugated": lambda numbers: numbers.conj_physical().conj(),
    "negated": lambda numbers: (-numbers)._neg_view(),
    "both": lambda numbers: (-numbers.conj_physical())._neg_view().conj(),
}


def everything(comm, view):
    """Each collective and both ends of a message, all of such views."""

    def of(number):
        return VIEWS[view](torch.tensor([complex(number, 2 * number), complex(3, -number)]))

    p, mine, at = comm.world_size, comm.rank + 1, 10 * (comm.rank + 1)
    boxes, swapped, at_root = ([of(start + rank) for rank in range(p)] for start in (70, 80, 90))
    total, told, part, sum_of_parts, arrived = of(mine), of(mine), of(50), of(51), of(52)
    ring_all_reduce(comm, total)
    broadcast(comm, told, p - 1)
    all_gather(comm, boxes, of(mine))
    gather(comm, of(mine), at_root if comm.rank == 0 else None, 0)
    scatter(comm, part, [of(at + rank) for rank in range(p)] if comm.rank == 0 else None, 0)
    reduce_scatter(comm, sum_of_parts, [of(at + rank) for rank in range(p)])
    all_to_all(comm, swapped, [of(at + rank) for rank in range(p)])
    sent = comm.isend(of(mine), (comm.rank + 1) % p)
    comm.recv(arrived, (comm.rank - 1) % p)
    sent.wait()
    return [each.tolist() for each in (total, told, part, sum_of_parts, arrived, *boxes, *swapped, *at_root)]


@pytest.mark.parametrize("view", VIEWS)
def test_numbers_arrive_as_they_are_read_at_every_scale(view):
    expected = simulate(everything, 3, args=("plain",)).results
    assert simulate(everything, 3, args=(view,)).results == expected
    assert run(everything, 3, args=(view,), device="cpu").results == expected
    assert run(everything, 3, args=(view,), network=Network(latency_s=1e-4), device="cpu").results == expected


def test_zeros_that_have_no_memory_are_sent_as_zeros_at_every_scale():
    def program(comm):
        zeros, arrived = torch._efficientzerotensor(3), torch.ones(3)  # as torch makes of a derivative
        sent = comm.isend(zeros, (comm.rank + 1) % comm.world_size)
        comm.recv(arrived, (comm.rank - 1) % comm.world_size)
        sent.wait()
        return arrived.tolist()

    for report in (
        simulate(program, 2),
        run(program, 2, device="cpu"),
        run(program, 2, network=Network(latency_s=1e-4), device="cpu"),
    ):
        assert report.results == [[0.0] * 3] * 2


@pytest.mark.parametrize("view", VIEWS)
def test_a_state_of_such_views_is_handed_out_and_hashed_as_it_is_read(view):
    def program(comm):
        module = nn.Module()
        numbers = torch.tensor([complex(comm.rank + 1, 2), complex(3, comm.rank)])
        module.register_buffer("numbers", VIEWS[view](numbers))
        broadcast_state(comm, module)
        return module.numbers.tolist(), state_hash(module)

    first, second = simulate(program, 2).results
    assert first == second
    assert first[0] == [1 + 2j, 3 + 0j]
