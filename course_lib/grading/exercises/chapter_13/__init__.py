"""The exercises of chapter 13, three dimensions: places, groups, memory, work, time, a planner, a norm with bugs."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_moved",
    "b_groups",
    "c_rank_memory",
    "d_step_and_mfu",
    "e_step_parts",
    "f_fastest_plan",
    "g_mended_norm",
)
