import math


def crossover_bytes(world_size, latency_s, bytes_per_s):
    ring_steps = 2 * (world_size - 1)
    ring_share = 2 * (world_size - 1) / world_size  # of the message, in all steps together
    tree_steps = 2 * math.ceil(math.log2(world_size))
    return latency_s * bytes_per_s * (ring_steps - tree_steps) / (tree_steps - ring_share)
