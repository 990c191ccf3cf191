"""The exercises of chapter 2, all-reduce: from each with each to rings, trees and machines of several ranks."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_direct_all_reduce",
    "b_ring_reduce_scatter",
    "c_ring_all_gather",
    "d_ring_all_reduce",
    "e_tree_all_reduce",
    "f_mended_ring",
    "g_bad_ring_cost",
    "h_crossover_bytes",
    "i_doubling_all_reduce",
    "j_hierarchical_all_reduce",
)
