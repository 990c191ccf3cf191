"""The exercises of chapter 3, parameter servers: who waits for whom, how old a gradient may be, and what it counts."""

__all__ = ["CONTENTS"]

CONTENTS = (
    "a_asynchronous_server",
    "b_backup_server",
    "c_may_go_on",
    "d_bounded_server",
    "e_staleness_aware",
    "f_shard_by_size",
    "g_whole_reads",
    "h_mended_server",
    "i_softsync_numbers",
)
