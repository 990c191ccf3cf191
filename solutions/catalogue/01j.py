# %% right: heap_of_events
import heapq


def step_seconds(backward_s, exchange_s):
    events, now = [], 0.0
    for layer in range(len(backward_s) - 1, -1, -1):
        now += backward_s[layer]
        heapq.heappush(events, (now, layer))
    clock = 0.0
    while events:
        at, layer = heapq.heappop(events)
        clock = max(clock, at) + exchange_s[layer]
    return torch.tensor([sum(backward_s) + sum(exchange_s), clock], dtype=torch.float64)


# %% right: numpy_prefix_sums
import numpy as np


def step_seconds(backward_s, exchange_s):
    b, e = np.array(backward_s[::-1]), np.array(exchange_s[::-1])
    ready = b.cumsum()
    tail = e[::-1].cumsum()[::-1]
    return np.array([b.sum() + e.sum(), (ready + tail).max()])
