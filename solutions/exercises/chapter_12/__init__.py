"""The exercises of chapter 12, failures: intervals, whole and atomic checkpoints, hand-overs, a lossy wire, bugs."""
