"""Pictures of checkpointing: what a plan computes, holds and stores, action by action."""
