"""The exercises of chapter 2, all-reduce: from each with each to rings, trees and machines of several ranks."""

from __future__ import annotations

import math

from course_lib.grading import rules
from course_lib.grading.exercise import Exercise, Rule
from course_lib.grading.exercises import diagnoses_02 as say
from course_lib.grading.exercises.cases_02 import (
    SHAPES,
    TREE_SHAPES,
    costs_of_the_bad_ring,
    crossovers,
    finished_chunks,
    scattered_sums,
    sums,
    sums_on_nodes,
)
from course_lib.grading.exercises.diagnoses import FAILURES, SUMS
from course_lib.grading.exercises.diagnoses_02_numbers import wrong_count, wrong_crossover
from course_lib.grading.exercises.rules_02 import (
    bytes_between_nodes,
    doubling_bytes,
    each_with_each,
    everybody_swaps,
    few_per_port,
    leftover,
    right_neighbor,
    ring_rules,
    rounds,
)

__all__ = ["EXERCISES"]

DIRECT = Exercise(
    id="02a",
    title="All-reduce, each with each",
    function="direct_all_reduce",
    points=2,
    cases=sums(SHAPES),
    rules=(
        Rule(each_with_each),
        rules.most_steps(
            lambda case: 1, "start all sends and all receives (isend, irecv), and only then wait for the first", costs=1
        ),
    ),
    diagnoses=SUMS,
    perturbation="receiver",
    hints=(
        "You need one buffer for each other rank: torch.empty_like(tensor). Why not receive into `tensor` itself?",
        "Three loops: start a receive (irecv) from every other rank, start a send (isend) to every other rank, then "
        "wait() for all of them. Keep what irecv and isend return in a list.",
        "Add only after the last wait(): while a send is under way, its tensor must not change.",
    ),
)

REDUCE_SCATTER = Exercise(
    id="02b",
    title="Ring reduce-scatter",
    function="ring_reduce_scatter",
    points=4,
    cases=scattered_sums,
    rules=ring_rules(1),
    diagnoses=(say.other_chunk_finished, say.evenly_cut, *SUMS),
    hints=(
        "Follow one chunk. Chunk 0 must end on rank 0 after world_size - 1 steps to the right. So which rank sends it "
        "first? That rank is one to the right of rank 0.",
        "In the first step rank r sends chunk r - 1 and receives chunk r - 2, both modulo world_size. In each later "
        "step both numbers are one less: a rank passes on what it has just added to.",
        "One step: sending = comm.isend(chunks[outgoing], right), then comm.recv(incoming, left), then sending.wait(), "
        "then chunks[arriving].add_(incoming). The buffer `incoming` must be as long as chunks[arriving].",
    ),
)

ALL_GATHER = Exercise(
    id="02c",
    title="Ring all-gather",
    function="ring_all_gather",
    points=3,
    cases=finished_chunks,
    rules=ring_rules(1),
    diagnoses=(say.added_again, say.sent_too_early, say.never_came, *FAILURES),
    perturbation="receiver",
    hints=(
        "In the first step each rank has one finished chunk to give away: its own. What does it have to give next?",
        "In the first step rank r sends chunk r and receives chunk r - 1, modulo world_size. After that, both numbers "
        "are one less each time.",
        "A chunk from tensor_split is a view: comm.recv(chunks[arriving], left) writes right into `tensor`.",
    ),
)

RING = Exercise(
    id="02d",
    title="Ring all-reduce",
    function="ring_all_reduce",
    points=2,
    cases=sums(SHAPES),
    rules=ring_rules(2),
    diagnoses=(say.only_own_chunk, say.added_on_the_way_back, *SUMS),
    perturbation="receiver",
    hints=(
        "You have written both halves already.",
        "ring_reduce_scatter leaves chunk r finished on rank r, and that is where ring_all_gather begins.",
    ),
)

TREE = Exercise(
    id="02e",
    title="Tree all-reduce",
    function="tree_all_reduce",
    points=4,
    cases=sums(TREE_SHAPES),
    rules=(
        rules.total_bytes(
            lambda case: 2 * (case.world_size - 1) * case.message_bytes,
            "one tensor up each edge of the tree and one down again",
        ),
        Rule(few_per_port),
        rules.most_steps(
            lambda case: 4 * int(math.log2(case.world_size)),
            "a tree that halves its ranks at each level has about log2(world_size) levels, up and down",
        ),
    ),
    diagnoses=(say.no_way_down, say.not_a_power_of_two, say.added_on_the_way_back, *SUMS),
    perturbation="receiver",
    hints=(
        "First the way up. In round k (distance 1, 2, 4, ...) half of the ranks that are still in the game give their "
        "partial sum to a rank that stays in, and leave. Rank 0 stays to the end.",
        "At distance d, a rank with rank % (2 * d) == d sends to rank - d and is done; one with rank % (2 * d) == 0 "
        "receives from rank + d and adds, if rank + d < world_size: not every rank has a partner.",
        "The way down is the way up backwards: the same partners, the distances from large to small, and whoever "
        "received on the way up now sends. What arrives replaces what was there.",
    ),
)

