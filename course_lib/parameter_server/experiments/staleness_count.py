"""Staleness counted on versions alone, without any parameters: thousands of updates in seconds."""

from __future__ import annotations

from course_lib.comm import Communicator, Network, simulate
from course_lib.parameter_server.actor import run_actor
from course_lib.parameter_server.experiments.speeds import Speeds
from course_lib.parameter_server.mailbox import CommMailbox
from course_lib.parameter_server.policies import Policy
from course_lib.parameter_server.server import Server
from course_lib.parameter_server.staleness import Staleness
from course_lib.parameter_server.worker import Worker

__all__ = ["measure_staleness"]


def measure_staleness(
    policy: Policy,
    *,
    workers: int,
    updates: int,
    speeds: Speeds | None = None,
    network: Network | None = None,
    seed: int = 0,
) -> Staleness:
    """Count the staleness of every gradient in so many updates of one server.

    Raises:
        ValueError: if there is no worker.

    Cost: about 0.1 ms for each gradient.

    >>> from course_lib.parameter_server import softsync, synchronous
    >>> measure_staleness(synchronous(4), workers=4, updates=10).counts
    {0: 40}
    >>> sorted(measure_staleness(softsync(30, 1), workers=30, updates=20).counts)
    [0, 1, 2]
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    arguments = (policy, workers, updates, speeds or Speeds(), seed)
    report = simulate(_program, workers + 1, arguments, network=network, ranks="greenlets")
    return Staleness.of(value for update in report.results[0] for value in update)


def _program(
    comm: Communicator, policy: Policy, workers: int, updates: int, speeds: Speeds, seed: int
) -> list[tuple[int, ...]]:
    """Rank 0 is the server; gradients take time and hold nothing."""
    mailbox = CommMailbox(comm)
    if comm.rank == 0:
        server = Server(0, None, policy, range(1, workers + 1), updates=updates)
        run_actor(mailbox, server)
        return [update.staleness for update in server.log]
    seconds = speeds.of_worker(comm.rank - 1, seed)
    run_actor(
        mailbox, Worker(comm.rank, {0: None}, lambda parameters, clock: mailbox.compute(next(seconds), "gradient"))
    )
    return []
