import torch


def shard_by_size(lengths, servers):
    order = torch.tensor(lengths).argsort(descending=True).tolist()
    plan, loads = [[] for _ in range(servers)], torch.zeros(servers)
    for number in order:
        e = int(loads.argmin())
        plan[e].append(number)
        loads[e] += lengths[number]
    return [torch.tensor(shard, dtype=torch.int64) for shard in plan]
