"""Exercise 02j: few bytes between machines of several ranks."""

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.comm.trace import Trace
from course_lib.grading import rules
from course_lib.grading.exercise import WIDE, Case, Outcome, Rule, whole_numbers
from course_lib.grading.exercises.chapter_02.shared import added_on_the_way_back, pairs, sum_of_all
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.diagnoses import SUMS, counted

NODES = ((1, 1, 5, 0), (2, 2, 8, 0), (4, 1, 40, 0), (4, 2, 67, 2), (6, 2, 61, 0), (6, 3, 50, 0))


def sums_on_nodes(rng: np.random.Generator) -> Iterator[Case]:
    for world_size, per_node, length, perturb in NODES:
        inputs = [whole_numbers(rng, length, most=WIDE) for _ in range(world_size)]
        label = f"world_size {world_size}, ranks_per_node {per_node}, {length} elements"
        arguments = [(tensor, per_node) for tensor in inputs]
        yield Case(world_size, arguments, [sum(inputs)] * world_size, perturb, label, {"ranks_per_node": per_node})


def bytes_between_nodes(case: Case, trace: Trace) -> str | None:
    """All nodes together send no more than 2(nodes - 1) tensors to each other (and a chunk's rounding)."""
    per_node = case.about["ranks_per_node"]
    nodes = case.world_size // per_node
    limit = 2 * (nodes - 1) * (case.message_bytes + 4 * case.world_size)
    crossing = [m for m in trace.messages if m.src // per_node != m.dst // per_node]
    crossed = sum(m.message_bytes for m in crossing)
    if crossed <= limit:
        return None
    if per_node == 1:
        return (
            f"{crossed} bytes crossed from node to node, {2 * (nodes - 1) * case.message_bytes} are enough for {nodes} "
            "nodes of one rank. Leaders that pass whole tensors each with each, or round a ring, send more: add up along a "
            "chain or a tree, or send chunks round the ring"
        )
    one = min(crossing, key=lambda message: (message.src, message.dst))
    return (
        f"{crossed} bytes crossed from node to node, {2 * (nodes - 1) * case.message_bytes} are enough for {nodes} "
        f"nodes. (One of them: rank {one.src} on node {one.src // per_node} sent to rank {one.dst} on node "
        f"{one.dst // per_node}.) Add up inside each node first, so that each node speaks with one voice"
    )


def node_sums(case: Case, outcome: Outcome) -> str | None:
    """Each node has its own sum."""
    per_node = case.about["ranks_per_node"]
    for rank, value in enumerate(outcome.values):
        first = rank // per_node * per_node
        own = torch.stack([inputs[0] for inputs in case.inputs[first : first + per_node]]).sum(0)
        if case.world_size == per_node or not torch.equal(value, own):
            return None
    return "every rank holds the sum of its own node: nothing was added between the nodes"


def leaders_only(case: Case, outcome: Outcome) -> str | None:
    """One rank of each node knows, the others do not."""
    per_node = case.about["ranks_per_node"]
    right = [rank for rank, value in enumerate(outcome.values) if torch.equal(value, sum_of_all(case))]
    if (
        per_node == 1
        or len(right) != case.world_size // per_node
        or len({rank // per_node for rank in right}) < len(right)
    ):
        return None
    if any(min(counts) > 0 for *_, counts in counted(case, outcome)):
        return None
    names = ", ".join(map(str, right))
    return f"rank {names} (one in each node) holds the sum, its neighbors in the node do not: tell them"


MISTAKES = r"""
... so it replaces what was there
    comm.recv(tensor, leader) -> comm.recv(incoming, leader); tensor += incoming
... rank 1 on node 0 sent to rank 2 on node 1
    answer plain_ring
... its neighbors in the node do not
    comm.recv(tensor, leader)\n -> \n
    else []), *mates]:\n        comm.send -> else [])]:\n        comm.send
... nothing was added between the nodes
    after < comm.world_size -> False
    before >= 0 -> False
... rank 0 on node 0 sent to rank 2 on node 1
    answer modulo_for_the_node
... rank 2 is missing and rank 3 is missing
    answer two_nodes_only
"""

EXERCISE = rank_exercise(
    __name__,
    cases=sums_on_nodes,
    rules=(
        Rule(bytes_between_nodes),
        rules.max_messages(lambda case: 4 * pairs(case), "two rings of chunks over all ranks send no more"),
    ),
    mistakes=MISTAKES,
    diagnoses=(node_sums, leaders_only, added_on_the_way_back, *SUMS),
    perturbation="receiver",
    hints="""
Three acts: add up inside each node, all-reduce between the nodes, tell everybody in the node.
Rank r is on node r // ranks_per_node, and r % ranks_per_node is its place there. Let place 0 lead.
Between the leaders, do what you like that sends no more than 2(nodes - 1) tensors in all: add up along a chain of leaders and pass the result back, a tree, or a ring of chunks.
""",
)
