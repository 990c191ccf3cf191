"""The exercises of chapter 8, mixed precision: bits, rounding, scaling, master weights, the wire, a bug."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_value_of",
    "b_rounded",
    "c_fates",
    "d_loss_scales",
    "e_trained_weight",
    "f_mean_in_fp16",
    "g_mended_step",
)
