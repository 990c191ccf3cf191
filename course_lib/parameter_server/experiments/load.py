"""What a server has to carry: bytes in and out for each update, by the number of servers, workers and aggregators."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from course_lib.checks import at_least
from course_lib.comm import Communicator, Network, simulate
from course_lib.parameter_server.actor import Actor, CommMailbox, run_actor
from course_lib.parameter_server.experiments.training import GIGABIT
from course_lib.parameter_server.policies import synchronous
from course_lib.parameter_server.server import Server, Sgd
from course_lib.parameter_server.several_servers import Aggregator
from course_lib.parameter_server.shards import Shard, shard_length, shard_plan
from course_lib.parameter_server.worker import Worker, turns


@dataclass(frozen=True)
class Topology:
    """Who talks to whom. Ranks: servers, then aggregators, then workers.

    Args:
        servers: shards of equal size.
        aggregators: 0: workers talk to the servers; otherwise each aggregator sums up an equal share of the workers,
            and there is one server.

    Raises:
        ValueError: if there is no worker or no server, or the aggregators do not come out even.
    """

    workers: int
    servers: int = 1
    aggregators: int = 0

    def __post_init__(self) -> None:
        if min(self.workers, self.servers) < 1:
            raise ValueError(f"a topology needs a worker and a server, got {self}")
        if self.aggregators and (self.servers != 1 or self.workers % self.aggregators):
            raise ValueError(f"aggregators need one server and a number of workers that they divide, got {self}")

    @property
    def world_size(self) -> int:
        return self.servers + self.aggregators + self.workers

    def children(self, aggregator: int) -> range:
        """The workers' ranks below the aggregator of this number."""
        share = self.workers // self.aggregators
        first = self.servers + self.aggregators + aggregator * share
        return range(first, first + share)

    def parent(self, worker: int) -> int:
        """The aggregator's rank above the worker of this number."""
        return self.servers + worker * self.aggregators // self.workers


@dataclass(frozen=True)
class Load:
    """What crossed the wire; simulated.

    Attributes:
        bytes_in, bytes_out: for each update, by rank (headers and pulls are in it).
        link_bytes: [src][dst] for each update.
        seconds_per_update: on the virtual clock, computing apart: what the messages alone took.
    """

    topology: Topology
    bytes_in: list[float]
    bytes_out: list[float]
    link_bytes: list[list[float]]
    seconds_per_update: float

    @property
    def busiest_server_bytes(self) -> float:
        """The most that one server receives or sends for each update."""
        servers = range(self.topology.servers)
        return max(max(self.bytes_in[rank], self.bytes_out[rank]) for rank in servers)


def server_bytes(message_bytes: float, *, workers: int, servers: int = 1) -> float:
    """Bytes that one server receives for each update, and sends: a shard from and to every worker.

    >>> [server_bytes(100e6, workers=8, servers=servers) for servers in (1, 4, 8)]
    [800000000.0, 200000000.0, 100000000.0]
    """
    return message_bytes * workers / servers


def machine_bytes(load: Load) -> list[list[float]]:
    """Bytes for each update between machines [src][dst] where server i and worker i share machine i.

    What a worker and a server on one machine tell each other crosses no wire, so the diagonal is 0. With as many
    servers as workers every machine sends the same to every other: an all-to-all.

    Raises:
        ValueError: with aggregators, or if there are more servers than workers.
    """
    topology = load.topology
    if topology.aggregators or topology.servers > topology.workers:
        raise ValueError(f"each server needs a worker to share a machine with, got {topology}")
    machine = [*range(topology.servers), *range(topology.workers)]
    table = [[0.0] * topology.workers for _ in range(topology.workers)]
    for src, row in enumerate(load.link_bytes):
        for dst, sent in enumerate(row):
            if machine[src] != machine[dst]:
                table[machine[src]][machine[dst]] += sent
    return table


def measure_load(
    topology: Topology, *, parameters: int = 1_000_000, updates: int = 3, network: Network = GIGABIT
) -> Load:
    """Train synchronously without computing and count what crosses the wire; payloads are float32 without content.

    Raises:
        ValueError: if there is no update to count.

    >>> load = measure_load(Topology(workers=4), parameters=1_000_000)
    >>> round(load.busiest_server_bytes / 4_000_000, 2)
    4.0
    """
    at_least(1, updates=updates)
    report = simulate(
        _program, topology.world_size, (topology, parameters, updates), network=network, ranks="greenlets", device="cpu"
    )
    trace = report.trace
    return Load(
        topology,
        bytes_in=[received / updates for received in trace.bytes_received],
        bytes_out=[sent / updates for sent in trace.bytes_sent],
        link_bytes=[[sent / updates for sent in row] for row in trace.link_bytes],
        seconds_per_update=trace.seconds / updates,
    )


def _program(comm: Communicator, topology: Topology, parameters: int, updates: int) -> None:
    actor = _role(comm.rank, topology, parameters, updates)
    order = turns(actor.servers, comm.rank) if isinstance(actor, Worker) else []
    run_actor(CommMailbox(comm, one_by_one=bool(order), in_turn=order), actor)


def _role(rank: int, topology: Topology, parameters: int, updates: int) -> Actor:
    """Who lives at `rank`."""
    plan = shard_plan([parameters], topology.servers)
    first_worker = topology.servers + topology.aggregators
    if rank < topology.servers:
        shard = torch.empty(shard_length(plan[rank]), device="meta")
        clients = (
            range(topology.servers, first_worker) if topology.aggregators else range(first_worker, topology.world_size)
        )
        return Server(rank, shard, synchronous(topology.workers), clients, Sgd(0.1), updates=updates)
    if rank < first_worker:
        return Aggregator(rank, 0, topology.children(rank - topology.servers))
    servers: dict[int, Shard | None] = dict(enumerate(plan))
    if topology.aggregators:
        servers = {topology.parent(rank - first_worker): plan[0]}
    return Worker(rank, servers, lambda row, clock: row)