MENDED = Exercise(
    id="02f",
    title="Find the bug",
    function="mended_ring",
    points=3,
    cases=sums(SHAPES),
    rules=(
        rules.neighbors(right_neighbor, "its right neighbor"),
        rules.bytes_per_rank(
            lambda case: (case.world_size - 1) * case.message_bytes, "world_size - 1 rounds, a tensor in each"
        ),
    ),
    diagnoses=(say.overwritten, say.same_parcel, say.passes_on_its_sum, *SUMS),
    perturbation="receiver",
    hints=(
        "Take 3 ranks with tensors a, b, c and write down, for rank 0, what the names parcel, inbox and tensor stand "
        "for before the first round, after it, and after the second.",
        "A Python name is a label, not a box. After `parcel = tensor` there is one box with two labels. After the "
        "first swap, which box does `inbox` name, and what is in it?",
        "Two boxes are not enough: one for the sum, one for the parcel that leaves, one for what arrives. A single "
        "call to .clone(), in the right place, makes the third.",
    ),
)

BAD_RING_COST = Exercise(
    id="02g",
    title="The cost of a bad ring",
    function="bad_ring_cost",
    points=3,
    cases=costs_of_the_bad_ring,
    mode="function",
    answer="return",
    tolerance=1e-9,
    diagnoses=(wrong_count,),
    hints=(
        "Count on your fingers for 3 ranks: how many rounds are there, and how many parcels move in one round?",
        "All ranks send at the same time, each through its own port. So a round takes as long as one message.",
        "One message of n bytes takes latency_s + n / bytes_per_s, and every round pays the latency again.",
    ),
)

CROSSOVER = Exercise(
    id="02h",
    title="Where the ring overtakes the tree",
    function="crossover_bytes",
    points=3,
    cases=crossovers,
    mode="function",
    answer="return",
    tolerance=1e-6,
    per_student=True,
    diagnoses=(wrong_crossover,),
    hints=(
        "Write both times as a + b * message_bytes: a is what the steps cost, b what the bytes cost. Two straight "
        "lines meet where a1 + b1 * n = a2 + b2 * n.",
        "Ring: 2(p - 1) steps, each with n / p bytes. Tree: 2 * ceil(log2 p) steps, each with n bytes.",
        "Solve for n: the latencies' difference, times bytes_per_s, over the difference of the bytes' factors. Check "
        "with p = 2: the answer is 0, because there the ring is never behind.",
    ),
)

DOUBLING = Exercise(
    id="02i",
    title="Recursive doubling, for any number of ranks",
    function="doubling_all_reduce",
    points=3,
    cases=sums(TREE_SHAPES),
    rules=(
        rules.total_bytes(doubling_bytes, "a tensor per rank and round, and two for each rank left over"),
        Rule(everybody_swaps),
        rules.most_steps(
            lambda case: 2 * rounds(case) + 2 * (leftover(case) > 0),
            "a swap is one step: start the send, then receive",
            costs=1,
        ),
    ),
    diagnoses=(say.not_a_power_of_two, say.left_behind, *SUMS),
    perturbation="receiver",
    hints=(
        "First a power of two. In the round of distance 1, 2, 4, ... the partner of rank r is r ^ distance: that flips "
        "one bit, so it is r for its partner, too.",
        "What you send in a swap must not change before it has left: receive into a buffer, wait, and then add.",
        "For other sizes, let core be the largest power of two that fits. Ranks from core on hand their tensor to rank "
        "- core before the doubling, and get the result from there afterwards.",
    ),
)

HIERARCHICAL = Exercise(
    id="02j",
    title="Machines of several ranks",
    function="hierarchical_all_reduce",
    points=3,
    cases=sums_on_nodes,
    rules=(Rule(bytes_between_nodes),),
    diagnoses=(say.node_sums, say.leaders_only, say.added_on_the_way_back, *SUMS),
    perturbation="receiver",
    hints=(
        "Three acts: add up inside each node, all-reduce between the nodes, tell everybody in the node.",
        "Rank r is on node r // ranks_per_node, and r % ranks_per_node is its place there. Let place 0 lead.",
        "Between the leaders, do what you like that sends no more than 2(nodes - 1) tensors in all: add up along a "
        "chain of leaders and pass the result back, a tree, or a ring of chunks.",
    ),
)

EXERCISES = (
    DIRECT,
    REDUCE_SCATTER,
    ALL_GATHER,
    RING,
    TREE,
    MENDED,
    BAD_RING_COST,
    CROSSOVER,
    DOUBLING,
    HIERARCHICAL,
)
