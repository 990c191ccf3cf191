"""The collectives, each a page of code on send and receive alone, and beside each what it costs.

`x(comm, ...)` runs on every rank, in place, and returns nothing; `x_cost(...)` counts its steps, messages and bytes
exactly; `x_seconds(...)` is its formula, for numbers or arrays.
"""

from course_lib.collectives.cost import Cost, chunk_bytes
from course_lib.collectives.direct import (
    all_to_all,
    all_to_all_cost,
    all_to_all_seconds,
    central_all_reduce,
    central_all_reduce_cost,
    central_all_reduce_seconds,
    direct_all_reduce,
    direct_all_reduce_cost,
    direct_all_reduce_seconds,
    gather,
    gather_cost,
    gather_seconds,
    scatter,
    scatter_cost,
    scatter_seconds,
)
from course_lib.collectives.double_tree import (
    Branch,
    double_tree_all_reduce,
    double_tree_all_reduce_cost,
    double_tree_all_reduce_seconds,
    double_tree_branches,
)
from course_lib.collectives.doubling import (
    barrier,
    barrier_cost,
    barrier_seconds,
    halving_doubling_all_reduce,
    halving_doubling_all_reduce_cost,
    halving_doubling_all_reduce_seconds,
    recursive_doubling_all_reduce,
    recursive_doubling_all_reduce_cost,
    recursive_doubling_all_reduce_seconds,
)
from course_lib.collectives.hierarchical import (
    hierarchical_all_reduce,
    hierarchical_all_reduce_cost,
    hierarchical_all_reduce_seconds,
)
from course_lib.collectives.ring import (
    Send,
    all_gather,
    all_gather_cost,
    all_gather_seconds,
    all_gather_steps,
    pipelined_ring_all_reduce,
    pipelined_ring_all_reduce_cost,
    pipelined_ring_all_reduce_seconds,
    reduce_scatter,
    reduce_scatter_cost,
    reduce_scatter_seconds,
    reduce_scatter_steps,
    ring_all_reduce,
    ring_all_reduce_cost,
    ring_all_reduce_seconds,
    ring_steps,
)
from course_lib.collectives.table import ALL_REDUCE_COSTS, ALL_REDUCE_SECONDS, ALL_REDUCES, winner
from course_lib.collectives.trees import (
    binomial_children,
    binomial_parent,
    broadcast,
    broadcast_cost,
    broadcast_seconds,
    reduce,
    reduce_cost,
    reduce_seconds,
    tree_all_reduce,
    tree_all_reduce_cost,
    tree_all_reduce_seconds,
)
