"""The exercises of chapter 6, pipeline parallelism: who waits, 1F1B, a check, the bubble, memory, cuts, a bug."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_forward_ends",
    "b_one_f_one_b",
    "c_first_problem",
    "d_step_and_bubble",
    "e_peak_held",
    "f_least_bottleneck",
    "g_mended_stage",
)
