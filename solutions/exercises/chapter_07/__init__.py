"""The exercises of chapter 7, gradient checkpointing: segments, plans and their peak, Revolve, real torch, a bug."""
