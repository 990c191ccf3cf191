"""The exercises of chapter 7, gradient checkpointing: segments, plans and their peak, Revolve, real torch, a bug."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_fewest_held",
    "b_peak_and_recomputed",
    "c_least_recomputed",
    "d_halving_plan",
    "e_residual_plan",
    "f_recomputed_step",
    "g_mended_step",
)
