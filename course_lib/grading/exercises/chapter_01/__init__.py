"""The exercises of chapter 1, data parallelism: parts of an epoch, averages, overlap, batch normalization and ZeRO."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_part",
    "b_average_gradient",
    "c_accumulate",
    "d_overlapped_backward",
    "e_joined_statistics",
    "f_batch_norm_backward",
    "g_zero_step",
    "h_wrong_way",
    "i_mended_training",
    "j_step_seconds",
)
