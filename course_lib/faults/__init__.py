"""When machines fail: what to save, how often, and what the others do meanwhile."""
