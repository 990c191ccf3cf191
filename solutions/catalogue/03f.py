# %% right: heap
import heapq


def shard_by_size(lengths, servers):
    heap = [(0, server) for server in range(servers)]
    plan = {server: [] for server in range(servers)}
    for length, number in sorted(((length, number) for number, length in enumerate(lengths)), reverse=True):
        load, server = heapq.heappop(heap)
        plan[server].append(number)
        heapq.heappush(heap, (load + length, server))
    return [sorted(plan[server]) for server in range(servers)]


# %% right: numpy_argsort
import numpy as np


def shard_by_size(lengths, servers):
    plan, loads = [[] for _ in range(servers)], np.zeros(servers)
    for number in np.argsort(lengths, kind="stable")[::-1]:
        e = np.argmin(loads)
        plan[e].append(number)
        loads[e] += lengths[number]
    return plan
