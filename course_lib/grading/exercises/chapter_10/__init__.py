"""The exercises of chapter 10, limits of scaling: the crossover, speed-ups, top-k, one bit, PowerSGD, a bug."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_crossover",
    "b_scaled",
    "c_top_k_steps",
    "d_one_bit",
    "e_top_k_sum",
    "f_power_step",
    "g_mended_messages",
)
