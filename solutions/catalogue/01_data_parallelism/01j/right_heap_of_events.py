import heapq

import torch


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
