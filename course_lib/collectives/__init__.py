"""The collectives, each a page of code on send and receive alone, and beside each what it costs."""

from course_lib.collectives.broadcast import broadcast, broadcast_cost, broadcast_seconds
from course_lib.collectives.central import central_all_reduce, central_all_reduce_cost, central_all_reduce_seconds
from course_lib.collectives.cost import Cost, chunk_bytes
from course_lib.collectives.direct import direct_all_reduce, direct_all_reduce_cost, direct_all_reduce_seconds
from course_lib.collectives.halving_doubling import (
    halving_doubling_all_reduce,
    halving_doubling_all_reduce_cost,
    halving_doubling_all_reduce_seconds,
)
from course_lib.collectives.recursive_doubling import (
    recursive_doubling_all_reduce,
    recursive_doubling_all_reduce_cost,
    recursive_doubling_all_reduce_seconds,
)
from course_lib.collectives.reduce import reduce, reduce_cost, reduce_seconds
from course_lib.collectives.ring import (
    Send,
    all_gather_steps,
    reduce_scatter_steps,
    ring_all_reduce,
    ring_all_reduce_cost,
    ring_all_reduce_seconds,
    ring_steps,
)
from course_lib.collectives.tree import tree_all_reduce, tree_all_reduce_cost, tree_all_reduce_seconds

ALL_REDUCES = {
    "direct": direct_all_reduce,
    "central": central_all_reduce,
    "ring": ring_all_reduce,
    "tree": tree_all_reduce,
    "recursive doubling": recursive_doubling_all_reduce,
    "halving-doubling": halving_doubling_all_reduce,
}
ALL_REDUCE_COSTS = {
    "direct": direct_all_reduce_cost,
    "central": central_all_reduce_cost,
    "ring": ring_all_reduce_cost,
    "tree": tree_all_reduce_cost,
    "recursive doubling": recursive_doubling_all_reduce_cost,
    "halving-doubling": halving_doubling_all_reduce_cost,
}
ALL_REDUCE_SECONDS = {
    "direct": direct_all_reduce_seconds,
    "central": central_all_reduce_seconds,
    "ring": ring_all_reduce_seconds,
    "tree": tree_all_reduce_seconds,
    "recursive doubling": recursive_doubling_all_reduce_seconds,
    "halving-doubling": halving_doubling_all_reduce_seconds,
}
