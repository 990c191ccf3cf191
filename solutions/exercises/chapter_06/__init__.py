"""The exercises of chapter 6, pipeline parallelism: who waits, 1F1B, a check, the bubble, memory, cuts, a bug."""
