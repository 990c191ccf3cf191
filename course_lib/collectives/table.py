"""Every all-reduce by its name: the function, its counts, its formula; and who is fastest where."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from course_lib.checks import at_least
from course_lib.collectives import direct, double_tree, doubling, hierarchical, ring, trees
from course_lib.collectives.cost import Cost
from course_lib.comm import Network

ALL_REDUCES: dict[str, Callable[..., None]] = {
    "direct": direct.direct_all_reduce,
    "central": direct.central_all_reduce,
    "ring": ring.ring_all_reduce,
    "tree": trees.tree_all_reduce,
    "recursive doubling": doubling.recursive_doubling_all_reduce,
    "halving-doubling": doubling.halving_doubling_all_reduce,
    "hierarchical": hierarchical.hierarchical_all_reduce,
    "pipelined ring": ring.pipelined_ring_all_reduce,
    "double tree": double_tree.double_tree_all_reduce,
}
ALL_REDUCE_COSTS: dict[str, Callable[..., Cost]] = {
    "direct": direct.direct_all_reduce_cost,
    "central": direct.central_all_reduce_cost,
    "ring": ring.ring_all_reduce_cost,
    "tree": trees.tree_all_reduce_cost,
    "recursive doubling": doubling.recursive_doubling_all_reduce_cost,
    "halving-doubling": doubling.halving_doubling_all_reduce_cost,
    "hierarchical": hierarchical.hierarchical_all_reduce_cost,
    "pipelined ring": ring.pipelined_ring_all_reduce_cost,
    "double tree": double_tree.double_tree_all_reduce_cost,
}
ALL_REDUCE_SECONDS: dict[str, Callable[..., ArrayLike]] = {
    "direct": direct.direct_all_reduce_seconds,
    "central": direct.central_all_reduce_seconds,
    "ring": ring.ring_all_reduce_seconds,
    "tree": trees.tree_all_reduce_seconds,
    "recursive doubling": doubling.recursive_doubling_all_reduce_seconds,
    "halving-doubling": doubling.halving_doubling_all_reduce_seconds,
    "hierarchical": hierarchical.hierarchical_all_reduce_seconds,
    "pipelined ring": ring.pipelined_ring_all_reduce_seconds,
    "double tree": double_tree.double_tree_all_reduce_seconds,
}


def winner(
    message_bytes: ArrayLike, world_size: ArrayLike, network: Network, candidates: Iterable[str] | None = None
) -> str | np.ndarray:
    """The name of the all-reduce that is fastest by formula; of equals the one named first.

    Arrays that broadcast against each other give an array of names: a map of winners.

    >>> links = Network(latency_s=5e-6, bytes_per_s=12.5e9)
    >>> winner(1000, 64, links), winner(100_000_000, 64, links, candidates=["ring", "tree"])
    ('recursive doubling', 'ring')
    >>> winner(np.array([1e3, 1e8]), np.array([[4], [512]]), links, ["ring", "recursive doubling"])
    array([['recursive doubling', 'ring'],
           ['recursive doubling', 'ring']], dtype='<U18')
    """
    names = list(ALL_REDUCE_SECONDS if candidates is None else candidates)
    at_least(1, candidates=len(names))
    sizes, worlds = np.broadcast_arrays(message_bytes, world_size)
    seconds = [np.broadcast_to(ALL_REDUCE_SECONDS[name](sizes, worlds, network), sizes.shape) for name in names]
    best = np.argmin(seconds, axis=0)
    return names[best] if sizes.ndim == 0 else np.array(names)[best]
