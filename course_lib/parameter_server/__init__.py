"""Parameter servers: workers push gradients and pull parameters, servers hold shards of them."""
