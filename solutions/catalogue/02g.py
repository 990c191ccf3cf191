# %% right: counts_in_loops
def bad_ring_cost(message_bytes, world_size, latency_s, bytes_per_s):
    steps, sent, seconds = 0, [0] * world_size, 0.0
    for _ in range(1, world_size):
        steps += 1
        seconds += latency_s + message_bytes / bytes_per_s
        sent = [count + message_bytes for count in sent]
    return [steps, sum(sent), max(sent), seconds]


# %% right: with_numpy
import numpy as np


def bad_ring_cost(message_bytes, world_size, latency_s, bytes_per_s):
    each = np.full(world_size, (world_size - 1) * message_bytes)
    beta = 1 / bytes_per_s
    return world_size - 1, int(each.sum()), int(each[0]), (world_size - 1) * latency_s + float(each[0]) * beta


# %% right by night: float32
import numpy as np


def bad_ring_cost(message_bytes, world_size, latency_s, bytes_per_s):
    steps = world_size - 1
    seconds = np.float32(steps * (latency_s + message_bytes / bytes_per_s))
    return steps, steps * world_size * message_bytes, steps * message_bytes, seconds
