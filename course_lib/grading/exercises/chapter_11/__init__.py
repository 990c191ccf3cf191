"""The exercises of chapter 11, input and output: shards, who reads what, caches, loading ahead, storage, a bug."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_pack",
    "b_unpack",
    "c_own_parts",
    "d_misses",
    "e_step_ends",
    "f_most_nodes",
    "g_mended_deal",
)
