"""Small programs that all run under Gloo's rules, and whether they run under NCCL's."""

import torch

from course_lib.collectives import ALL_REDUCES, ring_all_reduce


def one(value: float = 0.0) -> torch.Tensor:
    return torch.tensor([float(value)])


def beside(comm) -> tuple[int, int]:
    return (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size


def swap(comm, first, second):
    """Two ranks send to each other: `first` and `second` are isend or irecv."""
    works = [getattr(comm, verb)(one(comm.rank), 1 - comm.rank) for verb in (first, second)]
    return [work.wait() for work in works]


def halves(comm):
    return comm.group([0, 1]), comm.group([1, 0])


def ring_without_a_batch(comm):
    right, left = beside(comm)
    sent = comm.isend(one(), right)
    comm.recv(one(), left)
    sent.wait()


def two_works(comm):
    right, left = beside(comm)
    works = [comm.isend(one(), right), comm.irecv(one(), left)]
    return [work.wait() for work in works]


def ring_in_a_batch(comm):
    right, left = beside(comm)
    with comm.batch():
        works = [comm.isend(one(), right), comm.irecv(one(), left)]
    return [work.wait() for work in works]


def ring_that_waits_in_the_batch(comm):
    with comm.batch():
        ring_without_a_batch(comm)


def ring_of_even_and_odd(comm):
    right, left = beside(comm)
    for turn in (0, 1):
        comm.send(one(), right) if comm.rank % 2 == turn else comm.recv(one(), left)


def one_side_in_a_batch(comm):
    if comm.rank == 0:
        with comm.batch():
            swap(comm, "irecv", "isend")
    else:
        swap(comm, "isend", "irecv")


def first_one_batch_then_another(comm):
    with comm.batch():
        sent = comm.isend(one(), 1 - comm.rank)
    with comm.batch():
        received = comm.irecv(one(), 1 - comm.rank)
    sent.wait(), received.wait()


def batch_in_a_batch(comm):
    with comm.batch():
        with comm.batch():
            sent = comm.isend(one(), 1 - comm.rank)
        received = comm.irecv(one(), 1 - comm.rank)
    sent.wait(), received.wait()


def in_the_order_of_the_sends(comm):
    works = [comm.isend(one(n), 1) if comm.rank == 0 else comm.irecv(one(), 0) for n in range(3)]
    return [work.wait() for work in works]


def to_two_in_another_order(comm):
    """Rank 1 wants rank 2's message first, which waits for rank 0's second, which stands behind rank 0's first."""
    if comm.rank == 0:
        return [work.wait() for work in [comm.isend(one(), 1), comm.isend(one(), 2)]]
    if comm.rank == 1:
        return comm.recv(one(), 2), comm.recv(one(), 0)
    return comm.recv(one(), 0), comm.send(one(), 1)


def to_two_in_a_batch(comm):
    with comm.batch():
        to_two_in_another_order(comm)


def behind_one_that_has_ended(comm):
    """The same, where rank 0's program does not wait."""
    if comm.rank == 0:
        return comm.isend(one(), 1), comm.isend(one(), 2)
    return to_two_in_another_order(comm)


def nobody_waits(comm):
    for turn in range(2):
        comm.isend(one(turn), 1) if comm.rank == 0 else comm.irecv(one(), 0)


def groups_in_one_order(comm):
    for group in halves(comm):
        ring_all_reduce(group, one())


def groups_in_two_orders(comm):
    there, back = halves(comm)
    if comm.rank == 0:
        works = [group.isend(one(), 1 - group.rank) for group in (there, back)]
    else:
        works = [group.irecv(one(), 1 - group.rank) for group in (back, there)]
    return [work.wait() for work in works]


def collectives_of_two_groups(comm, order):
    """One group's collective runs beside the program, which calls the other's meanwhile."""
    there, back = halves(comm)
    if comm.rank == 0 or order == "same":
        work = there.start(ring_all_reduce, one())
        ring_all_reduce(back, one())
    else:
        ring_all_reduce(back, one())
        work = there.start(ring_all_reduce, one())
    work.wait()


def beside_computing(comm):
    work = comm.start(ring_all_reduce, one(comm.rank))
    comm.compute(1.0)
    work.wait()
    comm.barrier()


def started_behind_a_send(comm):
    """Rank 0 sends before it starts, rank 1 receives when what it started has ended."""
    if comm.rank == 0:
        sent = comm.isend(one(), 1)
    comm.start(ring_all_reduce, one()).wait()
    sent.wait() if comm.rank == 0 else comm.recv(one(), 0)


def what_a_function_left_under_way(comm):
    """What comes after the function begins when its last message has ended."""
    comm.start(lambda its: its.isend(one(), 1) if comm.rank == 0 else its.recv(one(), 0))
    comm.send(one(), 1) if comm.rank == 0 else comm.recv(one(), 0)


def started_in_a_batch(comm):
    """What was posted before it is before it."""
    with comm.batch():
        if comm.rank == 0:
            comm.isend(one(), 1)
            comm.start(ring_all_reduce, one())
    if comm.rank == 1:
        comm.recv(one(), 0)
        comm.start(ring_all_reduce, one())


def barrier_before_the_receive(comm):
    sent = comm.isend(one(), 1) if comm.rank == 0 else None
    comm.barrier()
    sent.wait() if sent else comm.recv(one(), 0)


def barriers_and_collectives(comm):
    for all_reduce in ALL_REDUCES.values():
        if all_reduce.__name__ not in ("double_tree_all_reduce", "hierarchical_all_reduce"):
            all_reduce(comm, torch.arange(7.0))
            comm.barrier()


PROGRAMS = {
    "a ring: isend, recv, wait": (ring_without_a_batch, 3, False),
    "a ring in a batch": (ring_in_a_batch, 3, True),
    "a ring that waits inside its batch": (ring_that_waits_in_the_batch, 3, True),
    "a ring of even and odd ranks": (ring_of_even_and_odd, 4, True),
    "both send first": (lambda comm: swap(comm, "isend", "irecv"), 2, False),
    "both receive first": (lambda comm: swap(comm, "irecv", "isend"), 2, False),
    "one sends first, one receives first": (
        lambda comm: swap(comm, *(("isend", "irecv") if comm.rank else ("irecv", "isend"))),
        2,
        True,
    ),
    "one side in a batch": (one_side_in_a_batch, 2, True),
    "two batches, one after the other": (first_one_batch_then_another, 2, False),
    "a batch inside a batch": (batch_in_a_batch, 2, True),
    "three sends, three receives": (in_the_order_of_the_sends, 2, True),
    "to two ranks in another order": (to_two_in_another_order, 3, False),
    "to two ranks in a batch": (to_two_in_a_batch, 3, True),
    "to two ranks, and the program ends": (behind_one_that_has_ended, 3, False),
    "nobody waits": (nobody_waits, 2, True),
    "two groups, one order": (groups_in_one_order, 2, True),
    "messages of two groups, two orders": (groups_in_two_orders, 2, False),
    "collectives of two groups, one order": (lambda comm: collectives_of_two_groups(comm, "same"), 2, True),
    "collectives of two groups, two orders": (lambda comm: collectives_of_two_groups(comm, "other"), 2, False),
    "a collective beside computing": (beside_computing, 3, True),
    "a collective behind a send": (started_behind_a_send, 2, False),
    "what a function left under way": (what_a_function_left_under_way, 2, True),
    "a function that is started in a batch": (started_in_a_batch, 2, True),
    "a barrier before the receive": (barrier_before_the_receive, 2, False),
    "barriers and all-reduces": (barriers_and_collectives, 6, True),
    "one rank": (barriers_and_collectives, 1, True),
}
