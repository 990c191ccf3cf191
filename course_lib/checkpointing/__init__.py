"""Gradient checkpointing: hold less of the forward pass, and compute the rest again when its gradient comes.

In the order of the page: a plan as data and its check.
"""

from course_lib.checkpointing.plan import (
    Action,
    Graph,
    Moment,
    Node,
    Plan,
    PlanError,
    check_plan,
    plan_cost,
    plan_peak,
    play_plan,
    read_plan,
)

__all__ = [
    "Node",
    "Graph",
    "Action",
    "Plan",
    "PlanError",
    "read_plan",
    "Moment",
    "play_plan",
    "check_plan",
    "plan_peak",
    "plan_cost",
]
