"""The exercises of chapter 5, tensor parallelism: f and g, an MLP, heads, the loss, softmax, counts, a bug."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_operators_backward",
    "b_mlp_forward",
    "c_rows_of_rank",
    "d_vocabulary_loss",
    "e_combined",
    "f_block_traffic",
    "g_mended_seeds",
)
