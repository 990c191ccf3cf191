"""All-reduce over two trees at once, each for half of the tensor, in segments (Sanders, Speck, Träff).

        first tree (7 ranks)           second tree: the same, one rank further on

               3                              4
            ╱     ╲                        ╱     ╲
           1       5                      2       6
          ╱ ╲     ╱ ╲                    ╱ ╲     ╱ ╲
         0   2   4   6                  1   3   5   0

In one tree half of the ranks are leaves, which send but hardly receive: half of all ports rest. A rank that works in
the first tree is a leaf in the second, so with both trees every port is busy, and segments keep it so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from course_lib.checks import at_least
from course_lib.collectives.buffers import begin, combine, finish, inboxes
from course_lib.collectives.cost import Cost, check_size, chunk_bytes, levels, log2_ceil
from course_lib.comm import Communicator, Network, Work
from course_lib.comm.collective import collective

SEGMENT_BYTES = 1 << 20


class Branch(NamedTuple):
    """One rank's place in a tree: the rank above (None at the root) and the ranks below."""

    parent: int | None
    children: tuple[int, ...]


@cache
def double_tree_branches(world_size: int) -> tuple[tuple[Branch, ...], tuple[Branch, ...]]:
    """For each of the two trees the place of every rank.

    In a tree, places count from 1 from left to right; the height of a place is how often 2 divides it.

    >>> first, second = double_tree_branches(7)
    >>> first[1], second[1]
    (Branch(parent=3, children=(0, 2)), Branch(parent=2, children=()))
    """
    return _tree(world_size, first_rank=0), _tree(world_size, first_rank=1)


def _tree(world_size: int, first_rank: int) -> tuple[Branch, ...]:
    """The tree in which the leftmost place is that of `first_rank`, the next that of the next rank, and so on."""
    parents: list[int | None] = [None] * world_size
    children: list[tuple[int, ...]] = [()] * world_size
    for place in range(1, world_size + 1):
        above = _place_above(place, world_size)
        if above:
            rank, parent = ((p - 1 + first_rank) % world_size for p in (place, above))
            parents[rank] = parent
            children[parent] += (rank,)
    return tuple(map(Branch, parents, children))


def _place_above(place: int, places: int) -> int:
    """The place above in a tree drawn from left to right; 0 above the root."""
    lowest_bit = place & -place
    above = (place - lowest_bit) | (lowest_bit << 1)
    return above if above <= places else place - lowest_bit


@collective
def double_tree_all_reduce(
    comm: Communicator, tensor: torch.Tensor, op: str = "sum", segment_bytes: int = SEGMENT_BYTES
) -> None:
    """Leave on every rank the sum of all ranks' tensors: up two trees, each with half of the tensor, and down again.

    Cost: n bytes up and n bytes down for (almost) every rank; steps grow with log₂ p and the number of segments.
    Source: Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
    Parallel Computing 35(12), 2009.
    """
    flat = begin(tensor, op, comm)
    halves = flat.tensor_split(2)
    count = _segments(halves[0].nbytes, segment_bytes)
    places = [tree[comm.rank] for tree in double_tree_branches(comm.world_size)]
    jobs = [(part, place) for half, place in zip(halves, places, strict=True) for part in half.tensor_split(count)]
    if not comm.in_order:  # in one stream everybody's trees take turns
        jobs.sort(key=lambda job: len(job[1].children) > 0)  # first where this rank is a leaf: it waits for nobody
    sent: list[Work] = []
    for (part, (parent, children)), incoming in zip(jobs, inboxes([part for part, _ in jobs]), strict=True):
        for child in children:
            comm.recv(incoming, child)
            combine(op, part, incoming, comm)
        if parent is not None:
            sent.append(comm.isend(part, parent))
    _wait_for(sent)
    jobs.reverse()  # last the tree where nobody waits for this rank
    arriving = (None if parent is None else comm.irecv(part, parent) for part, (parent, _) in jobs)
    receives = arriving if comm.in_order else list(arriving)  # all ahead, or each when it is waited for
    for (part, (_, children)), received in zip(jobs, receives, strict=True):
        if received is not None:
            received.wait()
        sent.extend(comm.isend(part, child) for child in children)
    _wait_for(sent)
    finish(op, flat, comm)


