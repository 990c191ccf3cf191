"""Gradient checkpointing: hold less of the forward pass, and compute the rest again when its gradient comes.

What a backward pass keeps; a plan as data and its check; plans for a chain, the best for equal layers, and the best for
any; the executor that carries out all of them; memory and operations of a step; attention that recomputes itself.
"""

from course_lib.checkpointing.attention import RecomputedAttention
from course_lib.checkpointing.chain_plans import (
    best_segments,
    halving,
    keep_nothing,
    moved_segments,
    revolve,
    revolve_closed_form,
    segment_plan,
    store_segment,
    torch_segments,
)
from course_lib.checkpointing.executor import PlanRun, layers_of, run_plan
from course_lib.checkpointing.measuring import CountedOperations, chain_of, measure_chain, measure_node, saved_tensors
from course_lib.checkpointing.optimum import ChainPlanner, plan_chain
from course_lib.checkpointing.plan import (
    Action,
    Graph,
    Node,
    Plan,
    PlanError,
    PlanStep,
    check_plan,
    equal_layers,
    plan_cost,
    plan_moved,
    plan_peak,
    play_plan,
    read_plan,
)
from course_lib.live_memory import LiveMemory
from course_lib.replay import Replay
