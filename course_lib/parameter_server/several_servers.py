"""Several servers without shards: a tree of aggregators, or whole copies that a ring all-reduce keeps equal."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from course_lib.checks import at_least
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.parameter_server.actor import Actor, Message, Outbox
from course_lib.parameter_server.worker import Gradient


class Aggregator(Actor):
    """Aggregator in a tree of servers: a server to its children and a worker to its parent.

    It adds up one gradient of each child and pushes the sum, with the number of gradients in it, and a pull. The
    parameters that come back answer all its children. So a parent receives one gradient for each of its children,
    however many workers sit below them; its policy counts the workers: `synchronous(all workers)`.

    Args:
        rank: its own address.
        parent: a server, or another aggregator.
        children: workers, or aggregators.
    """

    def __init__(self, rank: int, parent: int, children: Iterable[int]) -> None:
        self.rank, self.parent = rank, parent
        self.children = set(children)
        self.clock = 0
        self._newest = Message("parameters", rank, version=-1)
        self._asked = False
        self._pulls: dict[int, Message] = {}
        self._pushes: list[Message] = []
        self._stopped = False

    @property
    def finished(self) -> bool:
        return not self.children and not self._asked

    def begin(self) -> Outbox:
        self._asked = True
        return [(self.parent, Message("pull", self.rank, version=-1))]

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a message of a child or of the parent.

        Raises:
            ValueError: if it is of a kind that neither of them sends.
        """
        upwards: Outbox = []
        if message.kind == "push":
            self._pushes.append(message)
        elif message.kind == "pull":
            self._pulls[message.sender] = message
        elif message.kind == "goodbye":
            self.children.discard(message.sender)
            if not self.children:
                upwards.append((self.parent, Message("goodbye", self.rank)))
        elif message.kind in ("parameters", "stop"):
            self._asked, self._stopped = False, message.kind == "stop"
            self._newest = message if message.kind == "parameters" else self._newest
        else:
            raise ValueError(f"aggregator {self.rank} cannot handle a message of kind {message.kind!r}")
        if self._pushes and len(self._pushes) >= len(self.children) and not self._stopped:
            upwards += self._push_up()
        return upwards + self._answer_pulls()

    def _push_up(self) -> Outbox:
        """The sum of what the children pushed, and a pull."""
        self.clock += 1
        version = min(push.version for push in self._pushes)
        count = sum(push.count for push in self._pushes)
        total = _sum([push.payload for push in self._pushes if push.payload is not None])
        self._pushes, self._asked = [], True
        push = Message("push", self.rank, self.clock, version, count, payload=total)
        return [(self.parent, push), (self.parent, Message("pull", self.rank, self.clock, version))]

    def _answer_pulls(self) -> Outbox:
        """Parameters for every child that has older ones; a stop for all, once the parent said so."""
        answers: Outbox = []
        for child, pull in list(self._pulls.items()):
            if self._stopped or child not in self.children:
                answers.append((child, Message("stop", self.rank)))
            elif self._newest.version > pull.version and not self._asked:
                newest = self._newest
                answers.append(
                    (child, Message("parameters", self.rank, version=newest.version, payload=newest.payload))
                )
            else:
                continue
            del self._pulls[child]
        return answers


def _sum(payloads: list[torch.Tensor]) -> torch.Tensor | None:
    """The sum as a new tensor, or None of nothing."""
    return sum(payloads[1:], start=payloads[0].clone()) if payloads else None


def own_workers(server: int, servers: int, workers: int) -> range:
    """The ranks of the workers that `server` serves: ranks 0 to servers - 1 are servers, the workers come after them.

    >>> [list(own_workers(server, servers=2, workers=5)) for server in range(2)]
    [[2, 3], [4, 5, 6]]
    """
    return range(servers + server * workers // servers, servers + (server + 1) * workers // servers)


def serve_a_copy(comm: Communicator, servers: int, parameters: torch.Tensor, *, updates: int, rate: float) -> None:
    """Serve one copy of all parameters: sum the own workers' gradients, all-reduce the sum, update, answer the workers.

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
    """Work for one copy: push a gradient to the own server and take its parameters, `updates` times, in place.

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
