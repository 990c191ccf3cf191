"""Pictures of collectives: what each does, chunks step by step, traffic, times, topologies, who is fastest where."""
