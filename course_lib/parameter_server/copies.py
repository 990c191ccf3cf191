"""Several servers that hold whole copies and keep in step round a ring, in place of shards."""

from __future__ import annotations

import torch

from course_lib.checks import at_least
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.parameter_server.worker import Gradient

__all__ = ["copies_bytes", "own_workers", "serve_a_copy", "work_for_a_copy"]


def own_workers(server: int, servers: int, workers: int) -> range:
    """The ranks of the workers that `server` serves: ranks 0 to servers - 1 are servers, the workers come after them.

    >>> [list(own_workers(server, servers=2, workers=5)) for server in range(2)]
    [[2, 3], [4, 5, 6]]
    """
    return range(servers + server * workers // servers, servers + (server + 1) * workers // servers)


def serve_a_copy(comm: Communicator, servers: int, parameters: torch.Tensor, *, updates: int, rate: float) -> None:
    """Hold a copy: add up the gradients of the own workers, add the other servers' sums, update, answer the workers.

    All copies take the same step, so they stay equal to the last bit.

    Raises:
        ValueError: unless there is a rank for a worker.
    """
    workers = comm.world_size - servers
    if workers < 1:
        raise ValueError(f"{servers} servers of {comm.world_size} ranks leave no rank for a worker")
    mine, others = own_workers(comm.rank, servers, workers), comm.group(range(servers))
    for _ in range(updates):
        total, gradient = torch.zeros_like(parameters), torch.empty_like(parameters)
        for worker in mine:
            comm.recv(gradient, worker)
            total += gradient
        ring_all_reduce(others, total)
        parameters -= rate * total / workers
        sent = [comm.isend(parameters.clone(), worker) for worker in mine]
        for answer in sent:
            answer.wait()


def work_for_a_copy(
    comm: Communicator, servers: int, parameters: torch.Tensor, *, updates: int, gradient: Gradient
) -> None:
    """Push a gradient to the own server and take the parameters it answers, so many times, in place.

    Args:
        gradient: gradient(parameters, number) gives a row like `parameters`; takes its time itself.
    """
    workers = comm.world_size - servers
    [server] = [s for s in range(servers) if comm.rank in own_workers(s, servers, workers)]
    for number in range(1, updates + 1):
        comm.send(gradient(parameters, number), server)
        comm.recv(parameters, server)


def copies_bytes(message_bytes: float, *, workers: int, servers: int) -> float:
    """Bytes that one server receives for each update, and sends: those of its workers and those of the ring.

    Shards need W/S messages and no ring, and each holds 1/S of the parameters, not all. What copies give for it: a
    worker talks to one server, which may stand near it, and a server that dies takes nothing along.

    >>> copies_bytes(100e6, workers=8, servers=4)
    350000000.0
    """
    at_least(1, workers=workers, servers=servers)
    return message_bytes * (workers / servers + 2 * (servers - 1) / servers)
