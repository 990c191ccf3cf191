"""Real processes on slowed links: `network` is the parent's side of the wire, `communicator` the ranks'."""
