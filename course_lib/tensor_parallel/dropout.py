"""Dropout on several ranks: other masks where numbers are a rank's own, the same mask where all have the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from course_lib.comm import Communicator

__all__ = ["random_of_rank"]


@contextlib.contextmanager
def random_of_rank(comm: Communicator, seed: int, *, same: bool) -> Iterator[None]:
    """Random numbers inside come from `seed` alone (`same`), or from `seed` and the rank; outside nothing changes.

    Inside a tensor-parallel block every rank drops its own heads and hidden numbers, so masks must differ. Where every
    rank holds the same activations, masks must be the same, or the copies are copies no more. Where the sequence is cut
    over the ranks, they must differ again.

    Source: Shoeybi et al., "Megatron-LM", arXiv 1909.08053, appendix B.2.

    >>> from course_lib import simulate
    >>> def draw(comm, same):
    ...     with random_of_rank(comm, seed=1, same=same):
    ...         return torch.rand(1).item()
    >>> len(set(simulate(draw, 2, args=(True,)).results)), len(set(simulate(draw, 2, args=(False,)).results))
    (1, 2)
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed if same else seed + 1 + comm.rank)
        yield
