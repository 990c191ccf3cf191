"""The exercises of chapter 12, failures: intervals, whole and atomic checkpoints, hand-overs, a lossy wire, bugs."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_saving",
    "b_newest_whole",
    "c_save_operations",
    "d_relay",
    "e_received",
    "f_dealt",
    "g_mended_examples",
)
