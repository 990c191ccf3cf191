"""How stale gradients are: counted on versions alone, without any parameters, for thousands of updates in seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from course_lib.comm import Communicator, Network, simulate
from course_lib.parameter_server.mailbox import CommMailbox, converse
from course_lib.parameter_server.policies import Policy
from course_lib.parameter_server.server import Server
from course_lib.parameter_server.speeds import Speeds
from course_lib.parameter_server.worker import Worker

__all__ = ["Staleness", "expected_staleness", "measure_staleness"]


@dataclass(frozen=True)
class Staleness:
    """How many gradients had which staleness: the version they met less the version they were computed on.

    Zhang et al. count so too: a gradient of timestamp j that meets the server at timestamp i has staleness i - j. As
    every update takes c gradients, the mean over updates is the mean over gradients.

    Source: W. Zhang et al., "Staleness-aware async-SGD", arXiv 1511.05950, 2015, section 2.1.
    """

    counts: dict[int, int]

    @classmethod
    def of(cls, values: Iterable[int]) -> Staleness:
        """Count values.

        >>> Staleness.of([1, 0, 1, 2])
        Staleness(counts={0: 1, 1: 2, 2: 1})
        """
        return cls(dict(sorted(Counter(values).items())))

    @property
    def gradients(self) -> int:
        """How many were counted."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """Mean over all gradients."""
        return sum(value * count for value, count in self.counts.items()) / max(self.gradients, 1)

    def share_over(self, staleness: int) -> float:
        """The share of gradients that were staler than that."""
        return sum(count for value, count in self.counts.items() if value > staleness) / max(self.gradients, 1)


def expected_staleness(workers: int, gradients_per_update: int = 1) -> float:
    """The mean staleness where nobody waits: (workers - 1) / gradients_per_update, whatever the workers' speeds.

    Between a worker's pull and its next push it misses the pushes of the others. A push of worker a falls between a
    pull and a push of each of the other λ - 1 workers, exactly one pair of each; so all gradients together miss λ - 1
    pushes each on average, be the workers fast or slow. Each c pushes are an update.

    >>> round(expected_staleness(30, 30), 3), expected_staleness(30, 2)
    (0.967, 14.5)
    """
    return (workers - 1) / gradients_per_update


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
        converse(mailbox, server)
        return [update.staleness for update in server.log]
    seconds = speeds.of_worker(comm.rank - 1, seed)
    converse(
        mailbox, Worker(comm.rank, {0: None}, lambda parameters, clock: mailbox.compute(next(seconds), "gradient"))
    )
    return []
