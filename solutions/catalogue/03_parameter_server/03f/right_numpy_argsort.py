import numpy as np


def shard_by_size(lengths, servers):
    plan, loads = [[] for _ in range(servers)], np.zeros(servers)
    for number in np.argsort(lengths, kind="stable")[::-1]:
        e = np.argmin(loads)
        plan[e].append(number)
        loads[e] += lengths[number]
    return plan
