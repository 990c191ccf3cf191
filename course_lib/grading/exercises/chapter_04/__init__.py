"""The exercises of chapter 4, model parallelism: cut layers, matrices on a grid, halos, a choice."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_output_split_backward",
    "b_input_split_forward",
    "c_split_bytes",
    "d_summa_block",
    "e_halo_rows",
    "f_mended_rows",
    "g_cheapest_plan",
)
