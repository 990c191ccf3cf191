"""When a server updates, which gradients it takes, when it answers a pull: the whole difference between policies."""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.checks import at_least


@dataclass(frozen=True)
class Policy:
    """A server's rules as data.

    Raises:
        ValueError: if an update takes less than one gradient, or the slack is less than 0.

    Args:
        gradients_per_update: the server updates once it has so many, with their mean.
        drops_late: a gradient computed on older parameters than the server's is thrown away.
        waits_for_update: a pull is answered only by parameters newer than those that the worker has.
        slack: a worker may be so many gradients ahead of the slowest one; None: as many as it likes.
    """

    name: str
    gradients_per_update: int = 1
    drops_late: bool = False
    waits_for_update: bool = False
    slack: int | None = None

    def __post_init__(self) -> None:
        at_least(1, gradients_per_update=self.gradients_per_update)
        if self.slack is not None and self.slack < 0:
            raise ValueError(f"slack must be 0 or more, got {self.slack}")


def takes(policy: Policy, gradient_version: int, version: int) -> bool:
    """True if a server at `version` uses a gradient that was computed on `gradient_version`.

    >>> [takes(synchronous(3, backup=1), 4, version) for version in (4, 5)]
    [True, False]
    """
    return gradient_version == version or not policy.drops_late


def admits(policy: Policy, *, has_version: int, clock: int, version: int, slowest_clock: int) -> bool:
    """True if a worker that has `has_version` and made `clock` gradients may have the parameters at `version` now.

    >>> [admits(stale_synchronous(2), has_version=8, clock=5, version=9, slowest_clock=slowest) for slowest in (2, 3)]
    [False, True]
    """
    if policy.waits_for_update and version <= has_version:
        return False
    return policy.slack is None or clock - slowest_clock <= policy.slack


def synchronous(workers: int, backup: int = 0) -> Policy:
    """Each update takes one gradient of `workers` workers; `backup` more work along, and the last ones come too late.

    Raises:
        ValueError: if there are no workers, or fewer than no backup workers.

    Source: J. Chen et al., "Revisiting distributed synchronous SGD", arXiv 1604.00981, 2016 (backup workers).

    >>> synchronous(3, backup=1).name
    'synchronous, 1 backup'
    """
    if workers < 1 or backup < 0:
        raise ValueError(f"workers must be at least 1 and backup 0 or more, got {workers} and {backup}")
    name = f"synchronous, {backup} backup" if backup else "synchronous"
    return Policy(name, gradients_per_update=workers, drops_late=backup > 0, waits_for_update=True)


def asynchronous() -> Policy:
    """Each gradient is an update, at once; nobody waits.

    Source: J. Dean et al., "Large scale distributed deep networks", NIPS 2012.
    """
    return Policy("asynchronous")


def softsync(workers: int, n: int) -> Policy:
    """Each update takes ⌊workers / n⌋ gradients, from whomever; nobody waits.

    With n = 1 an update takes as many gradients as a synchronous one, with n = workers it is asynchronous.

    Raises:
        ValueError: unless n is from 1 to `workers`.

    Source: W. Zhang et al., "Staleness-aware async-SGD", arXiv 1511.05950, 2015.

    >>> [softsync(30, n).gradients_per_update for n in (1, 2, 4, 15, 30)]
    [30, 15, 7, 2, 1]
    """
    if not 1 <= n <= workers:
        raise ValueError(f"n must be from 1 to the number of workers, {workers}, got {n}")
    return Policy(f"{n}-softsync", gradients_per_update=workers // n)


def stale_synchronous(slack: int) -> Policy:
    """Each gradient is an update; a worker that is more than `slack` gradients ahead of the slowest waits for it.

    Source: Q. Ho et al., "More effective distributed ML via a stale synchronous parallel parameter server", NIPS 2013.
    """
    return Policy(f"stale-synchronous, slack {slack}", slack=slack)
