import numpy as np


def bad_ring_cost(message_bytes, world_size, latency_s, bytes_per_s):
    steps = world_size - 1
    seconds = np.float32(steps * (latency_s + message_bytes / bytes_per_s))
    return steps, steps * world_size * message_bytes, steps * message_bytes, seconds
