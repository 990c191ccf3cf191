import numpy as np


def bad_ring_cost(message_bytes, world_size, latency_s, bytes_per_s):
    each = np.full(world_size, (world_size - 1) * message_bytes)
    beta = 1 / bytes_per_s
    return world_size - 1, int(each.sum()), int(each[0]), (world_size - 1) * latency_s + float(each[0]) * beta