def _wait_for(works: list[Work]) -> None:
    while works:
        works.pop(0).wait()


def _segments(half_bytes: int, segment_bytes: int) -> int:
    """How many segments to cut each half into."""
    at_least(1, segment_bytes=segment_bytes)
    return max(1, -(-half_bytes // segment_bytes))


def double_tree_all_reduce_cost(
    message_bytes: int, *, world_size: int, element_bytes: int = 4, segment_bytes: int = SEGMENT_BYTES
) -> Cost:
    """Counts of `double_tree_all_reduce`.

    >>> double_tree_all_reduce_cost(800, world_size=7, segment_bytes=200)
    Cost(steps=8, messages=48, bytes_sent=(800, 1600, 1600, 1200, 1200, 1600, 1600))
    """
    check_size(message_bytes, world_size, element_bytes)
    halves = chunk_bytes(message_bytes, 2, element_bytes)
    count = _segments(halves[0], segment_bytes)
    trees = double_tree_branches(world_size)
    return Cost(
        steps=_steps(world_size, count),
        messages=4 * count * (world_size - 1),
        bytes_sent=tuple(
            sum(
                half * ((tree[rank].parent is not None) + len(tree[rank].children))
                for half, tree in zip(halves, trees, strict=True)
            )
            for rank in range(world_size)
        ),
        formula=partial(double_tree_all_reduce_seconds, message_bytes, world_size, segment_bytes=segment_bytes),
    )


def _steps(world_size: int, count: int) -> int:
    """The longest chain of messages: first of one segment, then as many more for each other as a rank has children."""
    seen, trees = [0] * world_size, double_tree_branches(world_size)
    bottom_up = [sorted(range(world_size), key=partial(_depth, tree), reverse=True) for tree in trees]
    sent = list(seen)  # the steps of what each rank sent up
    for tree, order in zip(trees, bottom_up, strict=True):
        for rank in order:
            for child in tree[rank].children:
                seen[rank] = 1 + max(seen[rank], seen[child] if tree[child].children else 0)
                sent[child] = max(sent[child], seen[rank])
    after_up = [max(pair) for pair in zip(seen, sent, strict=True)]
    seen, longest = list(after_up), max(after_up)
    for tree, order in zip(trees, bottom_up, strict=True):
        for rank in reversed(order):
            parent, children = tree[rank]
            if parent is not None:
                step = 1 + max(after_up[rank], seen[parent])
                seen[rank] = max(seen[rank], step) if children else seen[rank]
                longest = max(longest, step)
    return longest + (count - 1) * max(len(branch.children) for branch in trees[0])


def _depth(tree: Sequence[Branch], rank: int) -> int:
    parent = tree[rank].parent
    return 0 if parent is None else 1 + _depth(tree, parent)


def double_tree_all_reduce_seconds(
    message_bytes: ArrayLike, world_size: ArrayLike, network: Network, segment_bytes: int = SEGMENT_BYTES
) -> ArrayLike:
    """Time of `double_tree_all_reduce`: about (5K + 4 log₂ p - 6)(α + n/2K β), K segments of each half.

    An estimate on equal links, and exact for no p but 1: from a tenth too low to 57 % too high, most where a half is
    one segment; for 3 ranks up to three quarters too high, for 2 up to two and a half times the time. The paper's
    coloring, in which both ends of a message take it as their turn, needs 4K turns for the segments; here messages
    start as soon as they can, and a port rests about every fifth turn. Additions are counted as if none were hidden.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    count, height = np.maximum(1, np.ceil(n / 2 / segment_bytes)), log2_ceil(p)
    turns = np.where(np.greater(p, 1), np.maximum(5 * count + 4 * height - 6, 1), 0)
    additions = np.where(np.greater(p, 1), 2 * count + height, 0)
    segment = n / 2 / count
    return turns * at.slowest_seconds(segment) + additions * segment * at.add_s_per_byte
